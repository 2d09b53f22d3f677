#!/usr/bin/env python3
"""What is possible in programs, and what is refused and why: check_refusals.py --tidemark TIDEMARK --python PYTHON

All programs run in forked children of one `tidemark run --apply observe`, or of one with changes.
"""
import argparse
import glob
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

BEGIN = '''import torch
from torch import nn
from torch.nn import functional as F


class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(64, 64), nn.ReLU())

    def forward(self, x):
        return x + self.inner(x)


def make():
    return nn.Sequential(*(Part() for _ in range(3))).cuda()


def batch():
    return torch.randn(32, 64, device="cuda")


'''
LOOP = '''for _ in range(3):
    model(batch()).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
'''
PLAIN = '''model = make()
optimizer = torch.optim.AdamW(model.parameters())
'''

LOADED = ("from torch.utils.data import DataLoader\n" + PLAIN + "data = DataLoader(torch.randn(64, 64), batch_size=16)\n"
          + LOOP.replace("for _ in range(3)", "for x in data").replace("batch()", "x.cuda()"))
STREAM = '''class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter(torch.randn(64, 64))


'''

# name: (program, {fact: part of its text, or None if there is none})
OBSERVED = {
    "plain": (PLAIN + LOOP, {
        "model": "Sequential plain.py:", "can.checkpoint:Part": "0 1 2", "can.fused": "AdamW plain.py:", "can.no_foreach": "AdamW",
        "can.optimizer_in_backward": "AdamW", "can.adafactor": "AdamW", "can.autocast": "Sequential", "can.bf16": "Sequential",
        "cannot.set_to_none": "already", "cannot.micro_batch": "plain.py:26 makes its batches itself",
        "cannot.chunked_loss": "no call of F.cross_entropy over 8,192 classes", "cannot.fully_shard": "needs ranks",
        "cannot.checkpoint_library": "no method", "cannot.bucket_view": "DistributedDataParallel", "cannot.no_grad_eval": "eval mode",
        "evaluates": None, "attention": None, "did.fused": None, "can.checkpoint:Sequential": None, "can.checkpoint:Linear": None}),
    "clips": (PLAIN + LOOP.replace("    optimizer.step", "    nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    optimizer.step"), {
        "cannot.optimizer_in_backward": "the program clips gradients (clips.py:27)", "can.fused": "AdamW"}),
    "scaler": (PLAIN + '''scaler = torch.amp.GradScaler("cuda")
for _ in range(3):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(batch()).square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
''', {"cannot.optimizer_in_backward": "GradScaler", "cannot.autocast": "scales its loss", "cannot.bf16": "scales its loss", "can.fused": "AdamW"}),
    "autocast": (PLAIN + LOOP.replace("    model(", '    with torch.autocast("cuda", dtype=torch.bfloat16):\n        loss = model(').replace(
        ".backward()", "\n    loss.backward()"), {"cannot.autocast": "on already (autocast.py:26)", "can.bf16": "Sequential"}),
    "accumulates": (PLAIN + "for _ in range(3):\n    for _ in range(2):\n        model(batch()).mean().backward()\n    optimizer.step()\n    optimizer.zero_grad()\n",
                    {"cannot.optimizer_in_backward": "several backward passes"}),
    "two": ("first, second = make(), make()\none, other = torch.optim.Adam(first.parameters()), torch.optim.Adam(second.parameters())\n"
            "for _ in range(2):\n    (first(batch()).mean() + second(batch()).mean()).backward()\n    one.step()\n    other.step()\n",
            {"cannot.optimizer_in_backward": "2 optimizers", "can.fused": "Adam", "can.checkpoint:Part": "0 1 2 0 1 2"}),
    "closure": (PLAIN + "def closure():\n    optimizer.zero_grad()\n    loss = model(batch()).mean()\n    loss.backward()\n    return loss\n\n"
                "for _ in range(3):\n    optimizer.step(closure)\n", {
                    "can.fused": "AdamW", "cannot.optimizer_in_backward": "closure"}),
    "rms": (PLAIN.replace("AdamW", "RMSprop") + LOOP, {"cannot.fused": "RMSprop has no option fused", "can.no_foreach": "RMSprop"}),
    "lbfgs": ("model = make()\noptimizer = torch.optim.LBFGS(model.parameters(), max_iter=2)\n"
              "def closure():\n    optimizer.zero_grad()\n    loss = model(batch()).mean()\n    loss.backward()\n    return loss\n\n"
              "for _ in range(2):\n    optimizer.step(closure)\n",
              {"cannot.fused": "LBFGS has no option fused", "cannot.adafactor": "the optimizer is LBFGS", "cannot.optimizer_in_backward": "closure"}),
    "checkpoints": ("from torch.utils.checkpoint import checkpoint\n" + PLAIN + LOOP.replace("model(batch())", "checkpoint(model, batch(), use_reentrant=False)"),
                    {"cannot.checkpoint": "checkpoints already (checkpoints.py:27)", "cannot.checkpoint_half": "already",
                     "cannot.checkpoint_selective": "already", "can.offload_activations": "Sequential"}),
    "compiled": (PLAIN + "model.compile(backend='eager')\n" + LOOP, {
        "cannot.checkpoint": "the model is compiled (compiled.py:25)", "cannot.compile": "already", "cannot.offload_activations": "compiled",
        "cannot.optimizer_in_backward": "compiled"}),
    "captured": (PLAIN + LOOP + "graph = torch.cuda.CUDAGraph()\ntry:\n    with torch.cuda.graph(graph):\n        pass\nexcept RuntimeError:\n    pass\n", {
        "cannot.checkpoint": "captures a CUDA graph"}),
    "scripted": (PLAIN.replace("make()", "nn.Sequential(make(), torch.jit.script(nn.Linear(64, 64).cuda()))") + LOOP, {"cannot.checkpoint": "TorchScript"}),
    "sgd": (PLAIN.replace("AdamW(model.parameters()", "SGD(model.parameters(), lr=0.1, fused=True") + LOOP, {
        "cannot.fused": "fused already", "cannot.no_foreach": "does not step by foreach", "cannot.adafactor": "the optimizer is SGD"}),
    "evaluates": (PLAIN + LOOP + "    model.eval()\n    model(batch()).mean()\n    model.train()\n", {
        "can.no_grad_eval": "Sequential", "evaluates": "3"}),
    "frozen": (PLAIN + LOOP.replace("    model(", "    model.eval()\n    model("), {"cannot.no_grad_eval": "a backward pass uses"}),
    "zeros": (PLAIN + LOOP.replace("zero_grad()", "zero_grad(set_to_none=False)"), {"can.set_to_none": "zeros.py:28"}),
    "bf16": (PLAIN.replace("make()", "make().bfloat16()") + LOOP.replace("batch()", "batch().bfloat16()"), {
        "cannot.autocast": "no parameters in fp32", "cannot.bf16": "no parameters in fp32"}),
    "attends": ("class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.linear = nn.Linear(64, 64)\n\n"
                "    def forward(self, x):\n        y = self.linear(x).view(4, 8, 128, 16)\n        weights = F.softmax(y @ y.transpose(-1, -2), -1)\n"
                "        y = F.scaled_dot_product_attention(y, y, weights @ y, attn_mask=torch.ones(128, 128, dtype=torch.bool, device='cuda'))\n"
                "        return y\n\nmodel = Net().cuda()\noptimizer = torch.optim.AdamW(model.parameters())\n"
                + LOOP.replace("batch()", "torch.randn(1024, 64, device='cuda')"), {"attention": "attends.py:30 2097152", "masks": "attends.py:31 16384"}),
    "loss": ("model = nn.Sequential(make(), nn.Linear(64, 9000).cuda())\noptimizer = torch.optim.AdamW(model.parameters())\n"
             "criterion = nn.CrossEntropyLoss()\n" + LOOP.replace("model(batch()).square().mean()", "criterion(model(batch()), torch.zeros(32, dtype=torch.long, device='cuda'))"),
             {"can.chunked_loss": "1152000 loss.py:27", "can.linear_loss": "1152000 loss.py:27"}),
    "smooth": ("model = nn.Sequential(make(), nn.Linear(64, 9000).cuda())\noptimizer = torch.optim.AdamW(model.parameters())\n"
               + LOOP.replace("model(batch()).square().mean()", "F.cross_entropy(model(batch()), torch.zeros(32, dtype=torch.long, device='cuda'), label_smoothing=0.1)"),
               {"cannot.chunked_loss": "smooths its labels (smooth.py:26)", "cannot.linear_loss": "smooths"}),
    "scaled_head": ("model = nn.Sequential(make(), nn.Linear(64, 9000).cuda(), nn.Linear(9000, 8500).cuda())\noptimizer = torch.optim.AdamW(model.parameters())\n"
                    + LOOP.replace("model(batch()).square().mean()", "F.cross_entropy(model(batch())[:, :8300], torch.zeros(32, dtype=torch.long, device='cuda'))"),
                    {"can.chunked_loss": "", "cannot.linear_loss": "not those of a linear layer"}),
    "loader": (LOADED, {"can.micro_batch:2": "16 loader.py:26"}),
    "scheduled": ("from torch.utils.data import DataLoader\n" + PLAIN + "data = DataLoader(torch.randn(64, 64), batch_size=16)\n"
                  "schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)\n"
                  + LOOP.replace("for _ in range(3)", "for x in data").replace("batch()", "x.cuda()") + "    schedule.step()\n",
                  {"cannot.micro_batch": "a scheduler steps with each batch (scheduled.py:32)", "can.optimizer_in_backward": "AdamW"}),
    "summed": (LOADED.replace("mean()", "sum()"), {"cannot.micro_batch": "a term of the loss is a sum (summed.py:28)"}),
    "summed_loss": (LOADED.replace("model(x.cuda()).square().mean()", "(F.mse_loss(model(x.cuda()), x.cuda(), reduction='sum') * 0.5 - model(x.cuda()).mean())"),
                    {"cannot.micro_batch": "a term of the loss is a sum (summed_loss.py:28)"}),
    "divided": (LOADED.replace(".mean()", ".sum().div(16)"), {"can.micro_batch:2": "16 divided.py:26"}),
    "incomplete": (LOADED.replace("64, 64)", "60, 64)"), {"cannot.micro_batch": "the last batch of the DataLoader is incomplete (incomplete.py:26)"}),
    "dropped": (LOADED.replace("64, 64)", "68, 64)").replace("=16", "=16, drop_last=True"), {"can.micro_batch:2": "16 dropped.py:26"}),
    "half_dropped": (LOADED.replace("64, 64)", "74, 64)").replace("=16", "=16, drop_last=True"), {"cannot.micro_batch": "incomplete"}),
    "evaluated": (LOADED + "for x in DataLoader(torch.randn(60, 64), batch_size=16):\n    pass\n", {"can.micro_batch:2": "16 evaluated.py:26"}),
    "streamed": (LOADED.replace("DataLoader(torch.randn(64, 64)", "DataLoader(Stream()").replace("data =", STREAM + "data ="), {
        "cannot.micro_batch": "the number of samples of the DataLoader is unknown"}),
    "late_loader": (LOADED, {"can.micro_batch:2": "16 late_loader.py:26"}),
    "routes": ("class Routed(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.part = Part()\n\n"
               "    def forward(self, x):\n        rows = torch.where(self.part(x)[:, 0] > 0)[0]\n"
               "        return torch.zeros_like(x).index_add_(0, rows, self.part(x[rows]))\n\n"
               "model = nn.Sequential(Routed(), Routed()).cuda()\noptimizer = torch.optim.AdamW(model.parameters())\n"
               + LOOP.replace("batch()", "torch.randn(4096, 64, device='cuda')"), {"can.checkpoint:Routed": "0 1"}),
    "odd": ("from torch.utils.data import DataLoader\n" + PLAIN + "data = DataLoader(torch.randn(63, 64), batch_size=9)\n"
            + LOOP.replace("for _ in range(3)", "for x in data").replace("batch()", "x.cuda()"), {"cannot.micro_batch": "even batch"}),
    "normalises": ("from torch.utils.data import DataLoader\n" + PLAIN.replace("make()", "nn.Sequential(make(), nn.BatchNorm1d(64).cuda())")
                   + "data = DataLoader(torch.randn(64, 64), batch_size=16)\n"
                   + LOOP.replace("for _ in range(3)", "for x in data").replace("batch()", "x.cuda()"), {"cannot.micro_batch": "BatchNorm"}),
    "clears": ("from torch.utils.data import DataLoader\n" + PLAIN + "data = DataLoader(torch.randn(64, 64), batch_size=16)\n"
               + LOOP.replace("for _ in range(3)", "for x in data").replace("batch()", "x.cuda()").replace("optimizer.zero", "model.zero"),
               {"cannot.micro_batch": "clears gradients by its model"}),
    "fails": (PLAIN + "model(batch()).mean().backward()\nraise SystemExit(3)\n", {"can.checkpoint:Part": "0 1 2", "can.fused": "AdamW"}),
    "parallel": (PLAIN.replace("make()", "nn.DataParallel(make())") + LOOP, {"cannot.optimizer_in_backward": "wrapped by DataParallel"}),
    "by_hand": ("model = make()\n" + LOOP.replace("optimizer.step()", "for p in model.parameters():\n        p.data.sub_(p.grad)").replace("optimizer", "model"),
                {name: "makes no optimizer of torch.optim" for name in ("cannot.checkpoint", "cannot.fused", "cannot.bf16", "cannot.compile")}),
    "copied": ("import copy\n" + PLAIN.replace("make()", "copy.deepcopy(make())") + LOOP, {"can.checkpoint:Part": "0 1 2"}),
}

