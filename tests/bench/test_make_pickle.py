#!/usr/bin/env python3
"""The pickles that make_pickle.py writes: Python reads them, they have the shape of PyTorch's, and tidemark finds no
contradiction in them."""
import os
import pickle
import subprocess
import sys
import tempfile

from make_pickle import write

EVENTS = 4000


def check(condition, what):
    if not condition:
        sys.exit(f"make_pickle.py: {what}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "made.pickle")
        again = os.path.join(folder, "again.pickle")
        write(path, EVENTS, 1)
        write(again, EVENTS, 1)
        with open(path, "rb") as file, open(again, "rb") as second:
            data = file.read()
            check(data == second.read(), "the same arguments write other bytes")
        (trace,) = pickle.loads(data)["device_traces"]
        check(len(trace) >= EVENTS, f"{len(trace)} events")
        check(set(trace[0]) == {"action", "addr", "size", "stream", "time_us", "compile_context", "user_metadata", "frames"}, "keys")
        lists = {id(event["frames"]) for event in trace}
        frames = {id(frame) for event in trace for frame in event["frames"]}
        check(0.6 < len(lists) / len(trace) < 0.7, "a free's two events share one list, and others have their own")
        check(len(frames) < 1000, f"{len(frames)} frames")
        for before, event in zip(trace, trace[1:]):
            if event["action"] == "free_completed":
                check(event["frames"] is before["frames"], "a free has two lists")
        command = [os.environ["TIDEMARK_CLI"], "summary", path]
        said = subprocess.run(command, check=True, capture_output=True, text=True)
        check(f"{len(trace)} events" in said.stdout, said.stdout)
        check("contradict" not in said.stdout + said.stderr, said.stdout + said.stderr)


main()
