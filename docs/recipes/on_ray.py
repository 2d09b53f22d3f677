#!/usr/bin/env python3
"""Runs a grid on a Ray cluster, one task a cell, each with a file of its own:

    on_ray.py FOLDER [OPTION OF tidemark sweep...] [-- COMMAND...]

The machines need tidemark on their PATH and no shared folder: each task returns its file, which is kept in FOLDER here.
Ray repeats a task whose worker was killed; the same line again runs the cells without a row. Then:

    tidemark sweep --merge FOLDER --format csv
"""
import pathlib
import subprocess
import sys
import tempfile

import ray

FOLDER, OPTIONS = pathlib.Path(sys.argv[1]), sys.argv[2:]


@ray.remote(num_cpus=1, max_retries=3, retry_exceptions=True)
def run(cell):
    with tempfile.TemporaryDirectory() as scratch:
        rows = pathlib.Path(scratch, "rows.jsonl")
        done = subprocess.run(["tidemark", "sweep", "--cell", cell, "-o", rows, *OPTIONS], stdout=subprocess.DEVNULL)
        if done.returncode not in (0, 1):  # 1: the row says what went wrong
            raise RuntimeError(f"cell {cell}: exit status {done.returncode}")
        return cell, rows.read_bytes()


FOLDER.mkdir(exist_ok=True)
merge = ["--merge", "--retry", str(FOLDER)] if any(FOLDER.glob("*.jsonl")) else OPTIONS
listed = subprocess.run(["tidemark", "sweep", "--list", *merge], check=True, stdout=subprocess.PIPE, text=True)
waiting = [run.remote(line.split("\t")[0]) for line in listed.stdout.splitlines()]
while waiting:
    ended, waiting = ray.wait(waiting)
    cell, rows = ray.get(ended[0])
    (FOLDER / f"{cell}.jsonl").write_bytes(rows)
