"""torchtune's own recipes with random weights and packed sequences, for a few steps.

  torchtune_runs.py ROWS

ROWS: rows of one configuration. Options come from the row: the table in which each row adds one technique, or the table of Llama 3.1.
"""
import importlib.util
import os
import re
import sys
import traceback
from pathlib import Path

import torch

from unused import pretend

pretend("datasets", "datasets.distributed")

STEPS = 5
TEXT = 107  # tokens of a text of Alpaca with its prompt, assumed
UNPACKED = (96, 61, 143, 78, 210, 52, 118, 88, 173, 412)  # lengths of texts that are not packed, assumed
CHUNKED, PLAIN = "torchtune.modules.loss.CEWithChunkedOutputLoss", "torch.nn.CrossEntropyLoss"
# A word of a row's name, and what is set from that row on.
LADDER = (("baseline", {"dataset.packed": False, "loss._component_": PLAIN, "compile": False, "optimizer_in_bwd": False, "enable_activation_checkpointing": False,
                        "optimizer._component_": "torch.optim.AdamW"}),
          ("packed", {"dataset.packed": True}), ("compile", {"compile": True}), ("chunk", {"loss._component_": CHUNKED}),
          ("checkpoint", {"enable_activation_checkpointing": True}), ("backward", {"optimizer_in_bwd": True}),
          ("offload", {"enable_activation_offloading": True}), ("8-bit", {"optimizer._component_": "torchao.optim.AdamW8bit"}))
OPTIMIZERS = {"bnb 8-bit": "bitsandbytes.optim.AdamW8bit", "ao 8-bit": "torchao.optim.AdamW8bit", "ao 4-bit": "torchao.optim.AdamW4bit",
              "ao fp8": "torchao.optim.AdamWFp8"}
SIZES = {"llama 2 7B": "llama2/7B", "llama 2 13B": "llama2/13B", "3.1 405B": "llama3_1/405B", "3.1 8B": "llama3_1/8B", "3.1 70B": "llama3_1/70B", "3.2 3B": "llama3_2/3B", "3.2-3B": "llama3_2/3B", "3.2 1B": "llama3_2/1B"}


class Words:
    pad_id, max_seq_len = 0, None

    def __init__(self, *args, **named):
        pass


class Log:
    def __init__(self):
        self.steps = []

    def log_config(self, config):
        pass

    def log_dict(self, payload, step):
        torch.cuda.synchronize()
        self.steps.append({key: float(value) for key, value in payload.items()})

    def close(self):
        pass


def ladder_of(config: str) -> tuple:
    """The recipe, its configuration and the options of a row of the README's ladder."""
    if "lora" in config.lower():
        kind = "qlora" if "qlora" in config.lower() else "lora"
        return "lora_finetune_single_device", f"llama3_2/3B_{kind}_single_device", {
            "dataset.packed": True, "compile": True, "loss._component_": CHUNKED, "enable_activation_checkpointing": True,
            "enable_activation_offloading": True, "optimizer._component_": "torch.optim.AdamW", "gradient_accumulation_steps": 1, "length": 4096}
    options = {}
    for word, more in LADDER:
        options |= more
        if word in config.lower() or word == "backward" and "fuse" in config.lower():
            break
    return "full_finetune_single_device", "llama3_2/3B_full_single_device", options | {"length": 4096}


def table_of(config: str, card: str) -> tuple:
    """The same of the README's table of models: sequences of 2,048 tokens, with torch.compile."""
    size = next(name for word, name in SIZES.items() if word.lower() in config.lower().replace("llama-", "llama "))
    kind = next(word for word in ("qlora", "lora", "full") if word in config.lower())
    options = {"dataset.packed": True, "compile": True, "length": 2048, "gradient_accumulation_steps": 1}
    if kind == "full" and "A6000" in card:
        options["optimizer_in_bwd"] = False
    if kind != "full" and "A6000" in card:
        options["enable_activation_checkpointing"] = False
    if "llama2" in size:  # torchao's table of optimizers
        name = next((made for word, made in OPTIMIZERS.items() if word in config.lower()), "torch.optim.AdamW")
        options |= {"dataset.packed": False, "compile": False, "optimizer_in_bwd": False, "optimizer": {"_component_": name, "lr": 2e-5}}
        if name.startswith("torch."):
            options["optimizer"]["fused"] = True
        return "full_finetune_single_device", f"{size}_full_low_memory", options
    many = re.match(r"[2-9]", card) is not None
    recipe = f"{'full' if kind == 'full' else 'lora'}_finetune_{'distributed' if many else 'single_device'}"
    return recipe, f"{size}_{kind}" + ("" if many else "_single_device"), options


