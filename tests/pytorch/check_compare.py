"""Tests compare_snapshots.py with made snapshots: equal ones are equal, and each planted fault shows in its own parts."""
import copy
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

MIB = 1 << 20
COMPARE = Path(__file__).with_name("compare_snapshots.py")
PARTS = ("events", "allocated", "reserved", "segments", "blocks", "addresses", "places")


def event(action, address, n_bytes, line):
    frame = {"filename": "/somewhere/train.py", "line": line, "name": "step"}
    return {"action": action, "addr": address, "size": n_bytes, "stream": 0, "time_us": line, "frames": [frame]}


def block(address, n_bytes, requested, state):
    return {"address": address, "size": n_bytes, "requested_size": requested, "state": state, "frames": []}


def snapshot(base, second_base):
    """Two segments; the first is split in three, the second was bought and filled while events were recorded."""
    events = [event("alloc", base, 1000, 1), event("alloc", base + 1024, 700, 2),
              event("free_requested", base, 1000, 3), event("free_completed", base, 1000, 3),
              event("segment_alloc", second_base, 20 * MIB, 4), event("alloc", second_base, 20 * MIB, 4),
              event("alloc", base, 512, 5)]
    blocks = [block(base, 512, 512, "active_allocated"), block(base + 512, 512, 1000, "inactive"),
              block(base + 1024, 1024, 700, "active_allocated"),
              block(base + 2048, 2 * MIB - 2048, 0, "inactive")]
    segments = [{"device": 0, "address": base, "total_size": 2 * MIB, "segment_type": "small", "blocks": blocks},
                {"device": 0, "address": second_base, "total_size": 20 * MIB, "segment_type": "large",
                 "blocks": [block(second_base, 20 * MIB, 20 * MIB, "active_allocated")]}]
    return {"segments": segments, "device_traces": [events]}


def change(of, what):
    """A snapshot with one fault planted."""
    made = copy.deepcopy(of)
    events = made["device_traces"][0]
    what(made, events)
    return made


def resize(made, events):
    events[1]["size"] = 701
    made["segments"][0]["blocks"][2]["requested_size"] = 701


def swap(made, events):
    events[0], events[1] = events[1], events[0]


def move(made, events):
    events[6]["addr"] += 512
    blocks = made["segments"][0]["blocks"]
    blocks[0].update(state="inactive", requested_size=1000)
    blocks[1].update(state="active_allocated", requested_size=512)


def rename_one(made, events):
    """The last event names an address that no block has: the segments do not contain it."""
    events[6]["addr"] = events[0]["addr"] + 512


def grow(made, events):
    made["segments"][1]["total_size"] = 22 * MIB


def drop(made, events):
    events.pop()


def other_stream(made, events):
    events[5]["stream"] = 77


REAL = snapshot(0x7F0000000000, 0x7F1000000000)
MOVED = snapshot(0x500000000, 0x400000000)  # the same run at other addresses, in another order
FAULTS = [  # what was planted, the parts that must differ, all others being equal
    (resize, {"events", "allocated", "blocks"}),
    (swap, {"events", "addresses", "places"}),
    (move, {"blocks", "addresses", "places"}),
    (rename_one, {"addresses", "places"}),
    (grow, {"reserved", "segments", "blocks", "places"}),
    (drop, {"events", "allocated", "addresses", "places"}),
    (other_stream, {"events"}),
]


def run(folder, real, virtual, *more):
    for name, made in (("real", real), ("virtual", virtual)):
        (folder / name).write_bytes(made if isinstance(made, bytes) else pickle.dumps(made, protocol=4))
    return subprocess.run([sys.executable, str(COMPARE), str(folder / "real"), str(folder / "virtual"), *more],
                          capture_output=True, text=True, check=False)


def different(output):
    words = [line.split() for line in output.splitlines() if line.split()[0] in PARTS]
    assert [w[0] for w in words] == list(PARTS), output
    return {w[0] for w in words if w[1] == "DIFFERENT"}


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        done = run(folder, REAL, MOVED)
        assert done.returncode == 0 and different(done.stdout) == set(), done.stdout + done.stderr
        # 1000 and 700 were alive together; at the end 512, 700 and 20 MiB are.
        assert f"start 0, peak {20 * MIB + 1212}, end {20 * MIB + 1212}" in done.stdout, done.stdout
        assert f"start {2 * MIB}, peak {22 * MIB}, end {22 * MIB}" in done.stdout, done.stdout
        for fault, expected in FAULTS:
            done = run(folder, REAL, change(MOVED, fault))
            assert done.returncode == 1, (fault.__name__, done.stdout, done.stderr)
            assert different(done.stdout) == expected, (fault.__name__, different(done.stdout), done.stdout)
            others = ",".join(p for p in PARTS if p not in expected)
            assert run(folder, REAL, change(MOVED, fault), "--need", others).returncode == 0, fault.__name__
        shown = run(folder, REAL, change(MOVED, resize)).stdout
        assert "real    1: alloc of 700 bytes, train.py:2 step" in shown, shown
        assert "virtual 1: alloc of 701 bytes, train.py:2 step" in shown, shown
        assert "virtual 6: no more events" in run(folder, REAL, change(MOVED, drop)).stdout
        for bad in (b"", b"no pickle", pickle.dumps([1]), pickle.dumps({"segments": []})):
            done = run(folder, REAL, bad)
            assert done.returncode == 2 and done.stderr.count("\n") == 1, (bad, done.stderr)
        assert run(folder, REAL, MOVED, "--need", "everything").returncode == 2
        assert run(folder, REAL, MOVED, "--device", "1").returncode == 2
    print(f"{len(FAULTS)} planted faults, each seen in its own parts")


main()