# Changes that are applied before the program does what they cannot bear, and others that are asked for where they are
# not possible: (program, changes, {fact: part})
REFUSED = [
    ("clips", "optimizer_in_backward", {"cannot.optimizer_in_backward": "clips gradients", "did.optimizer_in_backward": None}),
    ("compiled", "bogus,checkpoint", {"cannot.bogus": "no change has this name", "cannot.checkpoint": "needs a class"}),
    ("lbfgs", "fused,adafactor", {"cannot.fused": "has no option", "cannot.adafactor": "is LBFGS", "did.fused": None}),
    ("plain", "micro_batch:2,checkpoint:Part", {"cannot.micro_batch": "makes its batches itself", "did.micro_batch:2": None, "did.checkpoint:Part": "3 modules Part",
                                                "lines.micro_batch:2": None}),
    ("two", "optimizer_in_backward,fused", {"cannot.optimizer_in_backward": "2 optimizers", "did.fused": "Adam"}),
    ("plain", "checkpoint:Part,checkpoint_half:Part", {"did.checkpoint:Part": "3 modules Part", "cannot.checkpoint_half": "another change checkpoints Part"}),
    ("plain", "checkpoint_selective:Part,no_foreach", {"did.checkpoint_selective:Part": "3 modules, selectively, Part", "did.no_foreach": "parameter by parameter"}),
    ("late_loader", "micro_batch:2", {"did.micro_batch:2": "batches of 8 instead of 16"}),
    ("summed", "micro_batch:2", {"cannot.micro_batch": "a term of the loss is a sum", "did.micro_batch:2": None, "lines.micro_batch:2": None}),
    ("incomplete", "micro_batch:2", {"cannot.micro_batch": "incomplete", "did.micro_batch:2": None}),
    ("two", "checkpoint:Part", {"did.checkpoint:Part": "3 modules Part, 2 times"}),
    ("routes", "checkpoint:Routed", {"cannot.checkpoint": "depend on values that the card does not compute", "did.checkpoint:Routed": None}),
    ("plain", "fully_shard:Part", {"cannot.fully_shard": "needs ranks"}),
    ("plain", "adafactor,fused", {"did.adafactor": "Adafactor in place of AdamW", "cannot.fused": "another optimizer"}),
]


