#!/usr/bin/env python3
"""Run and time training steps of the course's transformer in PyTorch; print the samples as JSON.

The options are those of `tidemark profile`, and so is the split of a step: forward (with the
loss), backward, optimizer; the step is all of it with the loss brought to the host. Gradients are
released after the step, outside the timing, as in tidemark. With --check-reference nothing is timed:
the model is compared with recorded results, the same files that `tidemark check-reference` reads.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import re
import sys
import time
from pathlib import Path
from typing import Any, Callable, ContextManager

from shapes import Shape, add_shape_options, count, count_or_none, shape_from

try:
    import torch
    import pytorch_model
    import reference_check
except ImportError as missing:
    sys.exit(f"pytorch_steps.py: {missing} (Debian: apt-get install python3-torch)")

PRECISIONS = ("fp32", "tf32", "bf16-mixed", "bf16-true")
MODES = ("forward", "forward-backward", "train")
PHASES = ("forward", "backward", "optimizer", "step")


def parse_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_shape_options(parser)
    parser.add_argument("--mode", choices=MODES, default="train")
    parser.add_argument("--precision", choices=PRECISIONS, default="fp32")
    parser.add_argument("--device", default="cpu", help="cpu or cuda[:N]; default %(default)s")
    parser.add_argument("--attention", choices=pytorch_model.ATTENTIONS, default="naive")
    parser.add_argument("--optimizer", choices=pytorch_model.OPTIMIZERS, default="in-place")
    parser.add_argument("--compile", action="store_true", help="torch.compile the model")
    parser.add_argument("--threads", type=count, help="default: as PyTorch chooses")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--warmup", type=count_or_none, default=5, metavar="N")
    parser.add_argument("--steps", type=count, default=10, metavar="N")
    parser.add_argument("--check-reference", metavar="FILE.safetensors")
    return parser.parse_args()


def open_device(name: str) -> torch.device:
    """The device of an option; ValueError where it is not here."""
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise ValueError(f"--device {name}: it is cpu or cuda[:N]")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ValueError(f"--device {name}: PyTorch {torch.__version__} finds no such GPU here")
    return device


class Clock:
    """Times intervals, also nested ones: by the host's clock, and on CUDA between two events."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.host_ms: dict[str, list[float]] = {}
        self.device_ms: dict[str, list[float]] = {}
        self._events: list[tuple[str, Any, Any]] = []

    def synchronize(self) -> None:
        """Waits for the device; on a CPU there is nothing to wait for."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def _mark(self) -> Any:
        if self.device.type != "cuda":
            return None
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    @contextlib.contextmanager
    def interval(self, name: str):
        """Times the enclosed code; on CUDA, host_ms is the time to submit it."""
        begin, begin_ns = self._mark(), time.perf_counter_ns()
        yield
        end = self._mark()
        self.host_ms.setdefault(name, []).append((time.perf_counter_ns() - begin_ns) / 1e6)
        if end is not None:
            self._events.append((name, begin, end))

    def collect(self) -> None:
        """Reads the device's times of intervals since the last call; after a synchronisation."""
        for name, begin, end in self._events:
            self.device_ms.setdefault(name, []).append(begin.elapsed_time(end))
        self._events.clear()

    def clear(self) -> None:
        """Forgets all samples: the warm-up's."""
        self.host_ms, self.device_ms = {}, {}


def numeric_context(precision: str, device: torch.device) -> Callable[[], ContextManager]:
    """Sets what the precision needs globally; returns what surrounds each forward pass."""
    if precision == "tf32" and device.type != "cuda":
        raise ValueError("--precision tf32 needs --device cuda")
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"
    if precision == "bf16-mixed":
        return lambda: torch.autocast(device.type, dtype=torch.bfloat16)
    return contextlib.nullcontext


def made_on(device: torch.device) -> ContextManager:
    """Tensors that are made inside lie on the device from the start.

    One or two threads of a CPU take minutes for the random numbers of a large model, a GPU
    milliseconds. They are other numbers, which no figure depends on: the weights of no two
    processes are compared. PyTorch before 2.0 cannot, and makes them on the CPU.
    """
    return device if hasattr(device, "__enter__") else contextlib.nullcontext()


