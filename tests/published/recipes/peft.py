"""PEFT's README: the memory of fine-tuning, whole and with LoRA."""
from recipe import Recipe
from recipes.fms import RECIPES as FMS
from rows import Row

MODELS = ("t0_3b", "mt0-", "bloomz-7b1")


class Memory(Recipe):
    name = "peft"
    packages, environment, shared = FMS[0].packages, FMS[0].name, ("unused.py",)

    def matches(self, row: Row) -> bool:
        return "/peft" in row.source.lower() and any(name in f"{row.program} {row.config}".lower() for name in MODELS)

    def group(self, row: Row):
        return row.program, row.config, row.card

    def card(self, row: Row) -> tuple:
        return ("virtual:a100-80", "--clock", "virtual", "--stacks", "none")

    def torch(self, row: Row) -> str:
        return "2.8"

    def command(self, group: list) -> list:
        return ["peft_runs.py", "{rows}"]

    def key(self, row: Row) -> str:
        return f"{row.program} {row.config}"

    def same_program(self, row: Row):
        return "lengths of texts are assumed; transformers of 2023 was measured"

    def reason(self, row: Row, answer: dict) -> str:
        return self.same_program(row)


RECIPES = [Memory()]
