"""LitGPT: its resource tables of 2023, its config hub, and memory of quantised generation."""
import re

from recipe import Recipe
from rows import Row

CARDS = (("A100 40", "a100-40"), ("A100 80", "a100-80"), ("A10G", "a10"), ("A100", "a100-40"), ("H100", "h100-80"), ("L4", "l4"), ("T4", "t4-16"))
TEXTS = "the lengths of the texts are assumed"


class Tuning(Recipe):
    name = "litgpt"
    clone = "Lightning-AI/litgpt"
    packages = ("--no-deps", "lightning==2.2.5", "lightning-utilities==0.15.2", "torchmetrics==1.8.2", "pytorch-lightning==2.2.5", "bitsandbytes==0.41.0", "scipy==1.15.3",
                "numpy==1.26.4", "pyyaml", "packaging", "tqdm", "jsonargparse==4.41.0", "docstring-parser", "setuptools==75.8.0", "psutil", "safetensors==0.5.2",
                "huggingface-hub==0.27.1", "requests", "tokenizers==0.21.0")
    settings = {"HF_HUB_OFFLINE": "1", "BNB_CUDA_VERSION": "121"}
    shared = ("unused.py",)
    seconds = 900

    def matches(self, row: Row) -> bool:
        return "litgpt" in row.source.lower()

    def group(self, row: Row):
        return row.source, row.card, row.config.split(" (")[0]

    def card(self, row: Row) -> tuple:
        found = re.match(r"(\d+)\s*x", row.card)
        ranks = int(found[1]) if found else 1
        name = next((name for word, name in CARDS if word in row.card), "a100-40")
        options = ("--clock", "virtual", "--stacks", "none")
        return (f"virtual:{name}", *options) if ranks == 1 else (f"virtual:{name}x{ranks}", *options, "--world", str(ranks), "--ranks", "0")

    def torch(self, row: Row) -> str:
        return "2.8"

    def command(self, group: list) -> list:
        return ["litgpt_tune.py", "{clone}", "{rows}"]

    def key(self, row: Row) -> str:
        return f"{row.config} {row.card}"

    def kind(self, row: Row) -> str:
        return "" if row.what in ("Validation loss", "cost") else super().kind(row)

    def same_program(self, row: Row):
        return TEXTS if self.kind(row) in ("time", "rate") else True

    def reason(self, row: Row, answer: dict) -> str:
        if self.kind(row) in ("time", "rate"):
            return f"the host of this machine, and {TEXTS}"
        return "probably PyTorch 2.8 instead of " + ("2.1" if "torch 2.1" in row.program else "2.3")


RECIPES = [Tuning()]
