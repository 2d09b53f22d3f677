"""What libraries that serve language models keep on the card."""
