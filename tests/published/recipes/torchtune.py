"""torchtune's README: the table of models, and the table for Llama-3.2-3B in which each row adds one technique; and rows of torchao's
pages that were made with torchtune."""
import re

from recipe import Recipe
from rows import Row

CARDS = (("4090", "rtx4090"), ("A6000", "rtxa6000"), ("A100 40", "a100-40"), ("A100", "a100-80"), ("H100", "h100-80"), ("3090", "rtx3090-24"))


class Recipes(Recipe):
    name = "torchtune"
    packages = ("--no-deps", "torchtune==0.6.1", "torchao==0.13.0", "bitsandbytes==0.46.1", "torchdata==0.11.0", "omegaconf==2.3.0",
                "antlr4-python3-runtime==4.9.3", "pyyaml", "safetensors==0.5.2", "huggingface-hub==0.27.1", "requests", "urllib3", "certifi", "idna",
                "charset-normalizer", "tqdm", "packaging", "sentencepiece==0.2.0", "tiktoken==0.9.0", "regex", "numpy==1.26.4", "pandas==2.2.3", "pytz",
                "python-dateutil", "tzdata", "six", "pillow==11.3.0", "psutil", "blobfile==3.0.0", "lxml", "pycryptodomex", "kagglehub==0.3.12",
                "tokenizers==0.21.0", "timm==1.0.19", "torchvision==0.23.0")
    shared = ("unused.py",)
    settings = {"HF_HUB_OFFLINE": "1"}
    seconds = 1800

    def matches(self, row: Row) -> bool:
        if "pytorch/ao" in row.source:
            return "torchtune" in row.program and "MI300X" not in row.card
        return "pytorch/torchtune" in row.source

    def group(self, row: Row):
        return row.program, row.config, row.card

    def card(self, row: Row) -> tuple:
        ranks = int((re.match(r"(\d+)\s*x", row.card) or (0, "1"))[1])
        name = next((name for word, name in CARDS if word in row.card), "a100-80")
        options = ("--clock", "virtual", "--stacks", "none")
        return (f"virtual:{name}", *options) if ranks == 1 else (f"virtual:{name}x{ranks}", *options, "--world", str(ranks), "--ranks", "0")

    def torch(self, row: Row) -> str:
        return "2.8"

    def command(self, group: list) -> list:
        return ["torchtune_runs.py", "{rows}"]

    def key(self, row: Row) -> str:
        return f"{row.config} {row.card}"

    def same_program(self, row: Row):
        if "A6000" in row.card:
            return "which options this row has is assumed"
        return "torchtune 0.6.1 with PyTorch 2.8 instead of 2.6"

    def reason(self, row: Row, answer: dict) -> str:
        return self.same_program(row)


RECIPES = [Recipes()]
