"""Runs the programs of three recordings of real cards on the virtual card, and compares event by event.

  check_recordings.py TIDEMARK SHARED [--environments FOLDER] [--keep FOLDER] [NAME...]

FOLDER/pytorch-VERSION is an environment with the PyTorch that made the recording. The programs run through `tidemark
run`. Missing parts are named, and the exit status is 77 if nothing could be compared.
"""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
EVENTS = ("events", "allocated", "reserved", "segments")
# Name of the file, PyTorch, card, program, and the parts of compare_snapshots.py that must be equal; the others are
# explained in docs/guide/virtual-cuda.md, section "Compared with real cards".
RECORDINGS = [
    ("2.7B_fp32_ctx512_forward", "2.6.0", "h100-80", "2.7B_fp32_forward", EVENTS + ("blocks", "addresses", "places")),
    ("2.7B_bf16_ctx512_forward", "2.6.0", "h100-80", "2.7B_bf16_forward", EVENTS + ("blocks", "addresses")),
    ("medium_fp32_ctx128_training", "2.11.0", "rtx5090", "medium_fp32_ctx128_training", EVENTS),
]


def missing(chosen, name, version):
    recording = Path(chosen.shared, "pytorch-snapshots", name + ".pickle")
    python = Path(chosen.environments, "pytorch-" + version, "bin", "python")
    return next((str(path) for path in (recording, python) if not path.exists()), None), recording, python


def run(chosen, folder, recording, python, card, program, need):
    command = [chosen.tidemark, "run", "--device", "virtual:" + card, "--writes", "allow",
               "-o", str(folder / "own.json.gz"), "--html", str(folder / "own.html"), "--", str(python), "-B",
               str(HERE / "recorded_programs.py"), program, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout + done.stderr)
        return False
    compared = subprocess.run([sys.executable, "-B", str(HERE / "compare_snapshots.py"), str(recording),
                               str(folder / recording.name), "--need", ",".join(need)],
                              capture_output=True, text=True, check=False)
    print(f"{recording.stem}, {card}:\n{compared.stdout}{compared.stderr}", flush=True)
    return compared.returncode == 0


def main():
    options = argparse.ArgumentParser()
    options.add_argument("tidemark")
    options.add_argument("shared")
    options.add_argument("--environments", default=os.path.expanduser("~/.cache/tidemark"))
    options.add_argument("--keep")
    options.add_argument("names", nargs="*")
    chosen = options.parse_args()
    n_compared, n_wrong = 0, 0
    for name, version, card, program, need in RECORDINGS:
        if chosen.names and name not in chosen.names:
            continue
        absent, recording, python = missing(chosen, name, version)
        if absent:
            print(f"skipped {name}: {absent} is absent")
            continue
        with tempfile.TemporaryDirectory() as folder:
            n_wrong += not run(chosen, Path(chosen.keep or folder), recording, python, card, program, need)
        n_compared += 1
    print(f"{n_compared - n_wrong} of {n_compared} recordings are equal in the parts that must be")
    return 1 if n_wrong else 0 if n_compared else 77


if __name__ == "__main__":
    sys.exit(main())
