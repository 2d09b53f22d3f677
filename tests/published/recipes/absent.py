"""Sources whose program cannot be had, or is not written yet: their rows are answered with the reason instead of being left out."""
from recipe import Recipe
from rows import Row

# Part of the source or the program, and why no run answers it. The first that fits counts.
WHY = (
    ("MI300X", "no virtual card of AMD"),
    ("detectron2", "needs COCO's images and annotations, and a package compiled for the version of PyTorch"),
    ("pytorch/ao", "not written yet: torchao of a commit, with torchtune, torchtitan or timm"),
    ("", "not written yet"),
)
SOURCES = ("detectron2", "pytorch/ao", "peft", "prime-rl")


def why(row: Row) -> str:
    return next(reason for part, reason in WHY if part.lower() in f"{row.source} {row.program} {row.card}".lower())


class Absent(Recipe):
    name = "absent"

    def matches(self, row: Row) -> bool:
        return any(source in row.source.lower() for source in (one.lower() for one in SOURCES))

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
