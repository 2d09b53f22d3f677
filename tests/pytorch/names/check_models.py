"""Checks how much of the peak of five models has a line of the program and a name: check_models.py --tidemark PROGRAM
--python PYTHON [--names kept|all] [MODEL...]. Prints the share of each.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = ["gpt2", "vit", "resnet", "unet", "llama"]
LEAST = {"kept": 0.95, "all": 0.95}


def share(chosen, model, names, folder):
    """The share of the peak's bytes that a line and a name explain; None and a reason if the model cannot run."""
    snapshot = os.path.join(folder, f"{model}-{names}.json.gz")
    command = [chosen.tidemark, "run", "--device", "virtual:h100-80", "--names", names, "-o", snapshot, "--",
               chosen.python, os.path.join(HERE, "models.py"), model]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        return None, "; ".join(done.stderr.splitlines()[-3:])
    if "--names all does not work" in done.stderr:
        return None, next(line for line in done.stderr.splitlines() if "--names all" in line)
    explained = subprocess.run([chosen.tidemark, "explain", "--format", "json", snapshot], check=True, capture_output=True, text=True)
    figures = json.loads(explained.stdout)["figures"]
    return figures["named_peak_bytes"] / figures["allocated_peak_bytes"], ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tidemark", required=True, type=os.path.abspath)
    parser.add_argument("--python", required=True, type=os.path.abspath)
    parser.add_argument("--names", action="append", choices=["kept", "all"])
    parser.add_argument("models", nargs="*", default=MODELS)
    chosen = parser.parse_args()
    n_wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for names in chosen.names or ["kept", "all"]:
            for model in chosen.models:
                found, reason = share(chosen, model, names, folder)
                is_wrong = found is None or found < LEAST[names]
                n_wrong += is_wrong
                said = reason if found is None else f"{100 * found:.1f} % of the peak has a line and a name"
                print(f"{model}, --names {names}: {said}{' (too little)' if is_wrong else ''}", flush=True)
    sys.exit(f"{n_wrong} shares are wrong" if n_wrong else 0)


if __name__ == "__main__":
    main()