def facts_of(folder, options, commands, tidemark, python, starter):
    out = os.path.join(folder, "snapshot-of")
    for old in glob.glob(out + "*"):
        os.remove(old)
    done = subprocess.run([tidemark, "run", "--device", "virtual:h100-80", "-o", out + ".json.gz", "--html", out + ".html", *options, "--",
                           python, *starter, *commands], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace")
    found = {}
    names = dict(re.findall(r"^PAIR (\d+) (.*)$", done.stdout, re.MULTILINE))
    for path in glob.glob(out + "*.json.gz"):
        with gzip.open(path) as file:
            facts = json.load(file).get("plan", {})
        process = re.search(r"-process(\d+)\.", path)
        found[facts.get("set") or names.get(process.group(1) if process else "", "")] = facts
    return found, done.stdout


def check(name, facts, expected, failures):
    if facts is None:
        failures.append(f"{name}: no facts")
        return
    for key, part in expected.items():
        text = facts.get(key)
        if (part is None) != (text is None) or part is not None and part not in text:
            failures.append(f"{name}: {key} is {text!r}, not {part!r}")


UNCHANGED = """
import sys
assert not any("tidemark" in name and ".changes" in name for name in sys.modules)
for function in (nn.Module.__init__, F.cross_entropy, F.softmax, torch.optim.Optimizer.zero_grad, torch.optim.AdamW.__new__):
    code = getattr(function, "__code__", None)
    assert code is None or "/torch/" in code.co_filename, code
print("nothing is replaced")
"""


def check_unchanged(folder, options, failures):
    """Without --apply, nothing of the package's changes is imported, and no function is replaced."""
    with open(os.path.join(folder, "unchanged.py"), "w", encoding="utf-8") as file:
        file.write(BEGIN + PLAIN + LOOP + UNCHANGED)
    for more, is_expected in (([], True), (["--apply", "observe"], False)):
        _, output = facts_of(folder, more, ["unchanged.py"], options.tidemark, options.python, [])
        if ("nothing is replaced" in output) != is_expected:
            failures.append(f"unchanged.py with {more}: {output[-1500:]}")


def check_sentences(folder, options, failures):
    """What `tidemark run --apply` prints itself."""
    for changes, starter, wanted in [
        ("bogus,fused,bf16", [], ["with changes: bf16 (parameters and buffers of Sequential), fused (AdamW steps in one kernel)",
                                  "not applied: bogus: no change has this name"]),
        ("fused", ["-I"], ["no process of the program reported a change: it made no optimizer"]),
        ("fused", ["env", "PYTHONPATH=."], ["no process of the program reported a change: it made no optimizer of PyTorch's, its Python started with -E, -I "
                                            "or -S, or the command replaces PYTHONPATH"]),
        ("observe", [], []),
    ]:
        first, *after = [*starter, options.python] if "env" in starter else [options.python, *starter]
        _, output = facts_of(folder, ["--apply", changes], ["plain.py"], options.tidemark, first, after)
        said = [line for line in output.split("\n") if "change" in line or "not applied" in line]
        for text in wanted:
            if not any(line.startswith("tidemark run: " + text) for line in said):
                failures.append(f"run --apply {changes} does not print {text!r}: {said}")
        if not wanted and said:
            failures.append(f"run --apply {changes} prints {said}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tidemark", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("only", nargs="*")
    options = parser.parse_args()
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (text, _) in OBSERVED.items():
            with open(os.path.join(folder, name + ".py"), "w", encoding="utf-8") as file:
                file.write(BEGIN + text)
        names = [name for name in OBSERVED if not options.only or name in options.only]
        found, output = facts_of(folder, ["--apply", "observe"], [name + ".py" for name in names], options.tidemark, options.python,
                                 [os.path.join(HERE, "pairs/each.py")])
        for name in names:
            check(name, found.get(name + ".py"), OBSERVED[name][1], failures)
        many = os.path.join(HERE, "../../python/tidemark/changes/many.py")
        for name in dict.fromkeys(row[0] for row in REFUSED if row[0] in names):
            sets = [row[1] for row in REFUSED if row[0] == name]
            found, more = facts_of(folder, ["--apply", "observe"], [many, ";".join(["observe", *sets]), name + ".py"], options.tidemark, options.python, [])
            output += more
            for _, changes, expected in (row for row in REFUSED if row[0] == name):
                facts = found.get(changes)
                if facts is None:  # an earlier run wrote files, such as a compiler's cache: the others run alone
                    alone, more = facts_of(folder, ["--apply", changes], [name + ".py"], options.tidemark, options.python, [])
                    facts, output = alone.get(""), output + more
                check(f"{name} with {changes}", facts, expected, failures)
            if name == "plain":
                check_sentences(folder, options, failures)
                check_unchanged(folder, options, failures)
    for failure in failures:
        print("FAILED " + failure)
    if failures:
        print(output[-6000:])
    print(f"{len(names)} programs, {len(REFUSED)} refusals, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
