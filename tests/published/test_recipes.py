"""The recipes of ./dev published, without running them: which rows they take, on which card, and what they ask of a program."""
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import rows  # noqa: E402
from recipes import all_recipes  # noqa: E402

FMS = "foundation-model-stack/fms-acceleration scripts/benchmarks/refs/fms_a100_80gb"
LIGER = "linkedin/Liger-Kernel benchmark/data"
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
     "torchtune", ("virtual:a100-80", "--clock", "virtual", "--stacks", "none"), "2.8"),
    ("pytorch/torchtune@1:README.md", "torchtune 0.6 recipes", "Llama-3.1 8B QLoRA", "1x RTX 4090", "tokens/s",
     "torchtune", ("virtual:rtx4090", "--clock", "virtual", "--stacks", "none"), "2.8"),
    ("facebookresearch/detectron2 MODEL_ZOO.md", "configs/a.yaml", "R50 1x", "V100-SXM2-16/32", "train memory", "detectron2",
     ("virtual:v100-32x8", "--clock", "virtual", "--stacks", "none", "--world", "8", "--ranks", "0"), "2.8"),
    ("facebookresearch/detectron2 MODEL_ZOO.md", "configs/new_baselines/a.py", "R50 100", "V100-SXM2-16/32", "train memory", "detectron2",
     ("virtual:a100-80x8", "--clock", "virtual", "--stacks", "none", "--world", "8", "--ranks", "0"), "2.8"),
    ("ultralytics issues 1", "yolov8s 2023-03", "img 640 batch 8 amp", "t4-16", "reserved after forward", "yolo", ("virtual:t4-16", "--stacks", "none"), "2.8"),
    ("itu-rad/GPUMemNet@1:data.csv", "GPUMemNet 2025", "resnet50 batch 32", "1x A100 40GB", "nvidia-smi max", "gpumemnet",
     ("virtual:a100-40", "--stacks", "none"), "2.8"),
    ("Lightning-AI/litgpt@1:tutorials/resource-tables.md", "litgpt 8641822", "Llama-2-7B LoRA nf4 micro-batch 1", "1x A100 40GB", "max GPU RAM", "litgpt",
     ("virtual:a100-40", "--clock", "virtual", "--stacks", "none"), "2.8"),
    ("Lightning-AI/litgpt@1:tutorials/resource-tables.md", "litgpt 8641822", "phi-1.5 LoRA none micro-batch 1", "2x A100", "max GPU RAM", "litgpt",
     ("virtual:a100-40x2", "--clock", "virtual", "--stacks", "none", "--world", "2", "--ranks", "0"), "2.8"),
    ("pytorch/torchtitan@1:benchmarks/llama3.md", "torch", "Llama-3.1 70B FSDP2 TP8", "256x H100 96GB HBM2e", "max reserved, worst rank", "torchtitan",
     ("virtual:h100-80x8", "--clock", "virtual", "--stacks", "none", "--memory-limit", "95GiB", "--world", "256", "--ranks", "0"), "2.8"),
    ("pytorch/torchtitan@1:benchmarks/llama3.md", "torch", "Llama-3.1 8B FSDP1 CP8 full AC compile+float8", "8x H100", "max reserved, worst rank",
     "torchtitan-float8", ("virtual:h100-80x8", "--clock", "virtual", "--stacks", "none", "--world", "8", "--ranks", "0"), "2.8"),
    ("pytorch/ao@1:prototype/float8nocompile/README.md", "torchtitan, 2025", "Llama-3 8B full AC float8nocompile", "8x H100", "peak memory",
     "torchtitan", ("virtual:h100-80x8", "--clock", "virtual", "--stacks", "none", "--world", "8", "--ranks", "0"), "2.8"),
    ("pytorch/ao@1:workflows/training.md", "torchao docs", "same bf16", "8x H100", "median tokens/s/GPU", "torchtitan",
     ("virtual:h100-80x8", "--clock", "virtual", "--stacks", "none", "--world", "8", "--ranks", "0"), "2.8"),
    ("huggingface/peft README.md", "bigscience/bloomz-7b1", "PEFT-LoRA PyTorch", "a100-80", "peak memory", "peft",
     ("virtual:a100-80", "--clock", "virtual", "--stacks", "none"), "2.8"),
    ("huggingface/peft docs", "another", "LoRA", "a100-80", "peak memory", "absent", ("virtual:h100-80",), "2.14"),
    ("pytorch/ao@1:torchao/optim/README.md", "benchmarks/benchmark_low_bit_adam.py, PyTorch 2.4", "timm ViT-H bs8 ao 4-bit", "1x RTX 4070 Ti SUPER", "imgs/s",
     "torchao", ("virtual:rtx4070", "--clock", "virtual", "--stacks", "none", "--memory-limit", "15.6GiB"), "2.8"),
    ("pytorch/ao@1:torchao/optim/README.md", "torchtune 52d1b838, PyTorch 2.4", "Llama-2 7B full BF16 finetune Alpaca ao 8-bit", "1x A100", "peak allocated",
     "torchtune", ("virtual:a100-80", "--clock", "virtual", "--stacks", "none"), "2.8"),
    ("PrimeIntellect-ai/prime-rl@b798a90d:benchmarks/results/BENCHMARKS.md", "Qwen3-4B-Instruct-2507", "RL LoRA(r=16) 16384 Recompute FA3", "8xH100 HBM3",
     "Peak Mem", "prime-rl", ("virtual:h100-80x8", "--clock", "virtual", "--stacks", "none", "--world", "8", "--ranks", "0"), "2.11"),
    ("PrimeIntellect-ai/prime-rl benchmarks", "Qwen3-0.6B", "SFT Full seq 8192", "1xA6000", "step time", "prime-rl",
     ("virtual:rtxa6000", "--clock", "virtual", "--stacks", "none"), "2.11"),
    (LIGER, "rms_norm liger", 'H=1024 {"M": 2048} 2024-09-03', "a100-80", "speed full", "liger-triton",
     ("virtual:a100-80", "--clock", "virtual", "--stacks", "none"), "2.14"),
    (LIGER, "softmax liger", 'N=256 {"M": 2048} 2025-04-30', "rtx3090-24", "speed full", "liger-renamed",
     ("virtual:rtx3090-24", "--clock", "virtual", "--stacks", "none"), "2.14"),
    (LIGER, "rms_norm liger", 'H=1024 {"M": 2048} 2024-09-03', "a100-80", "memory full", "liger-kernel",
     ("virtual:a100-80", "--clock", "virtual", "--stacks", "none"), "2.14"),
]
# Of the recipe "absent": source, card and the reason.
REASONS = [("pytorch/ao@1:docs", "8x MI300X", "no virtual card of AMD"), ("huggingface/peft", "a100-80", "not written yet")]


