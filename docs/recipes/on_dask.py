#!/usr/bin/env python3
"""Runs a grid on a Dask cluster, one task a cell, each with a file of its own:

    DASK_SCHEDULER_ADDRESS=tcp://HOST:8786 on_dask.py FOLDER [OPTION OF tidemark sweep...] [-- COMMAND...]

Without an address the workers are processes of this machine. The machines need tidemark on their PATH and no shared
folder: each task returns its file, which is kept in FOLDER here. Dask gives the task of a lost worker to another one; the
same line again runs the cells without a row. Then:

    tidemark sweep --merge FOLDER --format csv
"""
import pathlib
import subprocess
import sys
import tempfile

from distributed import Client, as_completed


def run(cell, options):
    with tempfile.TemporaryDirectory() as scratch:
        rows = pathlib.Path(scratch, "rows.jsonl")
        done = subprocess.run(["tidemark", "sweep", "--cell", cell, "-o", rows, *options], stdout=subprocess.DEVNULL)
        if done.returncode not in (0, 1):  # 1: the row says what went wrong
            raise RuntimeError(f"cell {cell}: exit status {done.returncode}")
        return cell, rows.read_bytes()


if __name__ == "__main__":
    folder, options = pathlib.Path(sys.argv[1]), sys.argv[2:]
    folder.mkdir(exist_ok=True)
    merge = ["--merge", "--retry", str(folder)] if any(folder.glob("*.jsonl")) else options
    listed = subprocess.run(["tidemark", "sweep", "--list", *merge], check=True, stdout=subprocess.PIPE, text=True)
    cells = [line.split("\t")[0] for line in listed.stdout.splitlines()]
    with Client() as client:
        for future in as_completed(client.map(run, cells, options=options, retries=3, pure=False)):
            cell, rows = future.result()
            (folder / f"{cell}.jsonl").write_bytes(rows)
