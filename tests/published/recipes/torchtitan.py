"""torchtitan's benchmarks and torchao's that were made with it: training of Llama with FSDP2 and more, on 4 to 512 cards."""
import re

from recipe import Recipe
from recipes.torchtune import Recipes as Torchtune
from rows import Row

CARDS = (("H100", "h100-80"), ("H200", "h200"), ("B200", "b200"), ("A100", "a100-80"))
MADE_WITH = ("workflows/training.md", "float8nocompile")
FLOAT8 = re.compile(r"float8(?!nocompile)|rowwise|\b4D\b|H200|NGC", re.I)  # rows whose products are of float8
PIPELINE = re.compile(r"\bPP ?[2-9]|\b[34]D\b")
FIRST = "the worst rank of a pipeline was published, and rank 0 ran, its first stage"
SPEED = "kernels that torch.compile makes, and collectives, are guessed"


class Training(Recipe):
    name = "torchtitan"
    clone = "pytorch/torchtitan"
    packages, environment, shared = Torchtune.packages, Torchtune.name, ("unused.py",)
    seconds = 2400
    float8 = False

    def matches(self, row: Row) -> bool:
        if "MI300X" in row.card or bool(FLOAT8.search(f"{row.source} {row.program} {row.config}")) != self.float8:
            return False
        return "pytorch/torchtitan" in row.source or "pytorch/ao" in row.source and any(word in row.source for word in MADE_WITH)

    def group(self, row: Row):
        return row.source, row.config.replace("same ", "Llama-3 8B torchtitan FSDP2 compile per-op SAC bs1 seq8192 "), row.card

    def card(self, row: Row) -> tuple:
        ranks = int((re.match(r"(\d+)\s*x", row.card) or (0, "8"))[1])
        name = next((name for word, name in CARDS if word in row.card), "h100-80")
        limit = ("--memory-limit", "95GiB") if "96GB" in row.card else ()
        return (f"virtual:{name}x{min(ranks, 8)}", "--clock", "virtual", "--stacks", "none", *limit, "--world", str(ranks), "--ranks", "0")

    def torch(self, row: Row) -> str:
        return "2.8"

    def command(self, group: list) -> list:
        return ["torchtitan_train.py", "{clone}", "{rows}"]

    def key(self, row: Row) -> str:
        return f"{row.source} {row.config} {row.card}"

    def kind(self, row: Row) -> str:
        return "reserved" if row.what == "peak memory" else super().kind(row)

    def same_program(self, row: Row):
        if PIPELINE.search(row.config):
            return FIRST
        return True if "202412" in row.source else "torchtitan of December 2024, a later one was measured"

    def reason(self, row: Row, answer: dict) -> str:
        same = self.same_program(row)
        if same == FIRST and self.kind(row) == "rate":
            return "unexplained: rank 0 is forecast faster than its FLOP allow"
        return SPEED if self.kind(row) == "rate" else "" if same is True else same


class Float8(Training):
    name = "torchtitan-float8"
    float8, shared = True, ("unused.py", "torchtitan_train.py")

    def command(self, group: list) -> list:
        return ["torchtitan_float8.py", "{clone}", "{rows}"]


RECIPES = [Training(), Float8()]
