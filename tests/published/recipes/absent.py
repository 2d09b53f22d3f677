"""Sources whose program cannot be had, or is not written yet: their rows are answered with the reason instead of being left out."""
from recipe import Recipe
from rows import Row

# Part of the source or the program, and why no run answers it. The first that fits counts.
WHY = (
    ("MI300X", "no virtual card of AMD"),
    ("pytorch/ao", "not written yet: torchao of a commit, with torchtune or timm"),
    ("", "not written yet"),
)
SOURCES = ("peft",)


def why(row: Row) -> str:
    return next(reason for part, reason in WHY if part.lower() in f"{row.source} {row.program} {row.card}".lower())


class Absent(Recipe):
    """It comes last: a row that another recipe takes is not absent."""
    name = "absent"

    def matches(self, row: Row) -> bool:
        return any(word in f"{row.source} {row.card}".lower() for word in ("mi300x", "pytorch/ao", *SOURCES))

    def group(self, row: Row):
        return "all"

    def card(self, row: Row) -> tuple:
        return ("virtual:h100-80",)

    def command(self, group: list) -> list:
        return ["absent.py", "{rows}"]

    def key(self, row: Row) -> str:
        return f"{row.source} {row.program} {row.config} {row.card}"

    def same_program(self, row: Row):
        return why(row)

    def reason(self, row: Row, answer: dict) -> str:
        return why(row)


RECIPES = [Absent()]
