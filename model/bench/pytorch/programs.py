"""The programs that beside_pytorch.py runs: finding them, their environment, their samples."""

from __future__ import annotations

import dataclasses
import gzip
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Mapping

from samples import median

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STEPS = HERE / "pytorch_steps.py"
REFERENCE = ROOT / "tests" / "reference" / "tiny_fp32.safetensors"
DEBIAN_PYTHON = "/usr/bin/python3"  # the one that Debian's python3-torch belongs to
USAGE_STATUS = 2  # tidemark's, of a request that this build refuses


class BenchError(Exception):
    """An error that ends the measurement, with a message of one line."""


class Refused(BenchError):
    """tidemark refused the request, because this build has no such operators."""


def find_tidemark(path: str) -> Path:
    """The program, or how to build it."""
    program = Path(path)
    if not os.access(program, os.X_OK) or program.is_dir():
        raise BenchError(
            f"{path}: no such program; build it with: "
            "cmake --preset release && cmake --build --preset release"
        )
    return program.resolve()


def has_torch(python: str) -> bool:
    """Whether an interpreter has PyTorch; it is not loaded."""
    look = "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is None)"
    try:
        return subprocess.run([python, "-c", look], capture_output=True).returncode == 0
    except OSError:
        return False


def find_python(wanted: str | None) -> str:
    """The interpreter that has PyTorch: the wanted one, or this one, or Debian's."""
    candidates = [wanted] if wanted is not None else [sys.executable, DEBIAN_PYTHON]
    for candidate in candidates:
        if has_torch(candidate):
            return candidate
    raise BenchError(
        f"no PyTorch in {' or '.join(candidates)}: install it "
        "(Debian: apt-get install python3-torch), or name another interpreter with --python"
    )


def environment(threads: int, wait_policy: str) -> dict[str, str]:
    """The environment of both sides: equal thread counts and the same wait policy."""
    variables = dict(os.environ)
    for name in ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "MKL_NUM_THREADS"):
        variables.pop(name, None)
    variables["OMP_NUM_THREADS"] = str(threads)
    variables.pop("OMP_WAIT_POLICY", None)
    if wait_policy != "default":
        variables["OMP_WAIT_POLICY"] = wait_policy
    return variables


class Meter:
    """How many cores other programs kept busy while this process waited for a child."""

    def __init__(self) -> None:
        self.begin = self._now()

    @staticmethod
    def _now() -> tuple[float, float, float]:
        """Seconds of the machine's busy cores, of this process's children, and of the clock."""
        ticks = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]
        user, nice, system, _idle, _iowait, irq, softirq, steal = (int(tick) for tick in ticks)
        busy_s = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return busy_s, used.ru_utime + used.ru_stime, time.monotonic()

    def other_cores(self) -> float:
        """Since this meter was made; children that have ended are not others."""
        busy_s, children_s, wall_s = (b - a for a, b in zip(self.begin, self._now()))
        return max(0.0, busy_s - children_s) / max(wall_s, 1e-9)


def run(command: list[str], variables: Mapping[str, str]) -> str:
    """The standard output of a program that must succeed."""
    done = subprocess.run(command, env=variables, capture_output=True, text=True)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["no message"]
        kind = Refused if done.returncode == USAGE_STATUS else BenchError
        raise kind(f"{lines[-1]} (exit status {done.returncode} of {Path(command[0]).name})")
    return done.stdout


@dataclasses.dataclass
class Result:
    """What one process measured."""

    phases: dict[str, list[float]]  # host's ms of each measured step, by phase
    n_parameters: int
    details: dict[str, Any]  # versions and the like, as the program says them
    other_cores: float  # cores that other programs kept busy meanwhile
    peak_bytes: int | None = None  # allocated at most; None: not known
    reserved_bytes: int | None = None  # bought from the device at most
    recording: float | None = None  # how much longer a step takes when recorded, as a share


def phases_of(entries: list[dict[str, Any]], clock: str = "host_ms") -> dict[str, list[float]]:
    """The samples of a document's timing.phases, by the host's or the device's clock."""
    phases = {entry["name"]: [float(sample) for sample in entry[clock]] for entry in entries}
    if any(sample < 0 for samples in phases.values() for sample in samples):
        raise BenchError("a phase has no time: was it run on a device that does not compute?")
    return phases


