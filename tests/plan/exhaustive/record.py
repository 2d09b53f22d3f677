#!/usr/bin/env python3
"""Records the runs of all combinations of six changes: record.py --tidemark PROGRAM --python PYTHON --predict PROGRAM [NAME...]

NAME.tsv in this folder has what `tidemark plan` predicts of each combination of a program, and what its run showed.
unit.plan.exhaustive plays the search of the plan on these tables. A table is some 40 runs. --predict is predict_sets of
the build.
"""
import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
CARD = "h100-80"
TRIES = 16  # that a plan takes at a time

# Script, arguments, and the changes: those of one list exclude each other.
PROGRAMS = {
    "gpt": ("docs/examples/train.py", ["--layers", "6", "--batch", "4"],
            [["checkpoint:Block", "checkpoint_half:Block"], ["linear_loss"], ["fused", "adafactor"], ["bf16"]]),
    "unet": ("tests/plan/exhaustive/programs/unet.py", [],
             [["checkpoint:Pair", "checkpoint_half:Pair"], ["offload_activations"], ["fused"], ["autocast"], ["micro_batch:2"]]),
    "experts": ("tests/plan/exhaustive/programs/experts.py", [],
                [["checkpoint:Layer"], ["optimizer_in_backward"], ["fused", "adafactor"], ["linear_loss"], ["bf16"]]),
    "encoder": ("tests/plan/exhaustive/programs/encoder.py", [],
                [["checkpoint:Layer", "checkpoint_half:Layer"], ["chunked_loss", "linear_loss"], ["fused"], ["autocast"]]),
    "patches": ("tests/plan/exhaustive/programs/patches.py", [],
                [["checkpoint:Block", "checkpoint_half:Block"], ["offload_activations"], ["fused", "adafactor"], ["autocast"]]),
}


def sets_of(name):
    """All combinations, those of one change first."""
    groups = PROGRAMS[name][2]
    picks = itertools.product(*[[None, *group] for group in groups])
    sets = [[change for change in pick if change] for pick in picks]
    return [",".join(one) for one in sorted(sets, key=len) if one]


def run(own, name, sets, folder):
    """The rows of the unchanged program and of the sets, in one or more plans."""
    script, arguments, _ = PROGRAMS[name]
    rows = []
    for i in range(0, len(sets), TRIES):
        tries = [word for one in sets[i:i + TRIES] for word in ("--try", one)]
        command = [own.tidemark, "plan", "--device", "virtual:" + CARD, "--runs", "256", "--format", "json",
                   "-o", str(folder / f"{name}-{i}"), *tries, "--", own.python, str(ROOT / script), *arguments]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{name}: tidemark plan ended with {done.returncode}: {done.stderr[-2000:]}")
        found = json.loads(done.stdout)["tables"]["runs"]["rows"]
        rows += found if i == 0 else found[1:]
    return rows


def version_of(own):
    return subprocess.run([own.python, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True, check=True).stdout.strip()


def record(own, name, folder):
    script, arguments, _ = PROGRAMS[name]
    lines = []
    for row in run(own, name, sets_of(name), folder):
        if row["outcome"] != "completed" or row["reason"]:
            sys.exit(f"{name}: {row['changes']}: {row['outcome']} {row['reason']}")
        changes = "-" if row["changes"] == "unchanged" else row["changes"]
        lines.append(f"{changes} {row['snapshot']} {row['allocated_peak_bytes']} {row['reserved_peak_bytes']} {row['gpu_ms']}\n")
    base = lines[0].split()[1]
    table = subprocess.run([own.predict, base], input="".join(lines), capture_output=True, text=True, check=True).stdout
    head = [f"# {' '.join([script, *arguments])} on virtual:{CARD}, PyTorch {version_of(own)}: all combinations of six changes",
            f"# made by tests/plan/exhaustive/record.py {name}",
            "# change: name, group of those that exclude each other, whether a plan combines it: not if its run alone shows no use,",
            "# later if it cannot matter alone",
            "# set (bit 0: the first change), lowest and expected peak as predicted, allocated and reserved peak of its run,",
            "# the lowest reserved peak with settings of the allocator, the card's time of a step in ms"]
    (HERE / f"{name}.tsv").write_text("\n".join(head) + "\n" + table)


def wrong_bounds(own, full):
    """Bounds that a run was more than 1 % below, of each change alone and of the largest combinations, or of all."""
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for name in PROGRAMS:
            sets = sets_of(name)
            sizes = [one.count(",") for one in sets]
            chosen = [one for one, size in zip(sets, sizes) if full or size in (0, max(sizes))][:None if full else TRIES]
            rows = run(own, name, chosen, Path(folder))
            wrong += [f"{name}: {row['changes']}: {row['outcome']} {row['reason']}" for row in rows if row["outcome"] != "completed"]
            for row in rows:
                reached, could = row["allocated_peak_bytes"], row["lowest_bytes"]
                if could is None or reached < 0.99 * could:
                    wrong.append(f"{name}: {row['changes']} could reach {could}, and did reach {reached}")
            if len(rows) != len(chosen) + 1:
                wrong.append(f"{name}: {len(rows)} runs of {len(chosen) + 1}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tidemark", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--predict", required=True)
    parser.add_argument("--keep", help="a folder for the snapshots")
    parser.add_argument("names", nargs="*", metavar="NAME")
    own = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        for name in own.names or PROGRAMS:
            record(own, name, Path(own.keep or made))
            print(name, flush=True)


if __name__ == "__main__":
    main()
