"""Reads what the checks need of a snapshot: every allocation with its sizes and the functions of its call stack."""
import gzip
import json
from pathlib import Path

ALLOC = "alloc"


class Snapshot:
    def __init__(self, path: Path):
        with gzip.open(path) as file:
            self.document = json.load(file)

    def allocations(self, function: str) -> list[int]:
        """Requested bytes of the allocations that have a function of this name in their stack, in order."""
        document = self.document
        texts, frames, stacks = document["strings"], document["frames"], document["stacks"]
        is_in = [False] * len(stacks["parent"])
        for i, (parent, frame) in enumerate(zip(stacks["parent"], stacks["frame"])):
            name = frames["function"][frame]
            is_in[i] = (parent >= 0 and is_in[parent]) or (name >= 0 and texts[name].split(".")[-1] == function)
        events = document["events"]
        return [
            n_bytes
            for action, n_bytes, stack in zip(events["action"], events["requested_bytes"], events["stack"])
            if action == 0 and stack >= 0 and is_in[stack]
        ]
