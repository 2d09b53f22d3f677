#!/usr/bin/env python3
"""Runs 9,984 virtual cells of tidemark's own model by local workers, kills workers and cells at random, and checks that
the joined rows are those of an undisturbed sweep:

    many_cells.py TIDEMARK [SEED]
"""
import csv
import io
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

TIDEMARK, SEED = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
GRID = ("--device virtual:h100-80 --size small,medium,large,xl --mode forward,train --precision fp32,tf32,bf16-mixed,bf16-true "
        "--context 64,128,192,256,320,384,448,512,640,768,896,1024,1280 --batch 1,2,3,4,5,6,7,8,9,10,11,12 "
        "--recompute none,block --warmup 0 --steps 2").split()
PARTS, WORKERS, PAUSE_S = 16, 2, 0.3


def rows_of(text):
    """Without the values that differ between runs."""
    return [{name: value for name, value in row.items() if name not in ("host_peak_bytes", "started", "environment")}
            for row in csv.DictReader(io.StringIO(text))]


def start(part, folder):
    return subprocess.Popen([TIDEMARK, "sweep", *GRID, "--shard", f"{part}/{PARTS}", "-o", folder / f"{part}.jsonl", "--resume",
                             "--retry", "--format", "json"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def kill_some(running, chance, killed):
    """A worker, or the cell that it runs, at random."""
    worker = chance.choice(list(running))
    victim = worker.pid
    if chance.random() < 0.5:
        try:
            children = pathlib.Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text().split()
        except OSError:
            return
        if not children:
            return
        victim = int(children[0])
    if worker.poll() is None:
        killed["cells" if victim != worker.pid else "workers"] += 1
        subprocess.run(["kill", "-9", str(victim)], stderr=subprocess.DEVNULL)


def run_disturbed(folder):
    chance, killed, todo, running = random.Random(SEED), {"workers": 0, "cells": 0}, list(range(1, PARTS + 1)), {}
    while todo or running:
        while todo and len(running) < WORKERS:
            part = todo.pop(0)
            running[start(part, folder)] = part
        time.sleep(PAUSE_S)
        kill_some(running, chance, killed)
        for worker in [worker for worker in running if worker.poll() is not None]:
            part = running.pop(worker)
            if worker.returncode != 0:  # killed, or a cell was
                todo.append(part)
    return killed


with tempfile.TemporaryDirectory() as scratch:
    scratch = pathlib.Path(scratch)
    begin = time.monotonic()
    whole = subprocess.run([TIDEMARK, "sweep", *GRID, "--jobs", str(WORKERS), "-o", scratch / "whole.jsonl", "--format", "csv"],
                           check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    print(f"undisturbed, --jobs {WORKERS}: {time.monotonic() - begin:.1f} s; the largest process "
          f"{resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MiB", flush=True)
    parts = scratch / "parts"
    parts.mkdir()
    begin = time.monotonic()
    killed = run_disturbed(parts)
    print(f"{PARTS} parts by {WORKERS} workers, {killed['workers']} workers and {killed['cells']} cells killed: "
          f"{time.monotonic() - begin:.1f} s", flush=True)
    begin = time.monotonic()
    joined = subprocess.run([TIDEMARK, "sweep", "--merge", parts, "--format", "csv"], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
    print(f"merge: {time.monotonic() - begin:.1f} s; the largest process so far "
          f"{resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MiB")
    expected, found = rows_of(whole.stdout), rows_of(joined.stdout)
    differing = sum(row != other for row, other in zip(expected, found))
    print(f"{len(found)} of {len(expected)} rows, {len(expected) - len(found)} lost, {differing} different")
    sys.exit(joined.returncode != 0 or found != expected)
