#!/usr/bin/env python3
"""Checks what `tidemark run` and `tidemark explain` say about growth, of programs whose answer is known.

    python3 tests/pytorch/check_growth.py --tidemark TIDEMARK --python PYTHON [NAME...]

Programs that grow must be found by both, with the line that keeps the memory. Of programs that do not, or whose steps
are not named, both must print nothing, even if their memory grows for a while.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import same_answer

COMMON = """
import copy, torch
from torch import nn
torch.manual_seed(0)
def cnn(width=32):
    return nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
                         nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(width, 10)).cuda()
def mlp(width=512, depth=4):
    return nn.Sequential(*[m for _ in range(depth) for m in (nn.Linear(width, width), nn.ReLU())]).cuda()
def images(n=16): return torch.randn(n, 3, 64, 64, device="cuda")
def labels(n=16): return torch.randint(10, (n,), device="cuda")
"""

# name -> (program, the line that grows or None). The line is the one that ends with "# grows".
PROGRAMS = {
    # ---- that grow ----
    "summed_loss": """
net, aux = mlp(), mlp()
opt = torch.optim.AdamW(net.parameters())
total = 0
for step in range(8):
    x = torch.randn(256, 512, device="cuda")
    total += aux(x).square().mean()  # grows
    opt.zero_grad(); net(x).square().mean().backward(); opt.step()
""",
    "list_of_outputs": """
net = cnn(); opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
outputs = []
for step in range(10):
    x = images()
    y = nn.functional.interpolate(x, scale_factor=4)  # grows
    outputs.append(y)
    opt.zero_grad(); nn.functional.cross_entropy(net(x), labels()).backward(); opt.step()
""",
    "hook_keeps": """
net = cnn(); opt = torch.optim.SGD(net.parameters(), 0.1)
seen = []
net[0].register_forward_hook(lambda module, args, result: seen.append(result.detach()))
for step in range(8):
    opt.zero_grad()
    out = net(images())  # grows
    nn.functional.cross_entropy(out, labels()).backward(); opt.step()
""",
    "own_steps": """
import tidemark
net = mlp().requires_grad_(False)
memory = []
for step in range(7):
    with torch.no_grad():
        memory.append(net(torch.randn(512, 512, device="cuda")))  # grows
    tidemark.step()
""",
    # ---- that do not ----
    "cnn": """
net = cnn(); opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
for step in range(8):
    opt.zero_grad(); nn.functional.cross_entropy(net(images()), labels()).backward(); opt.step()
""",
    "losses_after_backward": """
net = cnn(); opt = torch.optim.AdamW(net.parameters())
losses = []
for step in range(10):
    loss = nn.functional.cross_entropy(net(images()), labels())
    opt.zero_grad(); loss.backward(); opt.step(); losses.append(loss)
""",
    "varying_lengths": """
net = mlp(); opt = torch.optim.AdamW(net.parameters())
for n in (100, 400, 250, 600, 300, 700, 150, 800, 900, 1000, 1100, 1200):
    y = net(torch.randn(n, 512, device="cuda")); loss = y.square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    "longer_and_longer": """
net = mlp(); opt = torch.optim.AdamW(net.parameters())
for n in range(1, 13):
    y = net(torch.randn(200 * n, 512, device="cuda")); loss = y.square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    "loop_over_models": """
models = []
for width in (128, 256, 384, 512, 640, 768):
    net = mlp(width); opt = torch.optim.AdamW(net.parameters()); models.append(net)
    for step in range(2):
        opt.zero_grad(); net(torch.randn(64, width, device="cuda")).square().mean().backward(); opt.step()
""",
    "calls_of_models": """
with torch.no_grad():
    for width in (128, 256, 512, 1024, 2048, 4096):
        net = mlp(width); out = net(torch.randn(64, width, device="cuda"))
""",
    "last_call_is_larger": """
unet, vae = mlp(), nn.ConvTranspose2d(4, 16, 8, stride=8).cuda()
with torch.no_grad():
    x = torch.randn(64, 512, device="cuda")
    for step in range(8): x = unet(x)
    picture = vae(torch.randn(8, 4, 128, 128, device="cuda"))
""",
    "accumulation": """
net = cnn(); opt = torch.optim.AdamW(net.parameters())
for step in range(24):
    (nn.functional.cross_entropy(net(images()), labels()) / 4).backward()
    if step % 4 == 3: opt.step(); opt.zero_grad()
""",
    "evaluation_between": """
net = cnn(); opt = torch.optim.AdamW(net.parameters())
for epoch in range(4):
    net.train()
    for step in range(4):
        opt.zero_grad(); nn.functional.cross_entropy(net(images()), labels()).backward(); opt.step()
    net.eval(); results = []
    with torch.no_grad():
        for step in range(6): results.append(net[:5](images()))
