"""Runs torchtitan's own training program for three steps of its smallest Llama, with text that is made here.

  torchrun --nproc-per-node N titan.py

Each rank prints its peak as "rank R: peak: BYTES".
"""
import json
import os
import runpy
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

TEXT = "the cat sat on the mat "


def write(path, text):
    """All ranks write the same files, each whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    own = path.with_name(f"{path.name}.{os.getpid()}")
    own.write_text(text)
    own.replace(path)


def make_assets():
    """Where torchtitan's debugging configuration looks for them."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["<begin>", "<end>"], initial_alphabet=alphabet)
    tokenizer.train_from_iterator([TEXT], trainer)
    assets = Path("tests/assets")
    write(assets / "tokenizer/tokenizer.json", tokenizer.to_str())
    write(assets / "tokenizer/tokenizer_config.json", json.dumps({"bos_token": "<begin>", "eos_token": "<end>"}))
    write(assets / "c4_test/data.json", (json.dumps({"text": TEXT * 300}) + "\n") * 200)


def main():
    make_assets()
    sys.argv = ["torchtitan", "--module", "llama3", "--config", "llama3_debugmodel", "--training.steps", "3",
                "--training.seq_len", "512", "--training.local_batch_size", "2"]
    runpy.run_module("torchtitan.train", run_name="__main__")
    sys.stdout.write(f"rank {os.environ['RANK']}: peak: {torch.cuda.max_memory_allocated()}\n")
    sys.stdout.flush()


main()
