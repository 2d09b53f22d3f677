"""Models of timm, measured as its benchmark does: timm_models.py ROWS

A row's config is "MODEL|train b384 224 amp": what runs, the batch and the side of the images. "largest batch" answers with the
largest batch of the ladder that trains; other rows with the time of a step in milliseconds, by the host's clock.
"""
import contextlib
import gc
import re
import sys
import time

import timm
import torch

LADDER = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
NEAR_BYTES = 3 << 29  # 1.5 GiB: what a context and the work areas of a card take that was not measured
REPETITIONS = 3
DRAWN = ("normal_", "uniform_", "erfinv_")


@contextlib.contextmanager
def undrawn_weights():
    """Random weights of large models take minutes, and no size or time depends on them."""
    kept = {name: getattr(torch.Tensor, name) for name in DRAWN}
    truncated = torch.nn.init._no_grad_trunc_normal_  # which draws again until all numbers are within the bounds
    for name in DRAWN:
        setattr(torch.Tensor, name, lambda tensor, *args, **more: tensor)
    torch.nn.init._no_grad_trunc_normal_ = lambda tensor, *args, **more: tensor
    yield
    for name, method in kept.items():
        setattr(torch.Tensor, name, method)
    torch.nn.init._no_grad_trunc_normal_ = truncated


def model_of(name):
    with undrawn_weights():
        return timm.create_model(name, pretrained=False)


class Training:
    """As in 2022: channels-last, autocast without a scaler; gradients are set to zero, not dropped, and SGD has no foreach."""

    def __init__(self, name, batch, side):
        self.model = model_of(name).to("cuda", memory_format=torch.channels_last).train()
        self.images = torch.randn(batch, 3, side, side, device="cuda").contiguous(memory_format=torch.channels_last)
        classes = self.model.num_classes or 1000  # some weights of timm are those of a backbone without a classifier
        self.labels = torch.empty(batch, device="cuda", dtype=torch.long).random_(classes)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4, momentum=0.9, nesterov=True, foreach=False)
        self.loss = torch.nn.CrossEntropyLoss().to("cuda")

    def step(self):
        self.optimizer.zero_grad(set_to_none=False)
        with torch.amp.autocast("cuda", dtype=torch.float16):
            output = self.model(self.images)
            output = output[0] if isinstance(output, tuple) else output
            self.loss(output, self.labels).backward()
        self.optimizer.step()


class Inference:
    def __init__(self, name, batch, side):
        self.model = model_of(name).to("cuda").eval()
        self.images = torch.randn(batch, 3, side, side, device="cuda")

    def step(self):
        with torch.no_grad(), torch.amp.autocast("cuda", dtype=torch.float16):
            self.model(self.images)


def free_all():
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()


def missing_bytes(message):
    """How many bytes a failed request lacked, by PyTorch's message."""
    units = {"MiB": 1 << 20, "GiB": 1 << 30, "KiB": 1 << 10, "bytes": 1}
    found = [float(number) * units[unit] for number, unit in re.findall(r"([\d.]+) (bytes|[KMG]iB)", message)]
    asked, _, free = (found + [0, 0, 0])[:3]
    return asked - free


def trains(name, batch, side):
    """Whether two steps fit, and the bytes that are left, or lacking if they are negative."""
    try:
        training = Training(name, batch, side)
        for _ in range(2):
            training.step()
        return True, torch.cuda.mem_get_info()[1] - torch.cuda.max_memory_reserved()
    except torch.cuda.OutOfMemoryError as why:
        return False, -missing_bytes(str(why))
    finally:
        training = None
        free_all()


def largest_batch(name, batch, side):
    """Beginning at the published batch. With what is left there and lacking at the next step."""
    at = LADDER.index(batch)
    fits, left = trains(name, batch, side)
    free_all()
    if fits:
        more, lacking = trains(name, LADDER[at + 1], side)
        return LADDER[at + 1] if more else batch, lacking if more else left
    lacking = left
    while at > 0 and not fits:
        at -= 1
        fits, _ = trains(name, LADDER[at], side)
        free_all()
    return (LADDER[at] if fits else 0), lacking


def step_time(program):
    """In milliseconds: each step with its synchronisation, after one that is not measured. The least is free of a busy machine."""
    times = []
    for _ in range(REPETITIONS + 1):
        begin = time.perf_counter()
        program.step()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - begin))
    return min(times[1:])


def answer(config, what, value):
    """The answer and a note."""
    name, mode, batch, side = re.match(r"([^|]+)\|(\w+) b(\d+) (\d+) amp$", config).groups()
    batch, side = int(batch), int(side)
    if what.startswith("largest batch"):
        found, left = largest_batch(name, int(float(value)), side)
        near = "near the limit: " if abs(left) < NEAR_BYTES else ""
        return f"{found}\timages", f"{near}{abs(left) / 2**20:.0f} MiB {'left' if left >= 0 else 'lacking'}"
    program = (Training if mode == "train" else Inference)(name, batch, side)
    return f"{step_time(program):.6g}\tms", ""


def main():
    torch.backends.cudnn.benchmark = True  # as timm's benchmark
    if "--explicit-attention" in sys.argv:  # as before PyTorch 2.0
        timm.layers.set_fused_attn(False)
    for line in open(sys.argv[1]):
        key, _, config, _, what, value = line.rstrip("\n").split("\t")
        note = ""
        try:
            found, note = answer(config, what, value)
        except Exception as why:  # a model that cannot run is an answer
            found = f"FAILED\t{type(why).__name__}: {' '.join(str(why).split())[:150]}"
        print(f"ROW\t{key}\t{what}\t{found}", flush=True)
        if note:
            print(f"NOTE\t{key}\t{what}\t{note}", flush=True)
        free_all()


if __name__ == "__main__":
    main()
