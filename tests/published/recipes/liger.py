"""Liger-Kernel's benchmarks: memory and times of operators."""
from recipe import Recipe
from rows import Row

LOSSES = {"cross_entropy", "fused_linear_cross_entropy", "kl_div", "tvd", "jsd", "fused_linear_jsd"}
LAYERS = {"rms_norm", "fused_add_rms_norm", "layer_norm", "group_norm", "megatron_rms_norm", "megatron_swiglu", "geglu", "swiglu", "tiled_geglu",
          "tiled_swiglu", "embedding", "softmax", "relu_squared", "sparsemax", "rope", "llama4_rope", "multi_token_attention",
          "sparse_multi_token_attention", "fused_neighborhood_attention", "fused_moe"}
REASONS = {"fused_neighborhood_attention": "other rows came before, and a reused block may be up to 1 MiB larger than asked",
           "multi_token_attention": "cuDNN's work areas", "sparse_multi_token_attention": "cuDNN's work areas"}
UNWRITTEN = {"megatron_rms_norm", "megatron_swiglu", "fused_moe", "fused_linear_jsd"}  # of Liger's, these have no program here
RENAMED = {"group_norm", "softmax", "fused_neighborhood_attention"}  # these are no names of the newest package
REWRITTEN = ("embedding", "cross_entropy", "softmax")  # gathers and softmax of later PyTorch read and write less
HOST_MS = 0.15  # shorter ones are as long as the host takes for their launches
PLAIN = ("huggingface", "torch", "deepspeed_tiled")


class Operators(Recipe):
    """Those in PyTorch's own operators."""
    name = "liger-torch"

    def matches(self, row: Row) -> bool:
        kernel, _, provider = row.program.partition(" ")
        if kernel == "fused_neighborhood_attention" and row.what.startswith("speed"):
            return False  # thousands of launches that set an element of a mask: a time of the host alone
        return "Liger-Kernel" in row.source and kernel in LOSSES | LAYERS and provider in PLAIN

    def group(self, row: Row):
        return row.card

    def card(self, row: Row) -> tuple:
        return (f"virtual:{row.card}", "--clock", "virtual", "--stacks", "none")

    def same_program(self, row: Row):
        if row.program.startswith("embedding") and row.what.startswith("memory"):
            return "the published process still held modules of torch.compile's earlier rows"
        if row.what.startswith("speed") and row.program.split()[0] in REWRITTEN and row.config.split()[-1] < "2025-09":
            return "kernels that a later PyTorch replaced were measured"
        if row.program.startswith("fused_moe") and row.what.startswith("memory"):
            return "sizes depend on which tokens each expert gets, by the card's random numbers"
        return True

    def reason(self, row: Row, answer: dict) -> str:
        same = self.same_program(row)
        if row.what.startswith("speed") and row.program.startswith("fused_moe"):
            return "the host's loop over experts"
        if same is True and row.what.startswith("speed"):
            return "as short as the host's part" if float(row.value) < HOST_MS else ""
        if same is True:
            return next((reason for program, reason in REASONS.items() if row.program.startswith(program) and row.what.startswith("memory")), "")
        return same

    def sample(self, row: Row) -> bool:
        return row.card == "a100-80" and row.what.startswith("memory") and not row.program.startswith(("embedding", "rope"))

    def command(self, group: list) -> list:
        return ["liger.py", "{rows}"]

    def key(self, row: Row) -> str:
        return f"{row.program} {row.config}"


class Kernels(Operators):
    """Liger's own, in Triton, by the newest package: the published ones are older."""
    name = environment = "liger-kernel"
    packages = ("liger-kernel==0.8.5", "transformers==5.24.0")

    def matches(self, row: Row) -> bool:
        kernel, _, provider = row.program.partition(" ")
        if kernel not in (LOSSES | LAYERS) - UNWRITTEN - RENAMED or row.what.startswith("speed"):
            return False
        return "Liger-Kernel" in row.source and provider.startswith("liger")

    def same_program(self, row: Row):
        if row.program.startswith("embedding"):
            return super().same_program(row)
        return "an older version of the kernel was measured"

    def sample(self, row: Row) -> bool:
        return False


class KernelTimes(Kernels):
    """Their times: a family of its own, because the text of a Triton kernel gives its bytes and FLOP, and no published time was used for its speed."""
    name = "liger-triton"

    def matches(self, row: Row) -> bool:
        kernel, _, provider = row.program.partition(" ")
        return ("Liger-Kernel" in row.source and row.what.startswith("speed") and provider.startswith("liger") and
                kernel in (LOSSES | LAYERS) - UNWRITTEN - RENAMED)

    def reason(self, row: Row, answer: dict) -> str:
        return "as short as the host's part" if float(row.value) < HOST_MS else "the speed of Triton kernels was never fitted; an older one was measured"


class Renamed(Kernels):
    """Memory and times of those whose modules are no names of the package any more."""
    name, shared = "liger-renamed", ("liger.py",)

    def matches(self, row: Row) -> bool:
        kernel, _, provider = row.program.partition(" ")
        return "Liger-Kernel" in row.source and provider.startswith("liger") and kernel in RENAMED

    def command(self, group: list) -> list:
        return ["renamed_liger.py", "{rows}"]

    def reason(self, row: Row, answer: dict) -> str:
        return (TIMES if row.what.startswith("speed") else super()).reason(row, answer)


TIMES = KernelTimes()
RECIPES = [Operators(), Kernels(), TIMES, Renamed()]
