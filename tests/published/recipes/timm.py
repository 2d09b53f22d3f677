"""The benchmark tables of pytorch-image-models: the largest batch that trains, and times of inference and training."""
from zlib import crc32

from recipe import Recipe
from rows import Row

PROCESSES = 12  # of each table: a process that is interrupted repeats its last model only, but imports take longer than models
SAMPLE = ("deit_small_patch16_224", "efficientnet_b0_gn", "vit_relpos_medium_patch16_224")
# Fused or rewritten before they were timed, or far apart between two cards' tables for no reason of the cards.
DIFFERENT = ("mobileone", "ghostnetv3", "repvgg_b3g4", "repghost", "vit_small_r26_s32", "vit_base_r50_s16", "beit3", "mvitv2")


class Models(Recipe):
    packages, environment = ("timm==1.0.31",), "timm"
    mode = ""

    def matches(self, row: Row) -> bool:
        if "Max-Q" in row.card:
            return False  # its rate of floating point operations has no source, so no time is forecast
        return "pytorch-image-models" in row.source and f"|{self.mode} b" in row.config and (row.what == "step time") == self.timed

    @property
    def timed(self) -> bool:
        return True

    def group(self, row: Row):
        return row.source, row.card, crc32(row.program.encode()) % PROCESSES

    def card(self, row: Row) -> tuple:
        return (f"virtual:{row.card}", "--stacks", "none", *(("--clock", "virtual") if self.timed else ()))

    def command(self, group: list) -> list:
        return ["timm_models.py", "{rows}"]


class Boundary(Models):
    """CUDA 11.3 loaded every kernel of PyTorch and of its libraries at the start. A context so large was not measured on this
    card: 1.6 GiB is assumed, with which most of 34 rows at the limit agree (1.2, 1.4, 1.6 and 1.9 GiB were tried).
    """
    name = "timm-boundary"
    mode = "train"
    timed = False
    limits = {"rtx3090-24": "22.1GiB"}

    def card(self, row: Row) -> tuple:
        limit = self.limits.get(row.card)
        return (*super().card(row), *(("--memory-limit", limit) if limit and not self.timed else ()))

    def command(self, group: list) -> list:
        return ["timm_models.py", "{rows}", "--explicit-attention"]

    def sample(self, row: Row) -> bool:
        return not self.timed and row.program in SAMPLE

    def same_program(self, row: Row):
        return "PyTorch 1.12 with cuDNN 8.3, which tidemark does not serve" + ("" if self.timed else "; its context is assumed")

    def reason(self, row: Row, answer: dict) -> str:
        return answer.get("note", "")


class Training(Boundary):
    name = "timm-train"
    timed = True

    def reason(self, row: Row, answer: dict) -> str:
        return "another cuDNN"


class Inference(Models):
    name = "timm-infer"
    mode = "infer"

    def same_program(self, row: Row):
        return "the model was fused or changed before it was timed" if row.program.startswith(DIFFERENT) else True

    def reason(self, row: Row, answer: dict) -> str:
        same = self.same_program(row)
        return "" if same is True else same


RECIPES = [Boundary(), Training(), Inference()]
