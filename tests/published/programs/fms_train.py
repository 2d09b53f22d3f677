"""Fine-tunes a language model as fms-acceleration's benchmark does: transformers' Trainer, 4,096 tokens a sequence, flash attention, checkpointing.

  fms_train.py ROWS

ROWS: a file with the rows to answer, all of one configuration. The weights are not set, and the tokens are arbitrary: memory does not depend on them.
What the benchmark's own driver (tuning.sft_trainer of fms-hf-tuning with trl's SFTTrainer) does to the model is repeated here.
"""
import os
import sys
import time
import traceback
import types
from pathlib import Path

import torch

import flash_attn_of_torch

flash_attn_of_torch.install()
os.environ.update(HF_HUB_OFFLINE="1", TRITON_ALLOW_NON_CONSTEXPR_GLOBALS="1", BNB_CUDA_VERSION="121")
# bitsandbytes 0.43.3 imports these names for int8 products; they were in Triton until 3.0.
performance = types.ModuleType("triton.ops.matmul_perf_model")
performance.early_config_prune = performance.estimate_matmul_time = None
sys.modules.update({"triton.ops": types.ModuleType("triton.ops"), performance.__name__: performance})

from fms_models import build  # noqa: E402
from transformers import Trainer, TrainerCallback, TrainingArguments  # noqa: E402

STEPS = 4


def settings_of(config: str) -> dict:
    """'a=1 target_modules=x y b=2' as a dict; words without '=' belong to the value before them."""
    found, key = {}, ""
    for word in config.split():
        if "=" in word:
            key, word = word.split("=", 1)
            found[key] = word
        else:
            found[key] += " " + word
    return found


class Tokens(torch.utils.data.Dataset):
    def __init__(self, length: int):
        self.row = list(range(length))

    def __len__(self):
        return 1 << 20

    def __getitem__(self, at):
        return {"input_ids": self.row, "labels": self.row}


def collate(rows: list) -> dict:
    batch = {name: torch.tensor([row[name] for row in rows]) for name in ("input_ids", "labels")}
    return batch | {"attention_mask": torch.ones_like(batch["input_ids"])}


class Clock(TrainerCallback):
    """Times of steps, read after the card has finished."""

    def __init__(self):
        self.times = []

    def on_step_end(self, args, state, control, **kwargs):
        torch.cuda.synchronize()
        self.times.append(time.perf_counter())


# ---- fms-acceleration ----

KERNELS = "fast_loss: {loss}\n{at}fast_rms_layernorm: true\n{at}fast_rope_embeddings: true\n"
QUANTISED = """plugins:
  peft:
    quantization:
      {method}
"""
METHODS = {"bnb": "bitsandbytes:\n        quant_type: nf4\n        no_peft_model: {no_peft}",
           "autogptq": "auto_gptq:\n        kernel: triton_v2\n        from_quantized: true"}


def framework_of(name: str):
    """Its AccelerationFramework, or None. name: accelerated-peft-bnb-foak-liger and so on, sample configurations of its repository."""
    if name == "none":
        return None
    from fms_acceleration import AccelerationFramework
    loss = "fused_ce_liger" if name.endswith("-liger") else "true"
    method = next((method for method in METHODS if method in name), "")
    if method:
        text = QUANTISED.format(method=METHODS[method].format(no_peft=str(name.startswith("baseline")).lower()))
        base = {"bnb": "bitsandbytes", "autogptq": "auto_gptq"}[method]
        if "foak" in name:
            at = " " * 8
            text += f"      fused_ops_and_kernels:\n{at}base_layer: {base}\n{at}fused_lora: true\n{at}" + KERNELS.format(loss=loss, at=at)
    else:
        at = " " * 6
        text = f"plugins:\n  training:\n    fused_ops_and_kernels:\n{at}" + KERNELS.format(loss=loss, at=at)
    Path("framework.yaml").write_text(text)
    return AccelerationFramework("framework.yaml")


def lora_of(chosen: dict):
    if chosen.get("peft_method") != "lora":
        return None
    from peft import LoraConfig
    return LoraConfig(r=int(float(chosen["r"])), lora_alpha=int(float(chosen["lora_alpha"])), lora_dropout=float(chosen["lora_dropout"]),
                      target_modules=chosen["target_modules"].split(), bias="none", task_type="CAUSAL_LM")


def add_lora(model, lora, args):
    """What SFTTrainer of trl 0.11 to 0.13 does with a model and a peft_config; returns the model and the arguments."""
    import dataclasses

    from peft import get_peft_model, prepare_model_for_kbit_training
    quantised = getattr(model, "is_loaded_in_4bit", False)
    sharded = quantised and any(type(one).__name__ == "Params4bit" and one.data.device.type in ("cpu", "meta") for one in model.parameters())
    if quantised and not sharded:
        model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=True, gradient_checkpointing_kwargs={})
        args = dataclasses.replace(args, gradient_checkpointing=False)
    else:
        model.enable_input_require_grads()
    model = get_peft_model(model, lora, **({"autocast_adapter_dtype": False} if sharded else {}))
    if args.bf16 and quantised and not sharded:
        cast_to_bf16(model)
    return model, args