""",
    "warm_up": """
net = cnn(); opt = torch.optim.AdamW(net.parameters())
schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: min(1.0, (step + 1) / 5))
for step in range(10):
    opt.zero_grad(); nn.functional.cross_entropy(net(images()), labels()).backward(); opt.step(); schedule.step()
""",
    "ema_starts_late": """
net = mlp(); opt = torch.optim.AdamW(net.parameters()); ema = None
for step in range(12):
    opt.zero_grad(); net(torch.randn(64, 512, device="cuda")).square().mean().backward(); opt.step()
    if step == 5: ema = copy.deepcopy(net)
    elif step > 5:
        with torch.no_grad():
            for a, b in zip(ema.parameters(), net.parameters()): a.lerp_(b, 0.1)
""",
    "late_state": """
nets = [nn.Linear(1024, 1024).cuda() for _ in range(10)]
opt = torch.optim.Adam([p for net in nets for p in net.parameters()], amsgrad=True)
for step in range(10):
    opt.zero_grad(); nets[step](torch.randn(64, 1024, device="cuda")).square().mean().backward(); opt.step()
""",
    "late_momentum": """
nets = [nn.Linear(1024, 1024).cuda() for _ in range(10)]
opt = torch.optim.SGD([p for net in nets for p in net.parameters()], 0.1, momentum=0.9, foreach=False)
for step in range(10):
    opt.zero_grad(set_to_none=False)
    sum(net(torch.randn(64, 1024, device="cuda")).square().mean() for net in nets[:step + 1]).backward(); opt.step()
""",
    "replay_buffer": """
from collections import deque
net = cnn(); opt = torch.optim.AdamW(net.parameters()); seen = deque(maxlen=5)
for step in range(16):
    x = images(); seen.append(nn.functional.interpolate(x, scale_factor=2))
    opt.zero_grad(); nn.functional.cross_entropy(net(x), labels()).backward(); opt.step()
""",
    "lbfgs": """
net = mlp(128, 2); opt = torch.optim.LBFGS(net.parameters(), history_size=100, max_iter=1)
x = torch.randn(64, 128, device="cuda")
def closure():
    opt.zero_grad(); loss = net(x).square().mean(); loss.backward(); return loss
for step in range(12): opt.step(closure)
""",
    "one_pass": """
net = mlp(1024, 24)
net(torch.randn(64, 1024, device="cuda")).square().mean().backward()
""",
    "few_steps": """
net = mlp(); opt = torch.optim.AdamW(net.parameters()); kept = []
for step in range(4):
    kept.append(torch.randn(256, 512, device="cuda"))
    opt.zero_grad(); net(kept[-1]).square().mean().backward(); opt.step()
""",
}


# A sentence about growth.
GROWTH = r"The loop at [^\n]* keeps [^\n]*|[^\n]* makes a tensor anew [^\n]*|[^\n]* were never released[^\n]*"


def line_of(program):
    for number, line in enumerate((COMMON + program).splitlines(), 1):
        if line.endswith("# grows"):
            return number
    return None


def check(tidemark, python, name):
    """Sentences that are wrong."""
    program = COMMON + PROGRAMS[name]
    pathlib.Path(f"{name}.py").write_text(program)
    command = [tidemark, "run", "--device", "virtual:rtx4090", "-o", f"{name}.json.gz", "--html", f"{name}.html"]
    ran = subprocess.run([*command, "--", python, f"{name}.py"], capture_output=True, text=True)
    if ran.returncode != 0:
        return [f"{name}: status {ran.returncode}: {ran.stderr}"]
    explained = subprocess.run([tidemark, "explain", f"{name}.json.gz"], capture_output=True, text=True, check=True).stdout
    by_run = re.findall(rf"tidemark run: (?:Also: )?({GROWTH})", ran.stderr)
    by_explain = re.findall(rf"(?:^|\n)(?:Also: )?({GROWTH})", explained)
    wrong = [f"{name}: run {by_run}, explain {by_explain}"] if by_run != by_explain else []
    wrong += [f"{name}: {fault}" for fault in same_answer.differences(tidemark, ran.stderr, [f"{name}.json.gz"])]
    line = line_of(PROGRAMS[name])
    if line is None:
        return wrong + [f"{name}: {words}" for words in by_run] + re.findall("[^\n]*still grows[^\n]*", ran.stderr)
    return wrong + ([] if by_run and re.search(rf"\b{name}\.py:{line}\b", by_run[0]) else [f"{name}: line {line}, not {by_run}"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tidemark", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    tidemark = str(pathlib.Path(arguments.tidemark).resolve())
    names = arguments.names or list(PROGRAMS)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        wrong = [words for name in names for words in check(tidemark, arguments.python, name)]
    print("\n".join(wrong) or f"growth: {len(names)} programs, each answer is right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
