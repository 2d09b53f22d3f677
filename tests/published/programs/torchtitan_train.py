"""torchtitan's train.py of December 2024 with random weights and equal tokens, for a few steps, as one rank of many.

  torchtitan_train.py CLONE ROWS

CLONE: the folder of a clone. Model, ranks, lengths and techniques come from the row's text.
"""
import io
import os
import re
import subprocess
import sys
import tarfile
import traceback
from pathlib import Path

import torch

from unused import pretend

pretend("datasets", "datasets.distributed", "tensorboard", "torch.utils.tensorboard", "tiktoken", "tiktoken.load")

COMMIT, STEPS = "9dec370", 4
VOCABULARY = {"llama-3": 128256, "llama-2": 32000}
KNOWN = ("8b", "70b", "405b")


def number(pattern: str, text: str, otherwise: int) -> int:
    found = re.search(pattern, text)
    return int(found.group(1)) if found else otherwise


def checkpointing(text: str, flavor: str) -> list:
    """none, full, of every n-th layer, or by operators, which is the preset of the small model."""
    if "no ac" in text:
        return ["none", "op"]
    layers = re.search(r"every (\d+)(?:nd|rd|th) layer", text)
    if layers:
        return ["selective", layers.group(1)]
    if "selective layer" in text or "sac per layer" in text:
        return ["selective", "2"]
    if "full ac" in text or ("sac" not in text and "selective" not in text and flavor != "8B"):
        return ["full", "op"]
    return ["selective", "op"]


def options_of(program: str, config: str, source: str) -> list:
    """Words of train.py's command."""
    text = re.sub(r"^(same|as above)\b", "llama-3 8b", f"{config.lower()}")
    flavor = next(name.upper() for name in KNOWN if name in f"{text} 8b")
    trainy = "h200" in source or "ngc" in program.lower()  # one table of a company whose rows say "same"
    compiled = trainy or ("eager" not in text and ("compile" in text or "workflows" in source or "4d" in text))
    quick = trainy or "float8" in text or "rowwise" in text or "4d" in text
    mode, layers = checkpointing(text, flavor)
    batch = number(r"(?:lbs|\bbs) ?(\d+)", text, 2 if trainy else 1)
    words = ["--job.config_file", f"tree/train_configs/llama3_{flavor.lower()}.toml", "--training.batch_size", batch,
             "--training.seq_len", number(r"seq ?(\d+)", text, 8192), "--training.tensor_parallel_degree", number(r"\btp ?(\d+)", text, 1),
             "--experimental.context_parallel_degree", number(r"\bcp ?(\d+)", text, 1),
             "--experimental.pipeline_parallel_degree", number(r"\bpp ?(\d+)", text, 1), "--training.steps", STEPS, "--metrics.log_freq", STEPS - 1,
             "--activation_checkpoint.mode", mode, "--activation_checkpoint.selective_ac_option", layers]
    if number(r"\bpp ?(\d+)", text, 1) > 1:
        words += ["--experimental.pipeline_parallel_schedule", "Interleaved1F1B" if "interleaved" in text else "1F1B"]
    if compiled:
        words += ["--training.compile"]
    if quick:
        words += ["--float8.enable_float8_linear", "--float8.enable_fsdp_float8_all_gather", "--float8.precompute_float8_dynamic_scale_for_fsdp"]
    return [str(word) for word in words]


def not_here(config: str) -> str:
    text = config.lower()
    names = ("mxfp8", "nvfp4", "qwen", "float8nocompile", "llama-2")
    found = next((name for name in names if name in text), "")
    return f"{found}: not in torchtitan of December 2024" if found else ""


class Log:
    found: dict = {}

    def log(self, metrics, step):
        if step > 1:
            Log.found = metrics

    def close(self):
        pass


class Words:
    n_words = VOCABULARY["llama-3"]


def batches(*args, **named):
    """Of the words that train.py gives its data loader: the batch is the fourth, the length the fifth."""
    tokens = torch.ones(args[3], args[4], dtype=torch.long)

    class Loader:
        def __iter__(self):
            while True:
                yield tokens, tokens
    return Loader()


def as_once() -> None:
    """Names that later versions of PyTorch changed."""
    import torch.distributed._composable.fsdp as old
    import torch.distributed.fsdp as new
    for name in ("fully_shard", "MixedPrecisionPolicy", "CPUOffloadPolicy", "FSDPModule"):
        if not hasattr(old, name):
            setattr(old, name, getattr(new, name))


def run(clone: str, program: str, config: str, source: str) -> dict:
    tree = subprocess.run(["git", "-C", clone, "archive", COMMIT, "train.py", "torchtitan", "train_configs"], capture_output=True, check=True).stdout
    tarfile.open(fileobj=io.BytesIO(tree)).extractall("tree", filter="data")
    sys.path.insert(0, str(Path("tree").resolve()))
    as_once()
    os.environ.setdefault("LOCAL_RANK", "0")
    import train
    train.build_tokenizer = lambda *args: Words()
    train.build_hf_data_loader = batches
    train.build_metric_logger = lambda *args: Log()
    settings = train.JobConfig()
    settings.parse_args(options_of(program, config, source))
    settings.profiling.enable_profiling = False
    train.main(settings)
    memory, rate = Log.found["memory/max_reserved(GiB)"], Log.found["throughput(tps)"]
    active = (f"{Log.found['memory/max_active(GiB)']:.6g}", "GiB")
    return {"max reserved, worst rank": (f"{memory:.6g}", "GiB"), "peak reserved": (f"{memory:.6g}", "GiB"), "peak active": active,
            "peak memory": (f"{memory:.6g}", "GB"), "rate": (f"{rate:.6g}", "tok/s")}  # its GB are GiB


def main() -> None:
    lines = [line.split("\t") for line in Path(sys.argv[2]).read_text().splitlines()]
    key, program, config, _, _, _ = lines[0]
    why = not_here(config)
    try:
        found = {} if why else run(sys.argv[1], program, config, key.partition(" ")[0].lower())
    except Exception as error:  # a row needs an answer
        traceback.print_exc()
        why, found = f"{type(error).__name__}: {' '.join(str(error).split())[:150]}", {}
    for key, _, _, _, what, _ in lines if os.environ.get("RANK", "0") == "0" else ():
        answer = found.get("rate" if "tokens/s" in what else what, ("FAILED", why or "it does not say this"))
        print("ROW", key, what, *answer, sep="\t", flush=True)


if __name__ == "__main__":
    main()
