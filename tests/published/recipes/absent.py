"""Sources whose program cannot be had, or is not written yet: their rows are answered with the reason instead of being left out."""
from recipe import Recipe
from rows import Row

# Part of the source or the program, and why no run answers it. The first that fits counts.
WHY = (
    ("MI300X", "no virtual card of AMD"),
    ("detectron2", "needs COCO's images and annotations, and a package compiled for the version of PyTorch"),
    ("GPUMemNet", "the training job's size of images, classes and optimizer are not published with the figures"),
    ("torchtitan", "not written yet: torchtitan of a commit, with a night's build of PyTorch"),
    ("pytorch/ao", "not written yet: torchao of a commit, with torchtune, torchtitan or timm"),
    ("torchtune", "not written yet: torchtune's recipes"),
    ("litgpt", "not written yet: litgpt of 2023 with PyTorch 2.1"),
    ("", "not written yet"),
)
SOURCES = ("detectron2", "GPUMemNet", "torchtitan", "pytorch/ao", "torchtune", "litgpt", "peft", "prime-rl")


def why(row: Row) -> str:
    return next(reason for part, reason in WHY if part.lower() in f"{row.source} {row.program} {row.card}".lower())


class Absent(Recipe):
    name = "absent"

    def matches(self, row: Row) -> bool:
        if "each row adds one technique" in row.program:
            return False  # recipes/torchtune.py
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
