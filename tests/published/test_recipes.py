"""The recipes of ./dev published, without running them: which rows they take, on which card, and what they ask of a program."""
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import rows  # noqa: E402
from recipes import all_recipes  # noqa: E402

FMS = "foundation-model-stack/fms-acceleration scripts/benchmarks/refs/fms_a100_80gb"
# source, program, config, card, what; the recipe; the words after --device; the version of PyTorch
CASES = [
    (FMS + ".csv", "mistralai/Mistral-7B-v0.1", "framework_config=none num_gpus=1", "a100-80", "mem_peak_torch_mem_alloc_in_bytes", "fms",
     ("virtual:a100-80", "--clock", "virtual", "--stacks", "none"), "2.8"),
    (FMS + "_liger.csv", "meta-llama/Meta-Llama-3-8B", "bf16=True framework_config=foak-fast-kernels num_gpus=4", "a100-80", "train_runtime", "fms-liger",
     ("virtual:a100-80x4", "--clock", "virtual", "--stacks", "none", "--world", "4", "--ranks", "0"), "2.8"),
    (FMS + "_moe.csv", "ibm-granite/granite", "framework_config=none num_gpus=1", "a100-80", "train_runtime", "fms-moe",
     ("virtual:a100-80", "--clock", "virtual", "--stacks", "none"), "2.8"),
    ("KellerJordan/modded-nanogpt", "records/track_1_short/2025-12-31_X/a.txt", "2.10.0.dev20251210+cu126", "8x H100 80GB HBM3", "last_step_avg_ms",
     "modded-nanogpt", ("virtual:h100-80x8", "--clock", "virtual", "--stacks", "none", "--world", "8", "--ranks", "0"), "2.11"),
    ("KellerJordan/modded-nanogpt", "records/a/b.txt", "", "8x H200", "last_step_avg_ms",
     "modded-nanogpt", ("virtual:h200x8", "--clock", "virtual", "--stacks", "none", "--world", "8", "--ranks", "0"), "2.8"),
    ("pytorch/torchtune@1:README.md", "torchtune, Llama-3.2-3B (table: each row adds one technique)", "+packed", "1x A100 80GB", "peak active",
     "torchtune-ladder", ("virtual:a100-80", "--clock", "virtual", "--stacks", "none"), "2.8"),
    ("facebookresearch/detectron2 MODEL_ZOO.md", "configs/a.yaml", "R50 1x", "V100-SXM2-16/32", "train memory", "absent", ("virtual:h100-80",), "2.14"),
]
# Of the recipe "absent": source, card and the reason.
REASONS = [("pytorch/ao@1:docs", "8x MI300X", "no virtual card of AMD"), ("pytorch/ao@1:docs", "8x H100", "not written yet: torchao"),
           ("pytorch/torchtune@1:README.md", "1x A100", "not written yet: torchtune"), ("facebookresearch/detectron2", "V100", "needs COCO")]


def need(condition, *what):
    if not condition:
        sys.exit("WRONG: " + " ".join(str(part) for part in what))


def check_rows() -> None:
    for source, program, config, card, what, name, words, torch in CASES:
        row = rows.Row(source, program, config, card, what, "1", "B")
        takers = [recipe for recipe in all_recipes() if recipe.matches(row)]
        need([taker.name for taker in takers] == [name], source, "is taken by", [taker.name for taker in takers])
        need(takers[0].card(row) == words, source, "runs on", takers[0].card(row))
        need(takers[0].torch(row) == torch, source, "runs with PyTorch", takers[0].torch(row))
        need(all(file.is_file() for file in takers[0].texts()) and takers[0].texts(), source, "has texts", takers[0].texts())


def check_reasons() -> None:
    absent = next(recipe for recipe in all_recipes() if recipe.name == "absent")
    for source, card, reason in REASONS:
        found = absent.reason(rows.Row(source, "p", "c", card, "peak memory", "1", "GB"), {"failed": "x"})
        need(found.startswith(reason), source, "has the reason", found)


def check_verdicts_of_fms() -> None:
    recipe = next(recipe for recipe in all_recipes() if recipe.name == "fms")
    mixtral = rows.Row(FMS + ".csv", "mistralai/Mixtral-8x7B", "framework_config=none num_gpus=1", "a100-80", "mem_peak_torch_mem_alloc_in_bytes", "1", "B")
    need(recipe.same_program(mixtral) is not True, "a model of experts counts as the same program")
    ranks = rows.Row(FMS + ".csv", "mistralai/Mistral-7B", "framework_config=accelerated-peft-bnb-foak num_gpus=2", "a100-80",
                     "mem_peak_torch_mem_alloc_in_bytes", "1", "B")
    need("2.4.1" in recipe.reason(ranks, {}), "the reason for adapters that FSDP ignores is", recipe.reason(ranks, {}))
    need(recipe.kind(mixtral) == "allocated", "the kind of a peak is", recipe.kind(mixtral))


check_rows()
check_reasons()
check_verdicts_of_fms()
print("as expected")
