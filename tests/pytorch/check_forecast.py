"""`tidemark forecast` beside the same model run by PyTorch on a virtual card: check_forecast.py TIDEMARK PYTHON LIBRARY

PYTHON has a CUDA build of PyTorch; LIBRARY is the virtual card. Allocated and reserved peaks must be equal to the byte.
--full adds larger sizes.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
N_STEPS = 15  # as many as the forecast has
ODD = {"size": "custom", "d-model": 96, "d-ff": 200, "layers": 3, "heads": 6, "vocab": 777}
WIDE = {"size": "custom", "d-model": 512, "d-ff": 4096, "layers": 2, "heads": 2, "vocab": 40000}


def case(size, context, **more):
    named = size if isinstance(size, dict) else {"size": size}
    return {"batch": 4, "context": context, "precision": "fp32", "edition": 2026, "mode": "train", "keep_graph": False,
            "no_head": False, "steps": N_STEPS, "device": "h100-80", **named, **more}


CASES = [
    case("small", 128), case("small", 128, precision="bf16-mixed"), case("small", 256, batch=1),
    case("small", 512, batch=3, precision="bf16-mixed", device="a100-40"), case("small", 128, edition=2025),
    case("small", 64, edition=2025, precision="bf16-mixed", device="rtx4090"), case("medium", 128),
    case("medium", 128, precision="bf16-mixed"), case("medium", 256, batch=2, mode="forward-backward"),
    case(ODD, 33), case(ODD, 100, batch=7, precision="bf16-mixed"), case(ODD, 257, batch=1, edition=2025),
    case(WIDE, 96, batch=5), case(WIDE, 64, precision="bf16-mixed"),
    case("small", 128, mode="forward", keep_graph=True), case("small", 128, mode="forward"),
    case("small", 128, mode="forward", keep_graph=True, precision="bf16-mixed"),
    case("small", 256, mode="forward", precision="bf16-mixed"), case("small", 128, mode="forward", edition=2025),
    case("small", 128, mode="forward", no_head=True), case("small", 128, mode="forward", no_head=True, edition=2025),
    case("small", 256, mode="forward", no_head=True, precision="bf16-mixed"),
    case(WIDE, 96, mode="forward", no_head=True, keep_graph=True),
    case(ODD, 33, mode="forward", no_head=True, keep_graph=True, precision="bf16-mixed"),
]
LARGER = [case(size, context, precision=precision, edition=edition, device="h200")
          for size, context in (("large", 512), ("xl", 256), ("2.7B", 256)) for precision in ("fp32", "bf16-mixed")
          for edition in (2025, 2026)] + [case("medium", 1024, precision="bf16-mixed"), case("medium", 512)]
FORECAST_OPTIONS = ("batch", "context", "precision", "edition", "mode", "d-model", "d-ff", "layers", "heads", "vocab")


def title(of):
    names = [name.replace("_", "-") for name in ("keep_graph", "no_head") if of[name]]
    names += [str(of[k]) for k in ("mode", "size", "context", "batch", "precision", "edition", "device")]
    return " ".join(names)


def forecast(tidemark, of):
    command = [tidemark, "forecast", "--format", "json", "--device", "virtual:" + of["device"]]
    for name in FORECAST_OPTIONS:
        if name in of:
            command += ["--" + name, str(of[name])]
    if of["size"] != "custom":
        command += ["--size", of["size"]]
    command += ["--" + name.replace("_", "-") for name in ("keep_graph", "no_head") if of[name]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    figures = json.loads(done.stdout)["figures"]
    return {k: figures[k] for k in ("allocated_peak_bytes", "reserved_peak_bytes")}


def by_pytorch(python, library, cases):
    """The figures of each case; one process for each card, because a card is chosen once."""
    figures = [None] * len(cases)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
            os.symlink(library, Path(folder, name))
        for card in sorted({c["device"] for c in cases}):
            chosen = [i for i, c in enumerate(cases) if c["device"] == card]
            around = {**os.environ, "LD_PRELOAD": library, "LD_LIBRARY_PATH": folder, "TIDEMARK_VIRTUAL_CARDS": card}
            program = [python, "-B", str(HERE / "plain_training.py"), json.dumps([cases[i] for i in chosen])]
            done = subprocess.run(program, env=around, stdout=subprocess.PIPE, text=True, check=True)
            for i, line in zip(chosen, done.stdout.splitlines(), strict=True):
                figures[i] = json.loads(line)
    return figures


def main():
    options = argparse.ArgumentParser()
    options.add_argument("tidemark")
    options.add_argument("python")
    options.add_argument("library")
    options.add_argument("--full", action="store_true")
    chosen = options.parse_args()
    cases = CASES + (LARGER if chosen.full else [])
    n_different = 0
    for of, real in zip(cases, by_pytorch(chosen.python, os.path.realpath(chosen.library), cases), strict=True):
        ours = forecast(chosen.tidemark, of)
        same = ours == real
        n_different += not same
        text = " and ".join(f"{real[k]}" + ("" if ours[k] == real[k] else f" (forecast {ours[k] - real[k]:+d})")
                            for k in ("allocated_peak_bytes", "reserved_peak_bytes"))
        print(f"{'equal' if same else 'DIFFERENT':9} {title(of)}: {text}", flush=True)
    print(f"{len(cases) - n_different} of {len(cases)} forecasts are equal to PyTorch's run, allocated and reserved")
    return 1 if n_different else 0


if __name__ == "__main__":
    sys.exit(main())
