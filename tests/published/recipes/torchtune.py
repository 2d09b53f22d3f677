"""torchtune's README: the table for Llama-3.2-3B in which each row adds one technique."""
from recipe import Recipe
from recipes.fms import RECIPES as FMS
from rows import Row


class Ladder(Recipe):
    name = "torchtune-ladder"
    packages = FMS[0].packages
    environment = FMS[0].name

    def matches(self, row: Row) -> bool:
        return "torchtune" in row.source and "each row adds one technique" in row.program

    def group(self, row: Row):
        return row.config

    def card(self, row: Row) -> tuple:
        return "virtual:a100-80", "--clock", "virtual", "--stacks", "none"

    def torch(self, row: Row) -> str:
        return "2.8"

    def command(self, group: list) -> list:
        return ["torchtune_ladder.py", "{rows}"]

    def same_program(self, row: Row):
        return "transformers' Llama of the same shape" + ("" if row.config == "+packed" else ", without torch.compile")

    def reason(self, row: Row, answer: dict) -> str:
        if "failed" in answer:
            return "torchao's optimizer and LoRA are not written yet"
        return self.same_program(row)


RECIPES = [Ladder()]
