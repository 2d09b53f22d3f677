#!/usr/bin/env python3
"""The share of launches and of time that is guessed in the steps of three models: check_guessed.py TIDEMARK PYTHON.

PYTHON has the PyTorch that the models run on, on a virtual card. It fails if more than 5 % is guessed, because
`tidemark time` then prints no forecast.
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = ["nanogpt", "vit", "llama"]
MOST = 5.0  # percent, as in programs/step_time/forecast.c


def kernels_of(tidemark, python, model, folder):
    """The rows of the report's table of kernels."""
    log = os.path.join(folder, model + ".launches")
    run = subprocess.run([tidemark, "run", "--device", "virtual:h100-80", "--launch-log", log, "-o",
                          os.path.join(folder, model + ".json.gz"), "--", python, os.path.join(HERE, model + ".py")],
                         capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{model} did not run: {run.stderr}")
    report = subprocess.run([tidemark, "time", log, "--kernels", "100000", "--format", "json"],
                            capture_output=True, text=True, check=True)
    return json.loads(report.stdout)["tables"]["kernels"]["rows"]


def percent(rows, key):
    total = sum(row[key] for row in rows)
    return 100.0 * sum(row[key] for row in rows if row["basis"] == "guessed") / total if total else 100.0


def main(tidemark, python):
    is_good = True
    print(f"{'model':<10}{'launches a step':>16}{'guessed':>10}{'of time':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for model in MODELS:
            rows = kernels_of(tidemark, python, model, folder)
            of_launches, of_time = percent(rows, "launches"), percent(rows, "ms")
            print(f"{model:<10}{sum(row['launches'] for row in rows):>16}{of_launches:>8.1f} %{of_time:>8.1f} %")
            if max(of_launches, of_time) > MOST:
                is_good = False
                for row in rows:
                    if row["basis"] == "guessed":
                        print(f"    {row['launches']} of {row['kernel'][:150]}")
    print("fine" if is_good else f"more than {MOST} % is guessed: its kernels need a family in programs/virtual_cuda/launches/kernels/")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
