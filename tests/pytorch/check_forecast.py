"""`tidemark forecast` compared with the same model run by PyTorch on a virtual card: check_forecast.py TIDEMARK PYTHON
LIBRARY

PYTHON has a CUDA build of PyTorch; LIBRARY is the virtual card. Allocated and reserved peaks must be equal to the byte.
So must be every event of all steps, with its place in its segment, compared with PyTorch's own history of the run; it
has an event for each request, release and segment. --full adds more of the same, and larger sizes, of which only the
peaks are compared.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import compare_snapshots

HERE = Path(__file__).resolve().parent
N_STEPS = 15  # as many as the forecast has
ODD = {"size": "custom", "d-model": 96, "d-ff": 200, "layers": 3, "heads": 6, "vocab": 777}
WIDE = {"size": "custom", "d-model": 512, "d-ff": 4096, "layers": 2, "heads": 2, "vocab": 40000}


def case(size, context, **more):
    named = size if isinstance(size, dict) else {"size": size}
    return {"batch": 4, "context": context, "precision": "fp32", "edition": 2026, "mode": "train", "keep_graph": False,
            "no_head": False, "steps": N_STEPS, "device": "h100-80", **named, **more}


CASES = [
    case("small", 128), case("small", 128, precision="bf16-mixed"),
    case("small", 512, batch=3, precision="bf16-mixed", device="a100-40"),
    case("small", 64, edition=2025, precision="bf16-mixed", device="rtx4090"),
    case("medium", 256, batch=2, mode="forward-backward"), case(ODD, 33), case(ODD, 257, batch=1, edition=2025),
    case(WIDE, 96, batch=5), case("small", 128, mode="forward", keep_graph=True),
    case("small", 256, mode="forward", no_head=True, precision="bf16-mixed"),
    case("small", 512, batch=3, precision="fp16-mixed", device="a100-40"), case(ODD, 100, batch=7, precision="fp16-mixed"),
    # Sums over so many rows are divided among thread blocks. From about 2,050 tokens on, the sort's scratch differs.
    case(WIDE, 500, batch=4), case(ODD, 1000, batch=2, precision="fp16-mixed", device="rtx4090"),
]
MORE = [
    case("small", 256, batch=1), case("small", 128, edition=2025), case("medium", 128),
    case("medium", 128, precision="bf16-mixed"), case(ODD, 100, batch=7, precision="bf16-mixed"),
    case(WIDE, 64, precision="bf16-mixed"), case("small", 128, mode="forward"),
    case("small", 128, mode="forward", keep_graph=True, precision="bf16-mixed"),
    case("small", 256, mode="forward", precision="bf16-mixed"), case("small", 128, mode="forward", edition=2025),
    case("small", 128, mode="forward", no_head=True), case("small", 128, mode="forward", no_head=True, edition=2025),
    case(WIDE, 96, mode="forward", no_head=True, keep_graph=True),
    case(ODD, 33, mode="forward", no_head=True, keep_graph=True, precision="bf16-mixed"),
    case("small", 128, precision="fp16-mixed"), case("small", 64, edition=2025, precision="fp16-mixed", device="rtx4090"),
    case("medium", 128, precision="fp16-mixed"), case("medium", 256, batch=2, mode="forward-backward", precision="fp16-mixed"),
    case(ODD, 257, batch=1, edition=2025, precision="fp16-mixed"), case(WIDE, 64, precision="fp16-mixed"),
    case(ODD | {"d-model": 198, "heads": 3}, 333, batch=6, precision="fp16-mixed", mode="forward-backward"),
    case("small", 128, mode="forward", keep_graph=True, precision="fp16-mixed"),
    case("small", 256, mode="forward", precision="fp16-mixed"),
]
LARGER = [case(size, context, precision=precision, edition=edition, device="h200")
          for size, context in (("large", 512), ("xl", 256), ("2.7B", 256)) for precision in ("fp32", "bf16-mixed", "fp16-mixed")
          for edition in (2025, 2026)] + [case("medium", 1024, precision="bf16-mixed"), case("medium", 512)]
RUN_OPTIONS = ("batch", "context", "precision", "edition", "mode", "d-model", "d-ff", "layers", "heads", "vocab")
# Of compare_snapshots.py. PyTorch leaves the former request's size in a free block, so "blocks" differs.
COMPARED = ("events", "allocated", "reserved", "segments", "addresses", "places")


def title(of):
    names = [name.replace("_", "-") for name in ("keep_graph", "no_head") if of[name]]
    names += [str(of[k]) for k in ("mode", "size", "context", "batch", "precision", "edition", "device")]
    return " ".join(names)


def run_options(of):
    options = ["--device", "virtual:" + of["device"]]
    for name in RUN_OPTIONS:
        if name in of:
            options += ["--" + name, str(of[name])]
    if of["size"] != "custom":
        options += ["--size", of["size"]]
    return options + ["--" + name.replace("_", "-") for name in ("keep_graph", "no_head") if of[name]]


def run(*command):
    """The output of one of our commands; 3 is the status of a run that does not fit."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def forecast(tidemark, of):
    figures = json.loads(run(tidemark, "forecast", "--format", "json", *run_options(of)))["figures"]
    return {k: figures[k] for k in ("allocated_peak_bytes", "reserved_peak_bytes")}


