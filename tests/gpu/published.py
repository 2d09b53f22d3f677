"""What published figures leave open, measured on the GPU beside the virtual card's answers, in under ten minutes.

    python3 published.py TIDEMARK CARD PYTHON OUT [--instead DEVICE]

CARD: the virtual card that represents the GPU, such as h100-80. PYTHON: an interpreter with PyTorch and CUDA. Writes OUT,
one JSON object a line, and prints a line for each:
    context     bytes of the driver's that PyTorch does not reserve, after the first kernel, product and convolution
    work_area   each convolution of cuDNN in CNNs: the bytes it asked for on the GPU, and the virtual card's likely bytes
    kernel      operators of Liger-Kernel's benchmarks: ms on the GPU and by the forecast's clock
    server      the KV cache of vLLM's start, if PYTHON has vLLM
--instead names a device to use in place of the GPU: a rehearsal, whose lines have "rehearsal": true.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))
import read_log  # noqa: E402

PROGRAMS = HERE.parent / "published" / "programs"
MOST_SECONDS = 180  # of a program

CONTEXT = """
import torch
x = torch.randn(256, 256, device="cuda")
torch.nn.functional.conv2d(x[None, None], x[None, None, :3, :3]); x @ x
torch.cuda.synchronize()
free, total = torch.cuda.mem_get_info()
print("FIGURE", total - free - torch.cuda.memory_reserved())
"""

CNN = """
import sys, torch, torchvision
name, batch, kind, layout = sys.argv[1:]
torch.manual_seed(0)
model = getattr(torchvision.models, name)().cuda().to(memory_format=getattr(torch, layout))
x = torch.randn(int(batch), 3, 224, 224, device="cuda").to(memory_format=getattr(torch, layout))
for step in range(2):
    with torch.autocast("cuda", getattr(torch, kind), enabled=kind != "float32"):
        loss = model(x).float().sum()
    loss.backward()
"""
CNNS = [("resnet50", 32, "float32", "contiguous_format"), ("resnet50", 32, "float16", "channels_last"),
        ("resnet50", 32, "float16", "contiguous_format"), ("vgg16", 32, "float32", "contiguous_format"),
        ("mobilenet_v3_large", 64, "float16", "channels_last"), ("regnet_y_1_6gf", 64, "float32", "contiguous_format")]

TYPE = '"dtype": "torch.float32"'
KERNELS = [("cross_entropy huggingface", 'V=65536 {"B": 8, "T": 2048} 2026-04-02', "speed full"),
           ("layer_norm huggingface", 'N=8192 {"M": 4096, %s, "eps": 1e-06} 2026-04-02' % TYPE, "speed full"),
           ("embedding huggingface", 'V=65536 {"B": 8, "T": 2048, "D": 4096, %s} 2026-04-02' % TYPE, "speed full"),
           ("softmax torch", 'N=4096 {"M": 2048, %s} 2026-04-02' % TYPE, "speed forward"),
           ("group_norm huggingface", 'C=128 {"M": 128, "H": 512, "channels_per_group": 4, %s, "eps": 1e-06} 2026-04-02' % TYPE, "speed full")]

SERVER = """
import json, sys, tempfile, os
folder = tempfile.mkdtemp()
json.dump({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 256, "intermediate_size": 512,
           "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 1000,
           "max_position_embeddings": 2048, "torch_dtype": "bfloat16"}, open(os.path.join(folder, "config.json"), "w"))
from vllm import LLM
engine = LLM(folder, load_format="dummy", skip_tokenizer_init=True, enforce_eager=True)
print("FIGURE", engine.llm_engine.vllm_config.cache_config.num_gpu_blocks)
"""


class Runner:
    """Runs programs on the GPU, or in a rehearsal on the device in its place, and on the virtual card."""

    def __init__(self, options):
        self.options = options
        self.folder = tempfile.mkdtemp()
        self.out = open(options.out, "w", encoding="utf-8")

    def run(self, on_card, arguments, extra=()):
        """The program's output; on_card: on the virtual card. RuntimeError if it fails."""
        device = f"virtual:{self.options.card}" if on_card else self.options.instead
        command = [self.options.python, *map(str, arguments)]
        if device or "-o" in extra:
            command = [self.options.tidemark, "run", "--html", os.path.join(self.folder, "page.html"), *extra,
                       *(["--device", device] if device else []), "--", *command]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, timeout=MOST_SECONDS)
        if done.returncode != 0:
            raise RuntimeError(f"status {done.returncode}: {done.stderr[-800:]}")
        return done.stdout

    def say(self, what, **figures):
        row = {"what": what, **figures, **({"rehearsal": True} if self.options.instead else {})}
        self.out.write(json.dumps(row) + "\n")
        self.out.flush()
        print(json.dumps(row), flush=True)


def figure(text):
    return float(next(line for line in text.splitlines() if line.startswith("FIGURE")).split()[1])


def context(runner):
    runner.say("context", gpu_bytes=figure(runner.run(False, ["-c", CONTEXT])), card_bytes=figure(runner.run(True, ["-c", CONTEXT])))


def areas_of(runner, on_card, cnn):
    """The bytes of blocks that are freed by the very next event, on the same line."""
    log = os.path.join(runner.folder, "cnn.log")
    runner.run(on_card, ["-c", CNN, *cnn], ("--log", log, "-o", os.path.join(runner.folder, "cnn.json.gz")))
    read = read_log.Log(log)
    events = [(action, row.requested, tuple(read.python(row))) for action, row in read.events() if not action.startswith("segment")]
    return [event[1] for event, after in zip(events, events[1:])
            if event[0] == "alloc" and after[0].startswith("free") and after[1:] == event[1:]]


def work_areas(runner):
    for cnn in CNNS:
        real, likely = (areas_of(runner, on_card, cnn) for on_card in (False, True))
        runner.say("work_area", program=" ".join(map(str, cnn)), gpu=sorted(real, reverse=True)[:200],
                   card=sorted(likely, reverse=True)[:200], gpu_calls=len(real), card_calls=len(likely))


def kernels(runner):
    rows = os.path.join(runner.folder, "rows.tsv")
    with open(rows, "w", encoding="utf-8") as file:
        for i, (program, config, what) in enumerate(KERNELS):
            file.write("\t".join([str(i), program, config, runner.options.card, what, ""]) + "\n")
    found = []
    for on_card in (False, True):
        clock = ("--clock", "virtual") if on_card or runner.options.instead else ()
        lines = [line.split("\t") for line in runner.run(on_card, [PROGRAMS / "liger.py", rows], clock).splitlines() if line.startswith("ROW")]
        found.append({line[1]: line[3] for line in lines})
    for i, (program, config, what) in enumerate(KERNELS):
        runner.say("kernel", program=program, config=config, measured=what, gpu_ms=found[0].get(str(i)), card_ms=found[1].get(str(i)))


def server(runner):
    runner.say("server", gpu_blocks=figure(runner.run(False, ["-c", SERVER])), card_blocks=figure(runner.run(True, ["-c", SERVER])))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("tidemark", "card", "python", "out"):
        parser.add_argument(name)
    parser.add_argument("--instead")
    runner = Runner(parser.parse_args())
    runner.options.tidemark = os.path.abspath(runner.options.tidemark)
    n_failed = 0
    for part in (context, work_areas, kernels, server):
        try:
            part(runner)
        except (RuntimeError, OSError, StopIteration, subprocess.TimeoutExpired) as why:
            n_failed += part is not server  # vLLM may be missing
            runner.say(part.__name__, failed=f"{type(why).__name__}: {why}"[:400])
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