class Training:
    """A model, its optimizer and one batch of random tokens on a device."""

    def __init__(self, shape: Shape, options: argparse.Namespace) -> None:
        torch.manual_seed(options.seed)
        self.device = open_device(options.device)
        self.mode = options.mode
        self.context = numeric_context(options.precision, self.device)
        with made_on(self.device):
            model = pytorch_model.Transformer(shape, options.attention).to(self.device)
        if options.precision == "bf16-true":
            for parameter in model.parameters():  # not the buffers: RoPE's table stays fp32
                parameter.data = parameter.data.to(torch.bfloat16)
        self.parameters = list(model.parameters())
        in_place = options.optimizer == "in-place"
        self.optimizer = pytorch_model.AdamW(self.parameters, in_place=in_place)
        self.model = compiled(model) if options.compile else model
        size = (shape.batch, shape.context)
        self.tokens = torch.randint(0, shape.vocab, size, device=self.device)
        self.targets = torch.randint(0, shape.vocab, size, device=self.device)
        self.clock = Clock(self.device)

    def step(self) -> float | None:
        """One step; returns the loss, where the mode has one."""
        if self.mode == "forward":
            with torch.no_grad(), self.clock.interval("step"):
                with self.clock.interval("forward"), self.context():
                    self.model(self.tokens)
                self.clock.synchronize()
            self.clock.collect()
            return None
        with self.clock.interval("step"):
            with self.clock.interval("forward"), self.context():
                loss = pytorch_model.mean_loss(self.model(self.tokens), self.targets)
            with self.clock.interval("backward"):
                loss.backward()
            if self.mode == "train":
                with self.clock.interval("optimizer"):
                    self.optimizer.step()
            value = loss.item()
        self.clock.synchronize()
        self.clock.collect()
        self.optimizer.zero_grad()
        return value


def compiled(model: torch.nn.Module) -> torch.nn.Module:
    """The model through torch.compile, which PyTorch 2.0 brought."""
    if not hasattr(torch, "compile"):
        raise ValueError(f"--compile: PyTorch {torch.__version__} cannot, 2.0 and later can")
    return torch.compile(model)


def blas_libraries() -> list[str]:
    """The files of the linear algebra libraries that this process has loaded."""
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return []
    files = set(re.findall(r"\S*/lib[^/\s]*(?:blas|mkl)[^/\s]*", maps.read_text()))
    return sorted(files)


def cublas_version(files: list[str]) -> str | None:
    """The version of the cuBLAS among the loaded files, as MAJOR.MINOR.PATCH; None: there is none.

    The library is asked itself: torch.version.cuda is what PyTorch was built with.
    """
    for file in files:
        if Path(file).name.startswith("libcublas.so"):
            ask = ctypes.CDLL(file).cublasGetProperty
            numbers = [ctypes.c_int(-1) for _ in range(3)]  # of MAJOR_VERSION, MINOR_, PATCH_LEVEL
            if all(ask(which, ctypes.byref(number)) == 0 for which, number in enumerate(numbers)):
                return ".".join(str(number.value) for number in numbers)
    return None


def peak_allocated_bytes(device: torch.device) -> int | None:
    """The peak of allocated bytes of the caching allocator; a CPU has none."""
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Warm-up and measured steps; the document that is printed."""
    shape = shape_from(options)
    training = Training(shape, options)
    losses = [training.step() for _ in range(options.warmup)]
    training.clock.clear()
    losses += [training.step() for _ in range(options.steps)]
    libraries = blas_libraries()
    return {
        "torch": torch.__version__,
        "python": sys.version.split()[0],
        "threads": torch.get_num_threads(),
        "blas": libraries,
        "cublas": cublas_version(libraries),
        "n_parameters": sum(parameter.numel() for parameter in training.parameters),
        "peak_allocated_bytes": peak_allocated_bytes(training.device),
        "first_loss": losses[0],
        "last_loss": losses[-1],
        "phases": [
            {
                "name": name,
                "host_ms": training.clock.host_ms[name],
                "device_ms": training.clock.device_ms.get(name, training.clock.host_ms[name]),
            }
            for name in PHASES
            if name in training.clock.host_ms
        ],
    }


def main() -> None:
    """Runs or checks, as the options say."""
    options = parse_options()
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    try:
        if options.check_reference is not None:
            result = reference_check.check(Path(options.check_reference), options.attention)
        else:
            result = run(options)
    except (ValueError, OSError) as error:
        sys.exit(f"pytorch_steps.py: {error}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
