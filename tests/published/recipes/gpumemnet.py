"""GPUMemNet's test jobs: what nvidia-smi shows of a training."""
from recipe import Recipe
from rows import Row


class Jobs(Recipe):
    name = "gpumemnet"
    packages = ("--no-deps", "torchvision==0.23.0", "pillow==11.3.0", "timm==1.0.19", "transformers==4.48.1", "tokenizers==0.21.0", "huggingface-hub==0.27.1",
                "safetensors==0.5.2", "pyyaml", "packaging", "regex", "requests", "tqdm", "urllib3", "certifi", "charset-normalizer", "idna", "numpy==1.26.4")
    settings = {"HF_HUB_OFFLINE": "1"}

    def matches(self, row: Row) -> bool:
        return "GPUMemNet" in row.source

    def group(self, row: Row):
        return row.card, row.config

    def card(self, row: Row) -> tuple:
        return ("virtual:a100-40", "--stacks", "none")

    def torch(self, row: Row) -> str:
        return "2.8"

    def command(self, group: list) -> list:
        return ["gpumemnet.py", "{rows}"]

    def same_program(self, row: Row):
        return "the script of this training is not published" if "_" in row.config.split()[0] else "the job is written anew from its paper: a size or an optimizer may differ"

    def reason(self, row: Row, answer: dict) -> str:
        return self.same_program(row) if "_" in row.config.split()[0] else "probably cuDNN's work areas"


RECIPES = [Jobs()]
