"""A job of continuous integration: python -m tidemark.ci --device virtual:h100-80 --base-ref origin/main -- python train.py

Runs a program on a virtual card, compares it with the same program of the base branch, and writes the
difference as Markdown: a summary of the job, and the text of a comment.
"""
