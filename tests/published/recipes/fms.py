"""fms-acceleration's benchmark: fine-tuning on one to eight A100, with frozen versions of transformers, peft and accelerate."""
from recipe import Recipe
from rows import Row

SOURCE = "foundation-model-stack/fms-acceleration"
# --no-deps: its frozen requirements, but for PyTorch 2.4.1.
COMMON = ("--no-deps", "huggingface-hub==0.27.1", "safetensors==0.5.2", "bitsandbytes==0.43.3", "numpy==1.26.4", "pandas==2.2.3", "pytz",
          "python-dateutil", "tzdata", "six", "psutil", "pyyaml", "packaging", "regex", "requests", "tqdm", "urllib3", "certifi",
          "charset-normalizer", "idna", "einops", "threadpoolctl", "fms-acceleration==0.6.1", "fms-acceleration-foak==0.6.0", "fms-acceleration-peft==0.4.0")
EXPERTS = "which tokens each expert gets depends on values"
CONTEXT = "nvidia-smi also counts 1.3 GiB of the driver and of code"


def word(row: Row, key: str) -> str:
    return next((one.split("=", 1)[1] for one in row.config.split() if one.startswith(key + "=")), "")


class FineTuning(Recipe):
    """file: a part of the name of the table with the rows."""

    def __init__(self, name: str, file: str, packages: tuple):
        self.name, self.file, self.packages, self.seconds = name, file, COMMON + packages, 1200
        self.program, self.shared = ("fms_moe.py", ("fms_train.py",)) if name == "fms-moe" else ("fms_train.py", ())

    def matches(self, row: Row) -> bool:
        return SOURCE in row.source and row.source.endswith(self.file)

    def group(self, row: Row):
        return row.program, row.config

    def card(self, row: Row) -> tuple:
        """Rank 0 is the one that was measured."""
        ranks = int(word(row, "num_gpus") or 1)
        options = ("--clock", "virtual", "--stacks", "none")
        return (f"virtual:{row.card}", *options) if ranks == 1 else (f"virtual:{row.card}x{ranks}", *options, "--world", str(ranks), "--ranks", "0")

    def torch(self, row: Row) -> str:
        return "2.8"

    def command(self, group: list) -> list:
        return [self.program, "{rows}"]

    def key(self, row: Row) -> str:
        return f"{row.program} {row.config}"

    def texts(self) -> list:
        texts = super().texts()
        return [*texts, *(texts[0].with_name(name) for name in ("flash_attn_of_torch.py", "fms_models.py"))]

    def same_program(self, row: Row):
        return EXPERTS if "Mixtral" in row.program or self.name == "fms-moe" else True

    def reason(self, row: Row, answer: dict) -> str:
        if row.what == "mem_nvidia_mem_reserved" and "failed" not in answer:
            return CONTEXT if self.name == "fms" else ""
        if row.what in ("train_tokens_per_second", "train_runtime"):
            framework = word(row, "framework_config")
            if framework != "none":
                return "kernels of bitsandbytes, GPTQ and Triton are guessed"
            return "the host of this machine" if word(row, "num_gpus") != "1" else ""
        if "Mixtral" in row.program:
            return EXPERTS
        # The adapters' gradients are reduced one by one, and 2.8 holds the tensors of a collective until it is waited for: they are copied then.
        ignored = word(row, "num_gpus") != "1" and "accelerated" in word(row, "framework_config") and "foak" in word(row, "framework_config")
        return "probably PyTorch 2.8 instead of 2.4.1" if ignored else ""


RECIPES = [
    FineTuning("fms", "fms_a100_80gb.csv", ("transformers==4.48.1", "tokenizers==0.21.0", "accelerate==1.0.1", "peft==0.13.2")),
    FineTuning("fms-liger", "_liger.csv", ("transformers==4.45.2", "tokenizers==0.20.3", "accelerate==1.0.1", "peft==0.13.2")),
    FineTuning("fms-granite", "_granite.csv", ("transformers==4.45.2", "tokenizers==0.20.3", "accelerate==0.34.2", "peft==0.12.0")),
    FineTuning("fms-moe", "_moe.csv", ("transformers==4.52.4", "tokenizers==0.21.1", "accelerate==1.6.0", "peft==0.14.0")),
]
