"""Records of modded-nanogpt: memory and the time of a step of the scripts in its logs."""
from recipe import Recipe
from rows import Row


class Records(Recipe):
    name = "modded-nanogpt"
    clone = "KellerJordan/modded-nanogpt"
    seconds = 3600

    def matches(self, row: Row) -> bool:
        return row.source.startswith("KellerJordan/modded-nanogpt")

    def group(self, row: Row):
        return row.program.rpartition("/")[0], row.card

    def card(self, row: Row) -> tuple:
        """Rank 0 prints the figures."""
        ranks = row.card.partition("x")[0] if row.card.partition("x")[0].isdigit() else "1"
        name = next((name for word, name in (("H100", "h100-80"), ("H200", "h200"), ("A100", "a100-80"), ("B200", "b200")) if word in row.card), "h100-80")
        return f"virtual:{name}x{ranks}", "--clock", "virtual", "--stacks", "none", "--world", ranks, "--ranks", "0"

    def torch(self, row: Row) -> str:
        """The release that is nearest to the night's build."""
        minor = int(row.config.split(".")[1]) if row.config.startswith("2.") else 8
        return next(version for version, last in (("2.6", 6), ("2.8", 9), ("2.11", 12), ("2.14", 99)) if minor <= last)

    def command(self, group: list) -> list:
        return ["modded_nanogpt.py", "{clone}", "{rows}"]

    def key(self, row: Row) -> str:
        return f"{row.program} {row.config}"

    def kind(self, row: Row) -> str:
        """Until December 2024 the scripts call the allocated peak their consumption."""
        allocated = row.what == "peak_reserved_or_consumption_MiB" and "2024-1" in row.program and "SparsifyEmbeds" not in row.program
        return "allocated" if allocated else super().kind(row)

    def same_program(self, row: Row):
        return f"PyTorch {self.torch(row)} instead of {row.config}: another build fuses other kernels"

    def reason(self, row: Row, answer: dict) -> str:
        if "failed" in answer:
            return ""
        return self.same_program(row)


RECIPES = [Records()]