def cast_to_bf16(model) -> None:
    """trl's peft_module_casting_to_bf16."""
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.LayerNorm) or "norm" in name:
            module.to(torch.float32)
        elif any(part in name for part in ("lm_head", "embed_tokens", "wte", "wpe")) and getattr(module, "weight", None) is not None:
            if module.weight.dtype == torch.float32:
                module.to(torch.bfloat16)


def as_accelerate_launches() -> None:
    """The variables that accelerate sets for the benchmark's accelerate.yaml."""
    os.environ.update(ACCELERATE_USE_FSDP="true", FSDP_AUTO_WRAP_POLICY="TRANSFORMER_BASED_WRAP", FSDP_BACKWARD_PREFETCH="BACKWARD_PRE",
                      FSDP_FORWARD_PREFETCH="false", FSDP_OFFLOAD_PARAMS="false", FSDP_SHARDING_STRATEGY="1",
                      FSDP_STATE_DICT_TYPE="SHARDED_STATE_DICT", FSDP_CPU_RAM_EFFICIENT_LOADING="true", FSDP_SYNC_MODULE_STATES="true",
                      FSDP_USE_ORIG_PARAMS="true", ACCELERATE_MIXED_PRECISION="no")


def arguments(chosen: dict) -> TrainingArguments:
    return TrainingArguments(
        output_dir="trained", per_device_train_batch_size=int(chosen["per_device_train_batch_size"]), learning_rate=float(chosen["learning_rate"]),
        max_steps=STEPS, gradient_checkpointing=True, gradient_accumulation_steps=int(chosen.get("gradient_accumulation_steps", 1)),
        save_strategy="no", weight_decay=0.01, warmup_steps=10, adam_epsilon=1e-4, lr_scheduler_type="linear", logging_steps=10, report_to=[],
        bf16=chosen.get("bf16", "").upper() == "TRUE", fp16=chosen.get("fp16", "").upper() == "TRUE", disable_tqdm=True)


def not_here(chosen: dict) -> str:
    """Why a configuration cannot be run, or "". """
    if "granite-" in chosen["model_name_or_path"] or "moe-" in chosen["model_name_or_path"]:
        return "the model's sizes are only in its file, which is not published here"
    if "scattermoe" in chosen["framework_config"]:
        return "the tokens of an expert depend on values"
    return ""


def prepare(chosen: dict, clock: Clock):
    """The trainer, and the tokens of a sequence."""
    many = int(chosen["num_gpus"]) > 1
    if many:
        as_accelerate_launches()
    args = arguments(chosen)
    dtype = getattr(torch, chosen["torch_dtype"])
    framework, lora = framework_of(chosen["framework_config"]), lora_of(chosen)
    model, length = build(chosen, dtype, many)
    if framework and framework.requires_augmentation:
        model, (lora,) = framework.augmentation(model, args, modifiable_args=(lora,))
    if lora:
        model, args = add_lora(model, lora, args)
    trainer = Trainer(model=model, args=args, train_dataset=Tokens(length), data_collator=collate, callbacks=[clock])
    if trainer.is_fsdp_enabled and lora:
        from peft.utils.other import fsdp_auto_wrap_policy
        trainer.accelerator.state.fsdp_plugin.auto_wrap_policy = fsdp_auto_wrap_policy(model)
    for callback in framework.get_callbacks_and_ready_for_train(model, trainer.accelerator) if framework else ():
        trainer.add_callback(callback)
    return trainer, length


def used_of_card() -> float:
    """MiB that nvidia-smi shows at the peak."""
    free, total = torch.cuda.mem_get_info()
    return (total - free - torch.cuda.memory_reserved() + torch.cuda.max_memory_reserved()) / 2**20


def run(chosen: dict) -> dict:
    """What to answer, by name. A run that ends for want of memory only has the memory that nvidia-smi shows, as in the published table."""
    clock = Clock()
    try:
        trainer, length = prepare(chosen, clock)
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        trainer.train()
    except torch.OutOfMemoryError:
        return {"mem_nvidia_mem_reserved": (used_of_card(), "MiB")}
    seconds = sorted(b - a for a, b in zip(clock.times, clock.times[1:]))
    step = seconds[0]  # other work on this machine only makes a step longer
    return {"mem_peak_torch_mem_alloc_in_bytes": (torch.cuda.max_memory_allocated(), "B"),
            "mem_nvidia_mem_reserved": (used_of_card(), "MiB"),
            "train_runtime": (100 * step, "s"),
            "train_tokens_per_second": (length * int(chosen["per_device_train_batch_size"]) / step, "tok/s")}


def main() -> None:
    lines = [line.split("\t") for line in Path(sys.argv[1]).read_text().splitlines()]
    chosen = settings_of(lines[0][2])
    why = not_here(chosen)
    found = {}
    try:
        found = {} if why else run(chosen)
    except Exception as error:  # a row needs an answer, or the runner would ask for each of them again
        traceback.print_exc()
        why = f"{type(error).__name__}: {error}"[:160].replace("\n", " ").replace("\t", " ")
    for key, _, _, _, what, _ in lines:
        answer = found.get(what, ("FAILED", why or "the run ended for want of memory"))
        print("ROW", key, what, *answer, sep="\t", flush=True)


if __name__ == "__main__":
    main()