def need(condition, *what):
    if not condition:
        sys.exit("WRONG: " + " ".join(str(part) for part in what))


def check_rows() -> None:
    for source, program, config, card, what, name, words, torch in CASES:
        row = rows.Row(source, program, config, card, what, "1", "B")
        takers = [recipe for recipe in all_recipes() if recipe.matches(row)]
        takers = [taker for taker in takers if taker.name != "absent"] or takers  # that one comes last
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
    need([file.name for file in recipe.texts()] == ["fms_train.py", "flash_attn_of_torch.py", "fms_models.py"], "texts", recipe.texts())
    moe = next(recipe for recipe in all_recipes() if recipe.name == "fms-moe")
    need(moe.same_program(ranks) is not True and {"fms_moe.py", "fms_train.py"} <= {file.name for file in moe.texts()}, "texts", moe.texts())
    need("2.4.1" in recipe.reason(ranks, {}), "the reason for adapters that FSDP ignores is", recipe.reason(ranks, {}))
    need(recipe.kind(mixtral) == "allocated", "the kind of a peak is", recipe.kind(mixtral))


def check_rows_of_prime_rl() -> None:
    """What a row says, in the words of the table or of a file's name."""
    sys.path.insert(0, str(HERE / "programs"))
    from prime_rl_rows import answer_of, chosen_of, not_here
    table = chosen_of("Qwen3-4B-Instruct-2507", "RL LoRA(r=16) seq 65536 Offload FA3 ep1 cp1", 8)
    name = chosen_of("benchmark-1xa6000-Qwen--Qwen3-0.6B-rl-16-1gpu-Recompute-flash_attention_2-16384-cp1-ep1.json", "", 1)
    plain = chosen_of("Qwen3-0.6B", "SFT Full 8192 Recompute FA2", 1)
    need([(one["model"], one["kind"], one["rank"], one["length"], one["offload"]) for one in (table, name, plain)] ==
         [("Qwen3-4B", "rl", 16, 65536, True), ("Qwen3-0.6B", "rl", 16, 16384, False), ("Qwen3-0.6B", "sft", 0, 8192, False)], table, name, plain)
    need(not_here(table) == "" and "experts" in not_here(chosen_of("Qwen3-30B-A3B-Instruct-2507", "RL Full 16384", 8)) and
         "ring" in not_here(chosen_of("Qwen3-4B", "RL Full seq 16384 cp2", 8)), "what is not written")
    recipe = next(recipe for recipe in all_recipes() if recipe.name == "prime-rl")
    kinds = [recipe.kind(rows.Row("prime-rl", "p", "c", "1xH100", what, "1", "x")) for what in ("Peak Mem", "peak memory", "TPS", "tokens/s", "Step Time")]
    need(kinds == ["reserved", "reserved", "rate", "rate", "time"], "kinds of prime-rl's figures", kinds)
    found = {"memory": ("1", "GiB"), "rate": ("2", "tok/s"), "step": ("4", "s"), "micro": ("3", "s")}
    need([answer_of("BENCHMARKS.md|x", what, found)[0] for what in ("Peak Mem", "TPS", "Step Time")] == ["1", "2", "3"] and
         all(answer_of(f"{key}|x", "step time", found)[0] == "4" for key in ("benchmarks/baselines", "a.json")) and answer_of("a|x", "MFU", found) is None, "answers")


def check_pipelines() -> None:
    """A row of the worst rank of a pipeline is no row of rank 0."""
    recipe = next(recipe for recipe in all_recipes() if recipe.name == "torchtitan-float8")
    found = [recipe.same_program(rows.Row("pytorch/torchtitan benchmarks/llama3_h100_202412", "t", config, "512x H100", "max reserved", "1", "GiB"))
             for config in ("405B 4D FSDP2 CP4 TP8 PP8", "405B FSDP8 TP8 PP8 Interleaved", "8B FSDP1 CP8 float8")]
    need([one is True for one in found] == [False, False, True], found)


check_rows()
check_pipelines()
check_rows_of_prime_rl()
check_reasons()
check_verdicts_of_fms()
print("as expected")
