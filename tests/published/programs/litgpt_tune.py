"""LitGPT's own fine-tuning scripts, of the commit that was measured, shortened to a few steps, with random weights.

  litgpt_tune.py CLONE ROWS

CLONE: the folder of a clone. The texts are made: the longest one has the published length, and the others have lengths as in Alpaca, which are assumed.
"""
import contextlib
import importlib
import inspect
import io
import os
import re
import statistics
import subprocess
import sys
import tarfile
import time
import traceback
import types
from pathlib import Path

import torch

from unused import pretend

pretend("triton.ops", "triton.ops.matmul_perf_model")  # bitsandbytes 0.41 imports them for int8 products

STEPS, SAMPLES = 12, 1924  # of Alpaca2k, without its validation part
LONGEST = {"phi": 1044, "stablelm": 1034, "llama": 1304, "falcon": 1079}  # tokens, of the page's list
ASSUMED = (96, 61, 143, 78, 210, 52, 118, 88, 173, 69, 104, 132)  # lengths of other texts, with their prompt
NAMES = {"phi-1.5": "phi-1_5", "stablelm-alpha-3b": "stablelm-base-alpha-3b", "llama-2-7b": "Llama-2-7b-hf", "llama-2-13b": "Llama-2-13b-hf",
         "falcon-7b": "falcon-7b", "falcon-40b": "falcon-40b", "codellama-13b": "CodeLlama-13b-hf"}
# The commit that wrote a line of the config hub's table.
COMMITS = (("phi-3", "f247be87"), ("gemma2-2b", "2b195c7f"), ("gemma2b", "2b195c7f"), ("gemma2-9b", "916a84ca"), ("llama-3.1", "fd71063c"),
           ("llama-3.2", "00af8b0d"), ("", "5895df10"))


def unpack(clone: str, commit: str) -> None:
    """The commit's tree, into this folder, in front of other modules."""
    tree = subprocess.run(["git", "-C", clone, "archive", commit], capture_output=True, check=True).stdout
    tarfile.open(fileobj=io.BytesIO(tree)).extractall("tree", filter="data")
    sys.path.insert(0, str(Path("tree").resolve()))


class Words:
    """A tokenizer whose texts all have as many tokens as a prompt of Alpaca."""
    eos_id, bos_id, vocab_size = 2, 1, 32000

    def __init__(self, *args, **named):
        pass

    def encode(self, text, device=None, **named):
        return torch.ones(44, dtype=torch.long, device=device)

    def decode(self, tokens):
        return ""


class Watch:
    """Notes when an iteration begins: the model's forward is called."""

    def __init__(self):
        self.times = []

    def __call__(self, *args):
        torch.cuda.synchronize()
        self.times.append(time.perf_counter())

    def iteration(self) -> float:
        """The median time of a few texts, after the first ones."""
        times = self.times[3:]
        return statistics.median(b - a for a, b in zip(times, times[1:]))


def quantization(word: str):
    return None if word.lower() == "none" else "bnb." + word.removeprefix("bnb.")


def samples(longest: int, count: int) -> list:
    lengths = [longest] + [min(longest, ASSUMED[at % len(ASSUMED)]) for at in range(count - 1)]
    return [{"input_ids": torch.ones(length, dtype=torch.long), "labels": torch.ones(length, dtype=torch.long)} for length in lengths]


def watched(model_class, watch: Watch):
    """Training steps are noted, not those of a validation."""
    forward = model_class.forward

    def noting(self, *args, **named):
        if self.training:
            watch()
        return forward(self, *args, **named)

    model_class.forward = noting


def as_elastic(devices: int) -> None:
    """Lightning then takes the ranks that are there instead of starting its own."""
    if devices > 1:
        os.environ.setdefault("TORCHELASTIC_RUN_ID", "1")


