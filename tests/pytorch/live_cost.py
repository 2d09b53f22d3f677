"""The cost of live recording for a training step, compared with PyTorch's own history.

    TIDEMARK_VIRTUAL_CARDS=h100-80 LD_PRELOAD=libtidemark_live.so:libtidemark_virtual_cuda.so \
        python live_cost.py ROUNDS LOG PACKAGE

A step of GPT-2 small is timed under each way of recording, in turns and in random order, in one process. The kernels
of a virtual card do nothing, so only the processor's time of a step remains: on a GPU most of it passes while kernels
run. ROUNDS: steps of each way. LOG: the file for the log. PACKAGE: the folder that holds the package `tidemark`.
"""
import ctypes
import importlib
import os
import random
import statistics
import sys
import time

import torch
import torch.nn as nn

PYTHON, NATIVE = 1, 2  # programs/live/state_friend.h
CONTEXT, BATCH, WIDTH, HEADS, LAYERS, WORDS = 1024, 2, 768, 12, 12, 50257
WARM_UP = 5


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (part.view(b, t, HEADS, c // HEADS).transpose(1, 2) for part in self.qkv(self.ln_1(x)).split(c, 2))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.ln_2(x))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(WORDS, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.h = nn.ModuleList(Block() for _ in range(LAYERS))
        self.ln_f, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, x):
        y = self.wte(x) + self.wpe(torch.arange(x.shape[1], device=x.device))
        for block in self.h:
            y = block(y)
        return self.head(self.ln_f(y))


class Live:
    """The preloaded library, which is attached half way through."""

    def __init__(self, log, package):
        os.environ["TIDEMARK_LIVE"] = log
        os.environ["TIDEMARK_LIVE_STACKS"] = "both"
        os.environ["TIDEMARK_LIVE_BYTES"] = str(1 << 30)
        sys.path.insert(0, package)
        live, names, steps = (importlib.import_module(f"tidemark.{name}") for name in ("live", "live_names", "steps"))
        self.live = live.find()
        assert self.live.attach() == live.ATTACHED
        self.pause = self.live.library.tidemark_live_pause
        self.pause.argtypes = [ctypes.c_int, ctypes.c_int]
        self.marks = steps.Marks(self.live)
        self.gates = [Gate(self.marks), Gate(names.LiveNames(self.marks))]
        self.live.watch_modules(torch, lambda *call: self.gates[1].look_at_call(*call))
        self.steps = steps

    def way(self, stacks):
        return lambda: self.pause(0, stacks), self.off

    def off(self):
        self.pause(1, 0)

    def with_labels(self):
        """As `tidemark run` records: also steps, phases and the names of tensors."""
        self.steps.watch(*self.gates, lambda: None)

        def switch(is_on):
            for gate in self.gates:
                gate.__dict__["is_on"] = is_on

        def on():
            self.pause(0, PYTHON)
            switch(True)

        def off():
            switch(False)
            self.off()

        return on, off


class Gate:
    """Replaces the marks or the names. While it is off, their functions do nothing.

    So the hooks are set once, as `tidemark run` sets them. To change a method of a class of modules between two steps
    would cost more than what is measured: the interpreter forgets what it has learnt of the class.
    """

    def __init__(self, of):
        self.__dict__.update(of=of, is_on=False)

    def __getattr__(self, name):
        value = getattr(self.of, name)
        return value if self.is_on or not callable(value) else lambda *arguments, **named: None

    def __setattr__(self, name, value):
        setattr(self.of, name, value)


def history(stacks):
    record = torch.cuda.memory._record_memory_history
    return (lambda: record(max_entries=sys.maxsize, stacks=stacks)), (lambda: record(None))


def measure(step, ways, n_rounds):
    """Processor time of the steps of each way, in ms."""
    times = {name: [] for name in ways}
    for _ in range(n_rounds):
        for name in random.sample(sorted(ways), len(ways)):
            on, off = ways[name]
            on()
            torch.cuda.synchronize()
            begin = time.process_time()
            step()
            torch.cuda.synchronize()
            times[name].append((time.process_time() - begin) * 1e3)
            off()
    return times


def tell(times, base):
    median = statistics.median(times[base])
    for name in times:
        quartiles = statistics.quantiles(times[name], n=4)
        over = 100 * (statistics.median(times[name]) / median - 1)
        print(f"{name:34} {statistics.median(times[name]):7.2f} ms ({quartiles[0]:.2f} to {quartiles[2]:.2f})"
              f"  {over:+5.1f} %")


def main():
    n_rounds = int(sys.argv[1])
    random.seed(1)
    net = Transformer().cuda()
    optimizer = torch.optim.AdamW(net.parameters())

    def step():
        x = torch.randint(0, WORDS, (BATCH, CONTEXT), device="cuda")
        loss = nn.functional.cross_entropy(net(x).view(-1, WORDS), x.view(-1))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    nothing = (lambda: None, lambda: None)
    for _ in range(WARM_UP):
        step()
    first = {"nothing attached": nothing, "PyTorch history, python": history("python"),
             "PyTorch history, all": history("all")}
    before = measure(step, first, n_rounds)
    live = Live(sys.argv[2], sys.argv[3])
    live.off()
    second = {"attached, not recording": nothing, "no stacks": live.way(0), "Python, modules": live.way(PYTHON),
              "Python, modules, labels, steps": live.with_labels(), "native": live.way(NATIVE),
              "Python, native, modules": live.way(PYTHON | NATIVE), "PyTorch history, python ": history("python"),
              "PyTorch history, all ": history("all")}
    measure(step, second, WARM_UP)
    rows = live.live.n_rows()
    after = measure(step, second, n_rounds)
    print(f"torch {torch.__version__}, {n_rounds} steps each, processor time: median (quartiles), over the first row")
    tell(before, "nothing attached")
    tell(after, "attached, not recording")
    print(f"{(live.live.n_rows() - rows) / n_rounds / 5:.0f} rows a step")


if __name__ == "__main__":
    main()
