#!/usr/bin/env python3
"""The share of the launches and of the time of the zoo's programs that is guessed: zoo_shares.py TIDEMARK PYTHON
[NAME...].

PYTHON has the PyTorch that the programs run on, on a virtual H100. The rows are those of docs/internals/time-model.md. NAME is
the name of a script of tests/pytorch/zoo without its ending. It prints figures without judging them: a program may use
undescribed kernels, and then `tidemark time` prints a lower bound.
"""
import json
import os
import subprocess
import sys
import tempfile

ZOO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "zoo")
PROGRAMS = ["mlp", "resnet50", "gpt2", "vit", "attention", "convolutions", "embedding_backward", "grad_scaler", "generate",
            "optimizers", "indexing", "matrix_types", "recurrent", "sparse", "linear_algebra", "compiled", "triton_kernels",
            "graphs", "streams"]


def forecast_of(tidemark, python, program, folder):
    """The report of a run's launches, or None if it launched nothing."""
    log = os.path.join(folder, program + ".launches")
    subprocess.run([tidemark, "run", "--device", "virtual:h100-80", "--stacks", "none", "--launch-log", log, "-o",
                    os.path.join(folder, program + ".json.gz"), "--", python, os.path.join(ZOO, program + ".py")],
                   capture_output=True, stdin=subprocess.DEVNULL, check=False)
    report = subprocess.run([tidemark, "time", log, "--kernels", "100000", "--format", "json"], capture_output=True,
                            text=True, check=False)
    return json.loads(report.stdout) if report.returncode == 0 else None


def shares(rows, basis):
    """Percent of the launches and of the time, 0 to 100."""
    chosen = [row for row in rows if row["basis"] == basis]
    return [100.0 * sum(row[key] for row in chosen) / max(sum(row[key] for row in rows), 1e-9) for key in ("launches", "ms")]


def main(tidemark, python, *names):
    print("| program | launches | guessed, of launches | of time | never compared, of time |\n|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for program in names or PROGRAMS:
            report = forecast_of(tidemark, python, program, folder)
            if report is None:
                print(f"| {program} | no launches | - | - | - |", flush=True)
                continue
            rows = report["tables"]["kernels"]["rows"]
            guessed = shares(rows, "guessed")
            print(f"| {program} | {sum(row['launches'] for row in rows)} | {guessed[0]:.1f} % | {guessed[1]:.1f} % "
                  f"| {shares(rows, 'never compared')[1]:.1f} % |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