def order_releases(snapshot):
    """Puts the releases between two requests into the order of what they release."""
    numbers, ordered, run = {}, [], []
    for event in [*snapshot.events, {"action": "end"}]:
        if event["action"].startswith("free"):
            run.append(event)
            continue
        ordered += sorted(run, key=lambda e: (numbers[e["addr"]], e["action"] == "free_completed")) + [event]
        run = []
        if event["action"] == "alloc":
            numbers[event["addr"]] = len(ordered)
    snapshot.events = ordered[:-1]


def event_difference(tidemark, of, folder):
    """How the events differ from those in the case's history, or None; and how many there are."""
    ours, exported = str(Path(folder, "ours.json.gz")), str(Path(folder, "ours.pickle"))
    run(tidemark, "profile", "--emulate", "pytorch", "--warmup", "0", "--steps", str(of["steps"]), "-o", ours, *run_options(of))
    run(tidemark, "export", ours, "--to", "pytorch", "-o", exported)
    real, own = (compare_snapshots.Snapshot(path, 0) for path in (of["history"], exported))
    if of["mode"] == "forward" and of["precision"].endswith("mixed"):
        # Everything that such a pass made ends at the same time: what autocast has cached in the order of a hash of the
        # host's addresses, and a graph in the order of the references between its nodes.
        order_releases(real)
        order_releases(own)
    compared = compare_snapshots.compare(real, own)
    wrong = [compare_snapshots.text_of(name, compared[name]) for name in COMPARED if not compared[name]["equal"]]
    return "; ".join(wrong) or None, len(real.events)


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


def compare(tidemark, of, real, folder):
    """Prints a line about one case. Returns whether all is equal, and the number of events that are."""
    ours = forecast(tidemark, of)
    difference, n_events = event_difference(tidemark, of, folder) if "history" in of else (None, 0)
    same = ours == real and difference is None
    text = " and ".join(f"{real[k]}" + ("" if ours[k] == real[k] else f" (forecast {ours[k] - real[k]:+d})")
                        for k in ("allocated_peak_bytes", "reserved_peak_bytes"))
    print(f"{'equal' if same else 'DIFFERENT':9} {title(of)}: {text}" + (f", {n_events} events" if n_events else ""), flush=True)
    if difference is not None:
        print(f"          {difference}")
    return same, n_events if difference is None else 0


def main():
    options = argparse.ArgumentParser()
    options.add_argument("tidemark")
    options.add_argument("python")
    options.add_argument("library")
    options.add_argument("--full", action="store_true")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cases = [of | {"history": str(Path(folder, f"{i}.pickle"))} for i, of in enumerate(CASES + (MORE if chosen.full else []))]
        cases += LARGER if chosen.full else []
        figures = by_pytorch(chosen.python, os.path.realpath(chosen.library), cases)
        seen = [compare(chosen.tidemark, of, real, folder) for of, real in zip(cases, figures, strict=True)]
    n_same = sum(same for same, _ in seen)
    print(f"{n_same} of {len(cases)} forecasts are equal to PyTorch's run, allocated and reserved, and in each of "
          f"{sum(n for _, n in seen)} events")
    return 0 if n_same == len(cases) else 1


if __name__ == "__main__":
    sys.exit(main())
