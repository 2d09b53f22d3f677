"""detectron2's model zoo: training of detectors on 8 cards, of which one runs."""
import re

from recipe import Recipe
from rows import Row

SHIFTED = "the columns of this row are shifted: it is another figure"


class Zoo(Recipe):
    name = "detectron2"
    clone = "facebookresearch/detectron2"
    packages = ("--no-deps", "torchvision==0.23.0", "pillow==9.5.0", "numpy==1.26.4", "fvcore==0.1.5.post20221221", "iopath==0.1.9", "portalocker",
                "yacs==0.1.8", "termcolor", "tabulate", "cloudpickle", "omegaconf==2.3.0", "antlr4-python3-runtime==4.9.3", "hydra-core==1.3.2",
                "pyyaml", "packaging", "tqdm", "pycocotools==2.0.8", "timm==1.0.19")
    shared = ("unused.py",)
    settings = {"PYTHONOPTIMIZE": "1"}  # its assertions about overlaps read values of the card that are not known
    seconds = 1200

    def matches(self, row: Row) -> bool:
        return "detectron2" in row.source

    def group(self, row: Row):
        """Lengths of training have the same model."""
        return re.sub(r"_(\d+ep_LSJ|\dx)(?=[._])", "", row.program)

    def card(self, row: Row) -> tuple:
        """The large-scale-jitter baselines take more than the card of the others has."""
        name = "a100-80" if "new_baselines" in row.program else "v100-32"
        return (f"virtual:{name}x8", "--clock", "virtual", "--stacks", "none", "--world", "8", "--ranks", "0")

    def torch(self, row: Row) -> str:
        return "2.8"

    def command(self, group: list) -> list:
        return ["detectron2_zoo.py", "{clone}", "{rows}"]

    def key(self, row: Row) -> str:
        return f"{row.program} {row.config}"

    def kind(self, row: Row) -> str:
        return super().kind(row) if row.value.strip() else ""

    def same_program(self, row: Row):
        if re.search(r" \d+\.\d+$", row.config):
            return SHIFTED
        if "dconv" in row.program:
            return "torchvision's deformable convolutions"
        return "images and objects are made; cuDNN 9 instead of 7, with other work areas"

    def reason(self, row: Row, answer: dict) -> str:
        large = "new_baselines" in row.program and self.same_program(row) != SHIFTED
        return "" if large and self.kind(row) != "time" else self.same_program(row)


RECIPES = [Zoo()]