def tune_2023(kind: str, name: str, micro: int, quantize, devices: int, longest: int, watch: Watch) -> None:
    """finetune/lora.py, adapter.py, adapter_v2.py and full.py of 2023, whose settings are their global variables."""
    prepare = types.ModuleType("scripts.prepare_alpaca")
    prepare.generate_prompt = str
    sys.modules.update({"scripts": types.ModuleType("scripts"), "scripts.prepare_alpaca": prepare})
    module = importlib.import_module(f"finetune.{kind}")
    batch = micro * STEPS
    vars(module).update(devices=devices, micro_batch_size=micro, batch_size=batch, gradient_accumulation_iters=STEPS, max_iters=STEPS + 4, eval_iters=2,
                        warmup_steps=1, check_valid_checkpoint_dir=lambda folder: None, load_checkpoint=lambda *args, **named: None, Tokenizer=Words)
    for saver in [one for one in vars(module) if one.startswith("save_") and callable(getattr(module, one))]:
        setattr(module, saver, lambda *args, **named: None)
    if hasattr(module, "lazy_load"):
        module.lazy_load = lambda *args: contextlib.nullcontext({})
    speed = importlib.import_module("lit_gpt.speed_monitor")
    module.measure_flops = module.estimate_flops = lambda *args, **named: 1.0
    speed.get_flops_available = lambda *args: None
    torch.load = lambda *args, **named: samples(longest, 64)
    watched(module.GPT, watch)
    named = {"quantize": quantize} if "quantize" in inspect.signature(module.setup).parameters else {}
    module.setup(checkpoint_dir=Path(name), out_dir=Path("out/run"), precision="bf16-true", **named)


def data_of(longest: int, micro: int):
    from litgpt.data import DataModule
    from litgpt.prompts import Alpaca as Style

    class Texts(DataModule):
        prompt_style = Style()

        def connect(self, *args, **named):
            pass

        def train_dataloader(self):
            return loader(samples(longest, 64), micro)

        def val_dataloader(self):
            return loader(samples(longest, 8), micro)

    return Texts()


def loader(texts: list, micro: int):
    def collate(batch):
        pad = torch.nn.utils.rnn.pad_sequence
        return {key: pad([one[key] for one in batch], batch_first=True) for key in ("input_ids", "labels")}
    return torch.utils.data.DataLoader(texts, batch_size=micro, collate_fn=collate, pin_memory=False)


