#!/usr/bin/env python3
"""Compares the bytes that launch logs state for kernels with the sizes of their tensors: check_bytes.py TIDEMARK
PYTHON.

PYTHON has the PyTorch whose operations run, on a virtual card; byte_cases.py has them. An expectation of None means
that the bytes depend on values, or were not computed: then the check is only that nothing is guessed.
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import launches


def sections(rows):
    """The rows of each operation."""
    found, current = [], None
    for row in rows:
        if row.kind == "mark":
            if row.name == "case":
                current = []
                found.append(current)
            elif row.name == "between":
                current = None
        elif current is not None:
            current.append(row)
    return found


def main(tidemark, python):
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "x.launches")
        run = subprocess.run([tidemark, "run", "--device", "virtual:h100-80", "--launch-log", log, "-o",
                              os.path.join(folder, "s.json.gz"), "--", python, os.path.join(HERE, "byte_cases.py")],
                             capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"the operations did not run: {run.stderr}")
        cases = json.loads(run.stdout.splitlines()[-1])
        rows = launches.read(log)[1]
    n_wrong = 0
    for case, rows_of_case in zip(cases, sections(rows), strict=True):
        guessed = [row for row in rows_of_case if row.flags & launches.GUESSED]
        moved = sum(row.bytes for row in rows_of_case if row.kind == "kernel" and launches.FAMILIES[row.family] == case["family"])
        is_wrong = case["bytes"] is not None and moved != case["bytes"]
        if is_wrong or guessed:
            n_wrong += 1
            print(f"{case['name']}: {case['family']} kernels move {moved} bytes, not {case['bytes']}")
            for row in rows_of_case:
                print(f"    {row.kind} {launches.FAMILIES[row.family]} {row.bytes} bytes {'guessed ' if row in guessed else ''}{row.name[:200]}")
    n_exact = sum(case["bytes"] is not None for case in cases)
    print(f"{len(cases)} operations, {n_exact} with a known number of bytes: {n_wrong} wrong")
    return 1 if n_wrong or n_exact == 0 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
