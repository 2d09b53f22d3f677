"""prime-rl's trainers of January 2026, in their benchmark mode: random weights, their own made tokens, four steps.

  prime_rl_train.py CLONE ROWS

CLONE: the folder of a clone. Model, length, adapters, checkpointing and ranks come from the row's text. The weights are not written to disk
between steps, which the published times leave out. The loop that reads each position from the card, to find where sequences begin, is left out:
here it is one sequence.
"""
import io
import os
import statistics
import subprocess
import sys
import tarfile
import traceback
import types
from pathlib import Path

import torch

import flash_attn_of_torch
from prime_rl_rows import MODELS, answer_of, chosen_of, not_here
from unused import pretend

flash_attn_of_torch.install()
os.environ.update(HF_HUB_OFFLINE="1", **{name: os.environ.get(name, value) for name, value in
                  (("RANK", "0"), ("LOCAL_RANK", "0"), ("WORLD_SIZE", "1"), ("LOCAL_WORLD_SIZE", "1"), ("MASTER_ADDR", "localhost"), ("MASTER_PORT", "29511"))})
pretend("wandb", "verifiers", "verifiers.types", "vllm", "datasets", "datasets.distributed", "openai", "openai.types", "openai.types.chat", "prime_evals", "httpx", "dion",
        "ring_flash_attn", "prometheus_client", "torchtitan", "torchtitan.distributed", "torchtitan.distributed.expert_parallel",
        "torchtitan.distributed.utils", "liger_kernel", "liger_kernel.transformers", "liger_kernel.transformers.cross_entropy", "aiofiles", "zmq", "zmq.asyncio",
        "tenacity", "pandas", "uvloop", "fastapi", "starlette", "prime_rl.trainer.rl.broadcast")

COMMIT, MICRO_BATCHES, MAX_LORAS = "d8f290ef0", 2, 4


def clip_grad_norm(parameters, max_norm, **named):
    """As torchtitan's: the norm of all ranks' gradients."""
    parameters = list(parameters)
    grads = [one.grad for one in parameters if one.grad is not None]
    norm = torch.nn.utils.get_total_norm(grads, 2.0, False, None)
    norm = norm.full_tensor() if isinstance(norm, torch.distributed.tensor.DTensor) else norm
    torch.nn.utils.clip_grads_with_norm_(parameters, max_norm, norm, None)
    return norm


def unpack(clone: str) -> None:
    tree = subprocess.run(["git", "-C", clone, "archive", COMMIT, "src"], capture_output=True, check=True).stdout
    tarfile.open(fileobj=io.BytesIO(tree)).extractall("tree", filter="data")
    sys.path.insert(0, str(Path("tree/src").resolve()))


def own_models(model: str) -> None:
    """In place of the hub's files."""
    import transformers
    kind, sizes = MODELS[model]

    def config(name, attn_implementation=None, **named):
        made = transformers.AutoConfig.for_model(kind, **sizes, dtype="bfloat16")
        made.architectures = [transformers.models.auto.modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[kind]]
        made._attn_implementation = attn_implementation
        return made
    transformers.AutoConfig.from_pretrained = config
    transformers.AutoTokenizer.from_pretrained = lambda *args, **named: types.SimpleNamespace(eos_token_id=151645, vocab_size=151643)


class Nothing:
    def __getattr__(self, name):
        return lambda *args, **named: None


def options_of(chosen: dict) -> dict:
    model = {"name": f"Qwen/{chosen['model']}", "seq_len": chosen["length"], "attn": "flash_attention_2", "compile": {}, "debug": {"random_init": True},
             "ep": chosen["ep"]}
    if not chosen["plain"]:
        model["ac_offloading" if chosen["offload"] else "ac"] = {}
    options = {"model": model, "bench": {"output_json": "bench.json"}, "output_dir": "out"}
    if chosen["rank"]:  # only the trainer for reinforcement learning has adapters of several runs
        model["lora"] = {"rank": chosen["rank"]}
        options |= {"max_concurrent_runs": MAX_LORAS} if chosen["kind"] == "rl" else {}
    batch = MICRO_BATCHES * chosen["cards"]
    options["data"] = ({"fake": {"batch_size": batch}} if chosen["kind"] == "rl" else
                       {"type": "fake", "batch_size": batch, "seq_len": chosen["length"]})
    return options


def run(chosen: dict) -> dict:
    sys.modules["torchtitan.distributed.utils"].clip_grad_norm_ = clip_grad_norm
    sys.modules["torchtitan.distributed.expert_parallel"].expert_parallel = lambda function: function
    sys.modules["wandb"].finish = lambda **named: None
    own_models(chosen["model"])
    import prime_rl.trainer.model
    prime_rl.trainer.model.get_module_signature = lambda *args, **named: ""  # a hash of all weights, for a log
    if chosen["kind"] == "rl":
        from prime_rl.trainer.rl import train as trainer
        from prime_rl.trainer.rl.config import RLTrainerConfig as Config
        trainer.setup_weight_broadcast = lambda *args: Nothing()
        trainer.get_response_lengths = lambda positions: [positions.shape[-1]]  # it reads each position from the card in a loop of its own
    else:
        from prime_rl.trainer.sft import train as trainer
        from prime_rl.trainer.sft.config import SFTTrainerConfig as Config
    found = {}
    trainer.print_benchmark, trainer.export_benchmark_json = found.update, lambda history, file: None
    trainer.train(Config(**options_of(chosen)))
    memory, times, rates = (found[name][1:] for name in ("perf/peak_memory", "time/step", "perf/throughput"))  # without the first step, as they do
    step = min(times)  # other work on this machine only makes a step longer
    return {"memory": (f"{statistics.mean(memory):.8g}", "GiB"), "rate": (f"{max(rates):.6g}", "tok/s"),
            "step": (f"{step:.6g}", "s"), "micro": (f"{step / MICRO_BATCHES:.6g}", "s")}


def main() -> None:
    lines = [line.split("\t") for line in Path(sys.argv[2]).read_text().splitlines()]
    key, program, config, _, _, _ = lines[0]
    chosen = chosen_of(f"{program} {key.partition('|')[0] if 'baselines' in key else ''}", config, int(os.environ["WORLD_SIZE"]))
    why, found = not_here(chosen), {}
    try:
        if not why:
            unpack(sys.argv[1])
            found = run(chosen)
    except Exception as error:  # a row needs an answer
        traceback.print_exc()
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"
    for key, _, _, _, what, _ in lines if os.environ["RANK"] == "0" else ():
        answer = answer_of(key, what, found)
        print("ROW", key, what, *(answer or ("FAILED", why or "it does not say this")), sep="\t", flush=True)


if __name__ == "__main__":
    main()
