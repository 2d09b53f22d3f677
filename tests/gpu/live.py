"""The same PyTorch programs on the GPU and on the virtual card, recorded live and compared event by event.

    python3 live.py TIDEMARK CARD PYTHON...   the arguments before the scripts of tests/pytorch/zoo

CARD: the virtual card that represents the GPU, such as h100-80. PYTHON: an interpreter with PyTorch and CUDA. Prints a
line for each program, the first event that differs, and how much the driver's account leaves unexplained. Exit status 1
if events differ, or if more than 2 % is unexplained.
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

MOST_SECONDS = 180  # of a program: it took seconds on the virtual card, and one that hangs must not stop the others
MOST_UNEXPLAINED = 0.02  # of what is in use: code of kernels that is loaded later, growth of the context


def record(tidemark, python, script, folder, device):
    """Events [(action, bytes, pool, whole Python stack)], and the snapshot as a document."""
    name = device or "gpu"
    log, snapshot = (os.path.join(folder, f"{name}.{ending}") for ending in ("log", "json.gz"))
    command = [tidemark, "run", "--log", log, "-o", snapshot, "--html", os.path.join(folder, f"{name}.html")]
    command += ["--device", f"virtual:{device}"] if device else []
    try:
        done = subprocess.run([*command, "--", python, os.path.join(ZOO, script)], capture_output=True, text=True, cwd=folder,
                              timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired as late:
        raise RuntimeError(f"{name}: not done after {MOST_SECONDS} s") from late
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
    if not real and not virtual:
        raise RuntimeError("neither run has an event")
    is_same = real == virtual
    print(f"{'ok  ' if is_same else 'FAIL'} {script:20} {len(real)} events on the GPU, {len(virtual)} on the card")
    if not is_same:
        tell_first(real, virtual)
    adds_up = tell_account(document)
    device = document["devices"][0]
    return "a virtual card" if device["kind"] == "virtual" else device["name"], is_same and adds_up


def tell_first(real, virtual):
    """The first event that differs; one of the two sides may have ended before it."""
    first = next((i for i, pair in enumerate(zip(real, virtual)) if pair[0] != pair[1]), min(len(real), len(virtual)))
    for side, events in (("GPU", real), ("card", virtual)):
        words = f"{events[first][:3]}, at {events[first][3][:2]}" if first < len(events) else "no more events"
        print(f"    event {first} on the {side}: {words}")


def main():
    tidemark, card, python = sys.argv[1:4]
    results = []
    device = "no device"
    for script in sys.argv[4:] or PROGRAMS:
        try:
            device, is_good = compare(os.path.abspath(tidemark), card, python, script)
            results.append(is_good)
        except RuntimeError as error:
            print(f"FAIL {script}: {error}")
            results.append(False)
        sys.stdout.flush()
    print(f"{sum(results)} of {len(results)} programs have the same events, and an account that adds up, on {device}")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
