"""prime-rl's benchmarks: its trainers for reinforcement learning and for fine-tuning, with adapters or without, on one card or eight."""
import re

from recipe import Recipe
from rows import Row

CARDS = (("A6000", "rtxa6000"), ("B200", "b200"), ("H200", "h200"), ("H100", "h100-80"), ("A100", "a100-80"))
EXPERTS = re.compile(r"A3B|A22B|INTELLECT|MoE", re.I)


class Trainers(Recipe):
    name = "prime-rl"
    clone = "PrimeIntellect-ai/prime-rl"
    packages = ("--no-deps", "transformers==4.57.6", "tokenizers==0.22.0", "huggingface-hub==0.35.3", "safetensors==0.6.2", "numpy==2.2.6", "hf-xet",
                "pyyaml", "packaging", "regex", "requests", "urllib3", "certifi", "charset-normalizer", "idna", "tqdm", "psutil", "beartype==0.22.9",
                "jaxtyping==0.3.5", "wadler-lindig", "pydantic==2.12.5", "pydantic-core==2.41.5", "annotated-types", "typing-inspection", "typing-extensions",
                "pydantic-settings==2.12.0", "python-dotenv", "loguru==0.7.3", "rich==14.2.0", "markdown-it-py", "mdurl", "pygments", "tomli", "tomli-w",
                "torchdata==0.11.0", "msgspec==0.20.0", "jinja2", "markupsafe")
    shared = ("unused.py", "flash_attn_of_torch.py", "prime_rl_rows.py")
    settings = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
    seconds = 1800

    def matches(self, row: Row) -> bool:
        return "prime-rl" in row.source.lower()

    def group(self, row: Row):
        return row.source, row.program, row.config, row.card

    def card(self, row: Row) -> tuple:
        found = re.search(r"(\d+) ?x", row.card)
        ranks = int(found[1]) if found else 1
        name = next((name for word, name in CARDS if word in row.card.upper()), "h100-80")
        options = ("--clock", "virtual", "--stacks", "none")
        return (f"virtual:{name}", *options) if ranks == 1 else (f"virtual:{name}x{ranks}", *options, "--world", str(ranks), "--ranks", "0")

    def torch(self, row: Row) -> str:
        """2.9 was measured. FSDP2 of 2.11 copies no parameters on a single card; that of 2.8 does, and reserves 0.5 GiB more."""
        return "2.11"

    def command(self, group: list) -> list:
        return ["prime_rl_train.py", "{clone}", "{rows}"]

    def key(self, row: Row) -> str:
        return f"{row.source}|{row.program} {row.config} {row.card}"

    def kind(self, row: Row) -> str:
        """Its peak is of reserved memory."""
        what = row.what.lower()
        return "reserved" if "mem" in what else "rate" if what in ("tps", "throughput") else super().kind(row) or ("time" if "time" in what else "")

    def same_program(self, row: Row):
        if EXPERTS.search(f"{row.program} {row.config}"):
            return "a mixture of experts is not written"
        third = re.search(r"FA3|flash_attention_3", f"{row.source} {row.program} {row.config}")
        return "PyTorch 2.11 instead of 2.9" + ("; flash attention 2 instead of 3" if third else "")

    def reason(self, row: Row, answer: dict) -> str:
        loop = " RL " in f" {row.config} " and self.kind(row) in ("time", "rate")
        return "the loop that reads each position is left out; " * loop + self.same_program(row)


RECIPES = [Trainers()]