def not_here(config: str) -> str:
    """Why a row cannot be run, or ""."""
    text = config.lower()
    if "fp8" in text or "float8" in text:
        return "float8 came after torchtune's last release"
    return "the optimizer runs on the host and takes all of its memory" if "offload" in text and "70b" in text else ""


def texts(batch: int, length: int, packed: bool) -> list:
    from torchtune.data import padded_collate_packed, padded_collate_sft
    found = []
    for at in range(STEPS):
        if packed:
            parts = [TEXT] * (length // TEXT) + [length % TEXT]
            row = {"tokens": torch.ones(length, dtype=torch.long), "labels": torch.ones(length, dtype=torch.long),
                   "input_pos": torch.cat([torch.arange(part) for part in parts]), "seq_lens": torch.tensor(parts)}
            found.append(padded_collate_packed([row] * batch))
        else:
            longest = max(UNPACKED) if at == 0 else UNPACKED[at]
            found.append(padded_collate_sft([{"tokens": [1] * longest, "labels": [1] * longest}] * batch, 0, -100))
    return found


class Loader(list):
    class sampler:
        set_epoch = staticmethod(lambda epoch: None)


def run(program: str, config: str, card: str) -> dict:
    from omegaconf import OmegaConf
    recipe, name, options = ladder_of(config) if "each row adds" in program else table_of(config, card)
    folder = Path(importlib.util.find_spec("torchtune").submodule_search_locations[0]).parent / "recipes"
    spec = importlib.util.spec_from_file_location(recipe, folder / f"{recipe}.py")  # the package itself refuses to be imported
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    settings = OmegaConf.load(folder / f"configs/{name}.yaml")
    length = options.pop("length")
    for key, value in (options | {"batch_size": 2, "max_steps_per_epoch": STEPS, "epochs": 1, "log_peak_memory_stats": True, "output_dir": "out", "seed": 1}).items():
        OmegaConf.update(settings, key, value, merge=False, force_add=True)
    log = Log()
    instantiate = module.config.instantiate

    def made(part, *args, **named):
        component = str(part.get("_component_"))
        if "metric_logging" in component:
            return log
        return Words() if "tokenizer" in component else instantiate(part, *args, **named)

    module.config.instantiate = made
    torch.nn.Module.load_state_dict = lambda *args, **named: ([], [])
    module.training.load_from_full_model_state_dict = lambda model, *args, **named: model.to_empty(device="cuda") and ([], [])
    if hasattr(module, "validate_missing_and_unexpected_for_lora"):
        module.validate_missing_and_unexpected_for_lora = lambda **named: None
    kind = next(value for name, value in vars(module).items() if name.endswith(("RecipeSingleDevice", "RecipeDistributed")))
    kind.load_checkpoint = lambda self, *args: {"model": {}}
    kind.save_checkpoint = lambda self, *args, **named: None
    kind._setup_data = lambda self, *args, **named: Loader(texts(2, length, bool(options["dataset.packed"])))
    one = kind(cfg=settings)
    one.setup(cfg=settings)
    one.train()
    active = max(step["peak_memory_active"] for step in log.steps)  # each reading begins a new peak
    rate = max(step["tokens_per_second_per_gpu"] for step in log.steps[1:])
    memory, rest = (f"{active:.6g}", "GiB"), log.steps
    allocated, reserved = (max(step[f"peak_memory_{kind}"] for step in rest) for kind in ("alloc", "reserved"))
    return {"peak active": memory, "peak memory per GPU": memory, "tokens/s": (f"{rate:.6g}", "tok/s"),
            "peak allocated": (f"{allocated:.6g}", "GB"), "peak reserved": (f"{reserved:.6g}", "GiB")}  # its GB are GiB


def main() -> None:
    lines = [line.split("\t") for line in Path(sys.argv[1]).read_text().splitlines()]
    _, program, config, card, _, _ = lines[0]
    why = not_here(config)
    try:
        found = {"": ("FAILED", why)} if why else run(program, config, card)
    except Exception as error:  # a row needs an answer
        traceback.print_exc()
        found = {"": ("FAILED", f"{type(error).__name__}: {' '.join(str(error).split())[:150]}")}
    for key, _, _, _, what, _ in lines if os.environ.get("RANK", "0") == "0" else ():
        print("ROW", key, what, *found.get(what, found.get("", ("FAILED", "it does not say this"))), sep="\t", flush=True)


if __name__ == "__main__":
    main()
