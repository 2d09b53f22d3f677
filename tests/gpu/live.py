"""The same PyTorch programs on the GPU and on the virtual card, recorded live and compared event by event.

    python3 live.py TIDEMARK CARD PYTHON...   the arguments before the scripts of tests/pytorch/zoo

CARD: the virtual card that stands for the GPU, such as h100-80. PYTHON: an interpreter with PyTorch and
CUDA. Prints a line for each program, and where the driver's account leaves more than 2 % unexplained.
Exit status 1 if events differ, or the account cannot be reconciled.
"""
import gzip
import json
import os
import subprocess
import sys
import tempfile

PROGRAMS = ["mlp.py", "gpt2.py", "grad_scaler.py", "recurrent.py", "graphs.py", "streams.py", "optimizers.py"]
ZOO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "pytorch", "zoo")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import read_log  # noqa: E402

MOST_UNEXPLAINED = 0.02  # of what is in use: code of kernels that is loaded later, growth of the context


def record(tidemark, python, script, folder, device):
    """Events [(action, bytes, pool, whole Python stack)], and the snapshot as a document."""
    name = device or "gpu"
    log, snapshot = (os.path.join(folder, f"{name}.{ending}") for ending in ("log", "json.gz"))
    command = [tidemark, "run", "--log", log, "-o", snapshot, "--html", os.path.join(folder, f"{name}.html")]
    command += ["--device", f"virtual:{device}"] if device else []
    done = subprocess.run([*command, "--", python, os.path.join(ZOO, script)], capture_output=True, text=True, cwd=folder)
    if done.returncode != 0 or not os.path.exists(log):
        raise RuntimeError(f"{name}: status {done.returncode}\n{done.stdout[-500:]}{done.stderr[-1500:]}")
    read = read_log.Log(log)
    events = [(action, row.requested, bool(row.pool), tuple(read.python(row))) for action, row in read.events()
              if not action.startswith("segment")]
    with gzip.open(snapshot) as file:
        return in_order(events), json.load(file)


def in_order(events):
    """Frees of one line in the order of their sizes: a set of tensors is emptied in the order of their
    addresses on the host, which no two runs share."""
    found, frees = [], []
    for event in [*events, ("end", 0, False, ())]:
        if frees and not (event[0].startswith("free") and event[3] == frees[-1][3]):
            found += sorted(frees)
            frees = []
        if event[0].startswith("free"):
            frees.append(event)
        else:
            found.append(event)
    return found[:-1]


def tell_account(document):
    """Whether the driver's account of the first device leaves little unexplained."""
    accounts = document.get("owners", {}).get("accounts", [])
    if not accounts:
        print("    the driver gave no account")
        return False
    used, unexplained = accounts[0]["used_at_peak_bytes"], accounts[0].get("unexplained_at_peak_bytes", 0)
    print(f"    in use at the peak {used}, unexplained {unexplained} bytes")
    return abs(unexplained) <= MOST_UNEXPLAINED * used


def compare(tidemark, card, python, script):
    with tempfile.TemporaryDirectory() as folder:
        real, document = record(tidemark, python, script, folder, None)
        virtual, _ = record(tidemark, python, script, folder, card)
    first = next((i for i, pair in enumerate(zip(real, virtual)) if pair[0] != pair[1]), None)
    is_same = first is None and len(real) == len(virtual)
    print(f"{'ok  ' if is_same else 'FAIL'} {script:20} {len(real)} events on the GPU, {len(virtual)} on the card")
    if first is not None:
        print(f"    event {first}: {real[first][:3]} and {virtual[first][:3]}, at {real[first][3][:2]}")
    return tell_account(document) and is_same


def main():
    tidemark, card, python = sys.argv[1:4]
    results = []
    for script in sys.argv[4:] or PROGRAMS:
        try:
            results.append(compare(os.path.abspath(tidemark), card, python, script))
        except RuntimeError as error:
            print(f"FAIL {script}: {error}")
            results.append(False)
    print(f"{sum(results)} of {len(results)} programs have the same events, and an account that adds up")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
