#!/usr/bin/env python3
"""Checks `tidemark fit` and `tidemark sweep` with a real PyTorch program: fit_and_sweep.py TIDEMARK PYTHON FOLDER

The answer of fit must agree with single runs: its largest batch fits, and the next one does not. All commands report
the same failed request, and `tidemark run` of a job prints a sentence once. Files are written in a new folder inside
FOLDER.
"""
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile

CARD = ["--device", "virtual:h100-80", "--memory-limit", "2GiB"]


def tell(command, *expected):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in expected:
        sys.exit(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done


SEVERAL = """
import sys, torch, torch.multiprocessing as mp
def work(rank):
    torch.empty((2 * rank + int(sys.argv[1])) << 20, dtype=torch.uint8, device="cuda")
if __name__ == "__main__":
    mp.spawn(work, nprocs=2)
"""


def check_several(tidemark, python):
    """Each process of a cell has a file, named as `tidemark run` names it; the row names the fullest one's."""
    pathlib.Path("several.py").write_text(SEVERAL, encoding="utf-8")
    grid = ["--set", "mib=30,60", "--snapshots", "each", "-o", "each.jsonl", "--", python, "several.py", "{mib}"]
    tell([tidemark, "sweep", *CARD, *grid], 0)
    rows = [json.loads(line) for line in open("each.jsonl", encoding="utf-8")][1:]
    for row, mib in zip(rows, (30, 60)):
        peaks = {}
        for path in pathlib.Path("each").glob(f"mib{mib}-process*.json.gz"):
            with gzip.open(path) as file:
                peaks[str(path)] = json.load(file)["summary"][0]["peak"]["allocated_bytes"]
        assert sorted(peaks.values()) == [mib << 20, (mib + 2) << 20], peaks
        assert peaks[row["result"]["snapshot"]] == (mib + 2) << 20, (row["result"]["snapshot"], peaks)
    assert not pathlib.Path("each/mib30.json.gz").exists()
    print("sweep: a file for each process")


def check_options(tidemark, program):
    """Forwarded options change the program's settings; a file is not continued with other options."""
    base = [tidemark, "sweep", *CARD, "--set", "batch=1", "-o", "options.jsonl"]
    tell([*base, "--values", "zero", "--streams", "late", "--calls", "2", "--", *program, "{batch}"], 0)
    grid, row = [json.loads(line) for line in open("options.jsonl", encoding="utf-8")]
    assert [grid["grid"][key] for key in ("values", "streams", "calls", "writes", "steps")] == ["zero", "late", 2, "scratch", 0], grid
    assert row["result"]["steps_done"] in (1, 2), row
    refusal = tell([*base, "--values", "auto", "--streams", "late", "--calls", "2", "--resume", "--", *program, "{batch}"], 2)
    assert 'values is "zero" there and "auto" here' in refusal.stderr, refusal.stderr
    print("sweep: options are given on")


# The first request fails and is caught; so is a smaller one, as of a program that halves its batch. The last one is not.
REPEATS = """
import sys, torch
def ask(gib):
    return torch.empty(int(gib * 2**30), dtype=torch.uint8, device="cuda")
kept = ask(0.25)
small = float(sys.argv[1]) <= 1
for gib in (6, 5):
    try:
        kept = ask(0.1 if small else gib)
    except torch.cuda.OutOfMemoryError:
        pass
ask(0.1 if small else 4)
"""


def check_first_failure(tidemark, python):
    """Every command reports the first failed request, of 6 GiB, and not the one that ended the program."""
    pathlib.Path("repeats.py").write_text(REPEATS, encoding="utf-8")
    run = tell([tidemark, "run", *CARD, "--verify", "-o", "repeats.json.gz", "--", python, "repeats.py", "2"], 1)
    assert "out of memory 3 times, first at ask (repeats.py:4)" in run.stderr, run.stderr
    assert ": 6.00 GiB were asked for, and " in run.stderr, run.stderr
    assert "nothing was verified" in run.stderr, run.stderr
    explain = tell([tidemark, "explain", "repeats.json.gz"], 0).stdout
    assert explain.startswith("Out of memory 3 times, first at ask (repeats.py:4): 6.00 GiB asked for"), explain
    shared = [line for line in explain.splitlines()[1:] if line in run.stderr]
    assert shared, (explain, run.stderr)
    tell([tidemark, "sweep", *CARD, "--set", "n=2", "-o", "repeats.jsonl", "--", python, "repeats.py", "{n}"], 0)
    [row] = [json.loads(line) for line in open("repeats.jsonl", encoding="utf-8")][1:]
    assert row["result"]["asked_bytes"] == 6 << 30, row
    fit = tell([tidemark, "fit", *CARD, "--vary", "n=1..2", "--", python, "repeats.py", "{n}"], 0).stdout
    assert "6.00 GiB" in fit, fit
    digest = tell([tidemark, "digest", "repeats.json.gz", "-o", "repeats.digest.json"], 0)
    failure = json.load(open("repeats.digest.json", encoding="utf-8"))["devices"][0]["explained"]["failure"]
    assert (failure["requested_bytes"], failure["failures"], failure["line"]) == (6 << 30, 3, "ask (repeats.py:4)"), (digest, failure)
    print("run, explain, digest, sweep and fit report the first failed request")


JOB = """
import os, torch
rank = int(os.environ["RANK"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = torch.nn.Linear(2048, 2048).cuda()
kept = []
def train():
    for i in range(8):
        loss = model(torch.randn(4096 + 64 * rank, 2048, device="cuda")).square().mean()
        loss.backward()
        if rank % 2 == 1:
            kept.append(model(torch.randn(4096, 2048, device="cuda")).mean())
train()
"""


def check_job(tidemark, python):
    """The sentences about a job are printed once, with their ranks; the peaks of two ranks differ in figures only."""
    pathlib.Path("job.py").write_text(JOB, encoding="utf-8")
    cards = ["--device", "virtual:h100-80x4", "--world", "64", "--ranks", "0-3"]
    lines = tell([tidemark, "run", *cards, python, "job.py"], 0).stderr.splitlines()
    said = [line.removeprefix("tidemark run: ") for line in lines]
    [grows] = [line for line in said if "keeps 32.00 MiB" in line]
    assert grows.startswith("ranks 1 and 3: The loop at train (job.py:9-12) "), grows
    assert "allocated at train (job.py:12)" in grows, grows
    peaks = [line.split(":")[0] for line in said if ": The peak, " in line]
    assert sorted(peaks) == ["ranks 0 and 2 (figures of rank 2)", "ranks 1 and 3 (figures of rank 3)"], said
    print("run: each sentence about a job once, with its ranks")


def main():
    tidemark, python = os.path.abspath(sys.argv[1]), sys.argv[2]
    program = [python, str(pathlib.Path(__file__).with_name("small_gpt.py").resolve()), "--batch-size"]
    os.chdir(tempfile.mkdtemp(dir=sys.argv[3]))
    fit = [tidemark, "fit", *CARD, "--vary", "batch=1..4096", "--format", "json", "--", *program, "{batch}"]
    figures = json.loads(tell(fit, 0).stdout)["figures"]
    largest, following = figures["largest"], figures["next"]
    assert following == largest + 1, figures
    assert figures["runs"] <= 10, figures

    told = {}
    for batch, status, words in ((largest, 0, "it fits"), (following, 1, "it does not fit")):
        run = tell([tidemark, "run", *CARD, "--steps", "3", "-o", f"{batch}.json.gz", "--", *program, str(batch)], status)
        assert words in run.stderr, run.stderr
        told[batch] = run.stderr
    with gzip.open(f"{largest}.json.gz") as file:
        assert json.load(file)["run"]["outcome"] == "completed"

    grid = ["--set", f"batch={largest},{following}", "--snapshots", "kept", "--", *program, "{batch}"]
    tell([tidemark, "sweep", *CARD, *grid], 0)
    lines = [json.loads(line) for line in open("sweep.jsonl", encoding="utf-8")]
    fits, fails = lines[1]["result"], lines[2]["result"]
    assert fits["outcome"] == "completed" and fails["outcome"] == "out of memory", (fits, fails)
    for key in ("allocated_peak_bytes", "reserved_peak_bytes"):
        assert fits[key] == figures[key], (key, fits[key], figures)
    assert fits["steps_done"] == 3, fits
    assert f"{fits['allocated_peak_bytes'] / (1 << 30):.2f} GiB" in told[largest], told[largest]
    assert fails["asked_bytes"] > fails["free_bytes"] >= 0, fails
    for batch in (largest, following):
        tell([tidemark, "summary", f"kept/batch{batch}.json.gz"], 0)
    check_first_failure(tidemark, python)
    check_job(tidemark, python)
    check_several(tidemark, python)
    check_options(tidemark, program)
    print(f"fit: batch {largest} fits and {following} does not, by {figures['runs']} runs; single runs say the same")


if __name__ == "__main__":
    main()
