"""torchao's benchmarks: optimizers of few bits or on the host, and training with quantised weights."""
from recipe import Recipe
from recipes.torchtune import Recipes as Torchtune
from rows import Row

CARDS = (("4070 Ti SUPER", "rtx4070", "15.6GiB"), ("4090", "rtx4090", ""), ("A100", "a100-80", ""), ("H100", "h100-80", ""))


class Benchmarks(Recipe):
    """The card of the pages is none of the virtual ones: a smaller one is in its place, with its memory as the limit."""
    name = "torchao"
    packages, environment, shared = Torchtune.packages, Torchtune.name, ("unused.py",)
    seconds = 1800

    def matches(self, row: Row) -> bool:
        return "pytorch/ao" in row.source and ("benchmark_low_bit_adam" in row.program or "pretrain_llama2" in row.program)

    def group(self, row: Row):
        return row.program.split(",")[0], row.config.replace("BF16 AMP compiled ", ""), row.card

    def card(self, row: Row) -> tuple:
        name, limit = next(((name, limit) for word, name, limit in CARDS if word in row.card), ("rtx4070", "15.6GiB"))
        return (f"virtual:{name}", "--clock", "virtual", "--stacks", "none", *(("--memory-limit", limit) if limit else ()))

    def torch(self, row: Row) -> str:
        return "2.8"

    def command(self, group: list) -> list:
        return ["torchao_runs.py", "{rows}"]

    def key(self, row: Row) -> str:
        return f"{row.config} {row.card}"

    def same_program(self, row: Row):
        if self.kind(row) in ("time", "rate") and "4070 Ti" in row.card:
            return "an RTX 4070 in place of the RTX 4070 Ti SUPER"
        if "pretrain" in row.program:
            return "how many tokens are on the card is assumed"
        return "torchao 0.13 with PyTorch 2.8 instead of 2.4"

    def reason(self, row: Row, answer: dict) -> str:
        return self.same_program(row)


RECIPES = [Benchmarks()]