def cost_of_recording(timing: Mapping[str, Any]) -> float | None:
    """From the steps with and without it: the median of the pairs' ratios, less 1."""
    pairs = timing.get("recorder_pairs")
    if not pairs or not pairs["recorded_ms"]:
        return None
    both = zip(pairs["recorded_ms"], pairs["unrecorded_ms"], strict=True)
    return median([on / off for on, off in both]) - 1.0


def run_tidemark(
    command: list[str],
    variables: Mapping[str, str],
    snapshot: Path,
    clock: str | None = "host_ms",
) -> Result:
    """Runs tidemark profile and reads its snapshot; clock None: nothing was timed."""
    meter = Meter()
    run([*command, "-o", str(snapshot)], variables)
    other_cores = meter.other_cores()
    with gzip.open(snapshot, "rt", encoding="utf-8") as file:
        document = json.load(file)
    snapshot.unlink()
    return Result(
        phases={} if clock is None else phases_of(document["timing"]["phases"], clock),
        n_parameters=document["run"]["model"]["n_parameters"],
        details={
            "tool": document["tool"],
            "host": document["run"]["host"],
            "device": document["devices"][0],
        },
        other_cores=other_cores,
        peak_bytes=document["summary"][0]["max"]["allocated"]["bytes"],
        reserved_bytes=document["summary"][0]["max"]["reserved"]["bytes"],
        recording=cost_of_recording(document["timing"]),
    )


def run_pytorch(
    command: list[str], variables: Mapping[str, str], clock: str = "host_ms"
) -> Result:
    """Runs pytorch_steps.py and reads what it prints."""
    meter = Meter()
    printed = run(command, variables)
    other_cores = meter.other_cores()
    document = json.loads(printed)
    return Result(
        phases=phases_of(document["phases"], clock),
        n_parameters=document["n_parameters"],
        details=document,
        other_cores=other_cores,
        peak_bytes=document["peak_allocated_bytes"],
    )


def check_same_model(
    tidemark: Path, python: str, attention: str, variables: Mapping[str, str]
) -> str:
    """Both programs against one recorded case; a sentence that says how close PyTorch's side is."""
    run([str(tidemark), "check-reference", str(REFERENCE)], variables)
    command = [python, str(STEPS), "--check-reference", str(REFERENCE), "--attention", attention]
    found = json.loads(run(command, variables))
    if not found["agrees"]:
        raise BenchError(f"the PyTorch model is not the recorded one: {found['errors']}")
    gradients = max(errors["gradients"] for errors in found["errors"].values())
    return (
        f"Both programs reproduce the recorded case {REFERENCE.name}: loss, every gradient and the "
        f"steps of AdamW (PyTorch here: gradients within {gradients:.1e} in the L2 norm)."
    )


def cublas_of(details: Mapping[str, Any]) -> str | None:
    """The file of the cuBLAS that a PyTorch process has loaded; None: it has no file of its own."""
    files = [file for file in details["blas"] if Path(file).name.startswith("libcublas.so")]
    return files[0] if files else None


def check_gpu(
    tidemark: Path, python: str, device: str, variables: dict[str, str], folder: Path
) -> None:
    """Runs both sides on a tiny model first, to report anything missing before hours of runs.

    Products are most of a step, and two builds of cuBLAS choose different kernels for them. So
    tidemark opens the file that PyTorch has loaded, unless TIDEMARK_CUBLAS names another.
    """
    tiny = ["--d-model", "64", "--layers", "1", "--heads", "2", "--d-ff", "96", "--vocab", "61"]
    tiny += ["--batch", "1", "--context", "16", "--warmup", "0", "--steps", "1"]
    found = run_pytorch([python, str(STEPS), "--device", device, *tiny], variables, "device_ms")
    cublas = cublas_of(found.details)
    if cublas is not None:
        variables.setdefault("TIDEMARK_CUBLAS", cublas)
    command = [str(tidemark), "profile", "--device", device, *tiny]
    run_tidemark(command, variables, folder / "check.json.gz", "device_ms")
