"""Runs a script that is being recorded by a preloaded library, with PyTorch's own memory history beside it.

  recorded.py [--stacks python|all] [--own] FOLDER SCRIPT [ARGUMENT...]

Whenever the history is read, by the script or at its end, it goes to FOLDER/reading-N.pickle with what was asked for.
Marks in the log say where each history began ("history on"; none if that was before the first row) and where it was read
("history read N"). At the last reading the library is asked for a snapshot of its own, FOLDER/own.json.gz. With --own only the script
switches the history on.
"""
import argparse
import ctypes
import gc
import os
import pickle
import runpy
import sys

import torch

memory = torch.cuda.memory
library = ctypes.CDLL(None)
library.tidemark_live_mark.argtypes = [ctypes.c_char_p]
library.tidemark_live_snapshot.argtypes = [ctypes.c_char_p]


VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])
LACKS = () if hasattr(memory, "_annotate_tensor") else ("annotate",)  # actions that this PyTorch does not have


def leave_out_sources():
    """After a line of generated code, PyTorch puts those of the program that the code was made from: no call stack
    has them."""
    cache = sys.modules.get("torch._inductor.codecache")
    if cache is not None:
        cache.PyCodeCache.stack_frames_for_code = staticmethod(lambda path, line: None)


def mark(text):
    """Nothing happens before the library's first row; there is no log yet."""
    library.tidemark_live_mark(text.encode())


class Oracle:
    """Stands in the place of PyTorch's two functions, and calls them."""

    def __init__(self, folder):
        self.folder = folder
        self.switch, self.look = memory._record_memory_history, memory._snapshot
        self.is_on, self.n_readings, self.max_entries = False, 0, 0
        self.has_all = False  # the history is on since before the first event
        memory._record_memory_history, memory._snapshot = self.record, self.snapshot

    def record(self, enabled="all", *arguments, **named):
        if enabled is None:
            self.is_on = self.has_all = False
            self.switch(None)
            return
        self.max_entries = named.get("max_entries", sys.maxsize)
        if not self.is_on or named.get("clear_history"):
            mark("history on")
        self.is_on = True
        self.switch(enabled, *arguments, **named)

    def snapshot(self, *arguments, **named):
        mark(f"history read {self.n_readings}")
        leave_out_sources()
        found = self.look(*arguments, **named)
        path = os.path.join(self.folder, f"reading-{self.n_readings}.pickle")
        with open(path, "wb") as file:
            pickle.dump({"snapshot": found, "is_on": self.is_on, "max_entries": self.max_entries,
                         "has_all": self.has_all, "process": os.getpid(), "torch": VERSION, "lacks": LACKS}, file)
        self.n_readings += 1
        return found

    def end(self):
        gc.disable()  # nothing is freed between their snapshot and ours
        self.snapshot()
        if library.tidemark_live_snapshot(os.path.join(self.folder, "own.json.gz").encode()) != 0:
            sys.exit("recorded.py: the preloaded library wrote no snapshot")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stacks", default="python")
    parser.add_argument("--own", action="store_true")
    parser.add_argument("folder")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    chosen = parser.parse_args()
    torch.cuda.init()
    oracle = Oracle(chosen.folder)
    if not chosen.own:
        memory._record_memory_history(max_entries=1 << 30, stacks=chosen.stacks)
        oracle.has_all = True
    sys.argv = [chosen.script, *chosen.arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(chosen.script)))
    try:
        runpy.run_path(chosen.script, run_name="__main__")
    finally:
        oracle.end()


if __name__ == "__main__":
    main()