def tune(config: dict, watch: Watch) -> None:
    """litgpt/finetune/lora.py or full.py of 2024 and later, with the settings of a file of its config hub."""
    kind = "lora" if "lora_r" in config else "full"
    module = importlib.import_module(f"litgpt.finetune.{kind}")
    args = importlib.import_module("litgpt.args")
    name = Path(config["checkpoint_dir"]).name
    vars(module).update(check_valid_checkpoint_dir=lambda folder: None, load_checkpoint=lambda *args, **named: None, Tokenizer=Words,
                        generate_example=lambda *args, **named: None, merge_lora=lambda *args, **named: None, copy_config_files=lambda *args: None,
                        save_hyperparameters=lambda *args: None, save_prompt_style=lambda *args: None, save_lora_checkpoint=lambda *args: None)
    module.Config.from_file = classmethod(lambda cls, path, **named: cls.from_name(name, **named))
    watched(module.GPT, watch)
    train, longest = dict(config["train"]), config["train"]["max_seq_length"]
    micro = train["micro_batch_size"]
    accumulation = train["global_batch_size"] // micro
    train.update(max_steps=-(-STEPS // accumulation), lr_warmup_steps=1, save_interval=None, epochs=64)
    known = {field for field in inspect.signature(args.TrainArgs).parameters}
    chosen = {"checkpoint_dir": Path(name), "out_dir": Path("out"), "data": data_of(longest, micro), "logger_name": "csv",
              "train": args.TrainArgs(**{key: value for key, value in train.items() if key in known}),
              "eval": args.EvalArgs(**{key: value for key, value in config["eval"].items() if key in inspect.signature(args.EvalArgs).parameters and key != "final_validation"})}
    chosen["eval"].interval = 10**6
    chosen |= {key: value for key, value in config.items() if key not in chosen and key in inspect.signature(module.setup).parameters}
    try:
        module.setup(**chosen)
    except (TypeError, ValueError, AttributeError, OSError, RuntimeError) as error:
        if isinstance(error, torch.OutOfMemoryError) or len(watch.times) <= STEPS // 2:
            raise  # otherwise it is what comes after the training
        traceback.print_exc()


def generate(config: str, watch: Watch) -> None:
    """litgpt/generate/base.py of a model, with random weights."""
    module = importlib.import_module("litgpt.generate.base")
    name = NAMES[config.split()[0].lower()]
    vars(module).update(check_valid_checkpoint_dir=lambda folder: None, load_checkpoint=lambda *args, **named: None, Tokenizer=Words,
                        load_prompt_style=lambda folder: types.SimpleNamespace(apply=str), has_prompt_style=lambda folder: True)
    module.Config.from_file = classmethod(lambda cls, path, **named: cls.from_name(name, **named))
    quantize = next((word for word in config.split() if word.startswith("bnb.")), None)
    precision = next((word for word in config.split() if word.endswith("-true")), "bf16-true")
    module.main(checkpoint_dir=Path(name), quantize=quantize, precision=precision, max_new_tokens=256)


def run(clone: str, program: str, config: str, card: str) -> dict:
    watch = Watch()
    devices = int((re.match(r"(\d+)x", card) or [0, "1"])[1])
    as_elastic(devices)
    torch.set_float32_matmul_precision("high")
    found = re.match(r"(\S+) (LoRA|Adapter(?:[ _]v2)?|Full|full)\S* (\S+) micro-batch (\d+)", config)
    try:
        if found:
            unpack(clone, re.search(r"litgpt ([0-9a-f]{7,})", program).group(1))
            name = NAMES[found[1].lower()]
            longest = next((tokens for word, tokens in LONGEST.items() if word in name.lower()), 1304)
            tune_2023(found[2].lower().replace(" ", "_"), name, int(found[4]), quantization(found[3]), devices, longest, watch)
        elif "generate" in program:
            unpack(clone, COMMITS[-1][1])
            generate(config, watch)
        else:
            import yaml
            unpack(clone, next(commit for word, commit in COMMITS if config.startswith(word)))
            files = {str(file.relative_to("tree/config_hub/finetune")).lower(): file for file in Path("tree/config_hub/finetune").rglob("*.yaml")}
            settings = yaml.safe_load(files[config.split()[0] + ".yaml"].read_text())
            settings["devices"] = devices
            tune(settings, watch)
            epochs, micro = settings["train"]["epochs"], settings["train"]["micro_batch_size"]
    except torch.OutOfMemoryError as error:
        traceback.print_exc()
        return {"verdict": ("OOM", ""), "": ("FAILED", f"OutOfMemoryError: {' '.join(str(error).split())[:120]}")}
    memory = (f"{torch.cuda.max_memory_allocated() / 1e9:.6g}", "GB")
    answers = {"max GPU RAM": memory, "peak memory": memory, "memory used": memory, "verdict": ("fits", "")}
    if len(watch.times) > 6:
        answers["min per 1k iterations"] = f"{watch.iteration() * 1000 / 60:.6g}", "min"
        if not found and "generate" not in program:
            answers["training runtime"] = f"{watch.iteration() * epochs * SAMPLES / micro / 60:.6g}", "min"
    return answers


def main() -> None:
    lines = [line.split("\t") for line in Path(sys.argv[2]).read_text().splitlines()]
    _, program, config, card, _, _ = lines[0]
    with contextlib.redirect_stdout(sys.stderr):
        try:
            found = run(sys.argv[1], program, config, card)
        except Exception as error:  # a row needs an answer
            traceback.print_exc()
            found = {"": ("FAILED", f"{type(error).__name__}: {' '.join(str(error).split())[:150]}")}
    for key, _, _, _, what, _ in lines if os.environ.get("RANK", "0") == "0" else ():
        print("ROW", key, what, *found.get(what, found.get("", ("FAILED", "it does not say this"))), sep="\t", flush=True)


if __name__ == "__main__":
    main()
