"""A program without PyTorch has its own snapshot: check_plain.py TIDEMARK PROGRAM."""
import gzip
import json
import os
import subprocess
import sys
import tempfile

MIB = 1 << 20
# (action, kind of the device, requested bytes), as tests/live/plain_program.c requests. A segment has its own bytes.
EXPECTED = [
    ("segment_alloc", "virtual", 3 * MIB), ("alloc", "virtual", 3 * MIB),
    ("segment_alloc", "virtual", 1024), ("alloc", "virtual", 1000),
    ("segment_alloc", "pinned", 5 * MIB), ("alloc", "pinned", 5 * MIB),
    ("segment_alloc", "pinned", None), ("alloc", "pinned", 10000),
    ("free", "virtual", 3 * MIB), ("segment_free", "virtual", 3 * MIB),
    ("segment_alloc", "virtual", 4 * MIB), ("alloc", "virtual", 4 * MIB),
    ("free", "virtual", 4 * MIB), ("segment_free", "virtual", 4 * MIB),
    ("oom", "virtual", 1 << 40),
    ("free", "pinned", 10000), ("segment_free", "pinned", None),
    ("free", "pinned", 5 * MIB), ("segment_free", "pinned", 5 * MIB),
    ("free", "virtual", 1000), ("segment_free", "virtual", 1024),
]


def need(condition, *what):
    if not condition:
        sys.exit("WRONG: " + " ".join(str(part) for part in what))


def run(tidemark, program, folder, *arguments):
    environment = dict(os.environ, XDG_STATE_HOME=folder)
    return subprocess.run([tidemark, "run", "--device", "virtual:h100-80", "-o", "out.json.gz", "--", program, *arguments],
                          cwd=folder, env=environment, capture_output=True, text=True)


def load(folder):
    with gzip.open(os.path.join(folder, "out.json.gz")) as file:
        return json.load(file)


def events_of(snapshot):
    events = snapshot["events"]
    kinds = [device["kind"] for device in snapshot["devices"]]
    return [(snapshot["actions"][action], kinds[device], requested) for action, device, requested
            in zip(events["action"], events["device"], events["requested_bytes"])]


def innermost(snapshot, stack):
    frame = snapshot["stacks"]["frame"][stack]
    return snapshot["strings"][snapshot["frames"]["function"][frame]]


def check_whole(tidemark, program, folder):
    done = run(tidemark, program, folder)
    need(done.returncode == 0 and done.stdout == "cudaMalloc: 2\n", done)
    need("it fits virtual:h100-80: the program allocated 4.00 MiB" in done.stderr, done.stderr)
    need("the program caught 1 out-of-memory error" in done.stderr, done.stderr)
    snapshot = load(folder)
    events = events_of(snapshot)
    need(len(events) == len(EXPECTED), events)
    for got, wanted in zip(events, EXPECTED):
        need(got[:2] == wanted[:2] and wanted[2] in (None, got[2]), got, "instead of", wanted)
    columns = snapshot["events"]
    allocs = [i for i, event in enumerate(events) if event[0] == "alloc"]
    functions = [innermost(snapshot, columns["stack"][i]) for i in allocs]
    need(functions == ["allocate", "allocate", "main", "main", "take_physical"], functions)
    names = [snapshot["strings"][columns["name"][i]] for i in allocs]
    need(set(names) == {os.path.basename(program)}, names)
    need("implementation" not in snapshot["run"], snapshot["run"])
    shown = subprocess.run([tidemark, "summary", "out.json.gz"], cwd=folder, capture_output=True, text=True)
    need("device 0 of 2, the card with the highest peak" in shown.stdout, "pinned memory is more, but is no card:", shown.stdout)


def check_failure(tidemark, program, folder):
    done = run(tidemark, program, folder, "5")
    need(done.returncode == 5, done)
    need("it does not fit virtual:h100-80: out of memory at allocate (plain_program.c:" in done.stderr, done.stderr)
    need("1.00 TiB were asked for" in done.stderr, done.stderr)


def check_resets(tidemark, program, folder):
    """Each reset frees the memory, so the peak is the largest request and not the sum."""
    for name in ("cudaDeviceReset", "cudaThreadExit", "cuDevicePrimaryCtxReset_v2"):
        done = run(tidemark, program, folder, "reset", name)
        need(done.returncode == 0 and done.stdout == "0\n0\n0\n", name, done)
        need("it fits virtual:h100-80: the program allocated 38.00 GiB" in done.stderr, name, done.stderr)
        actions = [action for action, _, _ in events_of(load(folder))]
        need(actions == 3 * ["segment_alloc", "alloc", "free", "segment_free"], name, actions)


def check_areas(tidemark, program, folder):
    """Memory that the virtual card allocates in place of a library is at the program's line."""
    for name in ("plan", "solve"):
        done = run(tidemark, program, folder, name)
        need(done.returncode == 0 and f"the peak is at {name} (plain_program.c:" in done.stderr, name, done)
        for command in ("explain", "summary"):
            shown = subprocess.run([tidemark, command, "out.json.gz"], cwd=folder, capture_output=True, text=True).stdout
            need(f"is at {name} (plain_program.c:" in shown, command, shown)
            table = shown.split("by line of the program")[1].split("\n\n")[0] if command == "summary" else ""
            need(command == "explain" or f"{name} (plain_program.c:" in table, table)


def main():
    tidemark, program = map(os.path.abspath, sys.argv[1:3])
    for check in (check_whole, check_failure, check_resets, check_areas):
        with tempfile.TemporaryDirectory() as folder:
            check(tidemark, program, folder)


main()
