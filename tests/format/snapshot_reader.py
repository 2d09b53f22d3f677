"""A reader of snapshot files, written from docs/reference/snapshot-format.md alone, independently of the C reader.

read(path) gives a Snapshot with decoded tables; Walk goes through the events of one device and knows what is alive.
"""

from __future__ import annotations

import gzip
import json
from itertools import accumulate
from pathlib import Path

NAMES = {
    "actions": "alloc free free_requested free_completed segment_alloc segment_free segment_map segment_unmap oom mark",
    "categories": "unknown parameter gradient optimizer_state activation temporary workspace input weight_copy kv_cache",
    "scope_kinds": "step phase layer operator user",
    "block_states": "free allocated pending_free",
}
REQUIRED = "format version address_unit_bytes devices streams strings frames stacks scopes start end events".split()
CERTAINTIES = ("unknown", "by rule", "named")
TOTALS = ("requested", "allocated", "active", "reserved")


def rows(columns: dict, *names: str) -> list[tuple]:
    """The rows of a table whose columns are all there and equally long."""
    assert len({len(columns[name]) for name in names}) == 1, "columns of unequal length"
    return list(zip(*(columns[name] for name in names)))


class Snapshot:
    def __init__(self, document: dict):
        missing = [key for key in REQUIRED if key not in document]
        assert not missing, f"without {missing}"
        assert document["format"] == "tidemark-snapshot" and document["version"] == 1
        self.document = document
        self.unit = document["address_unit_bytes"]
        self.strings = document["strings"]
        names = {key: document.get(key, words.split()) for key, words in NAMES.items()}
        self.actions, self.states = names["actions"], names["block_states"]
        self.categories = [name or "unknown" for name in names["categories"]]
        self.kinds = [name if name in NAMES["scope_kinds"].split() else "user" for name in names["scope_kinds"]]
        assert set(self.actions) <= set(NAMES["actions"].split()), "an unknown action"
        self.frames = rows(document["frames"], "function", "file", "line", "inlined")
        self.stacks = rows(document["stacks"], "parent", "frame")
        columns = "parent kind name index thread duration device_begin device_duration".split()
        begins = accumulate(document["scopes"]["begin_delta"])
        self.scopes = [
            dict(zip(columns, row), begin=begin) for row, begin in zip(rows(document["scopes"], *columns), begins)
        ]
        self.events = self._events(document["events"])

    def _events(self, columns: dict) -> list[dict]:
        plain = "action device requested_bytes block_bytes stream stack category name".split()
        self.has_certainty = "certainty" in columns or any(
            "certainty" in block
            for which in ("start", "end")
            for segment in self.document[which]["segments"]
            for block in segment["blocks"]
        )
        plain += ["certainty"] * ("certainty" in columns)
        events = [dict(zip(plain, row)) for row in rows(columns, *plain)]
        for key, delta in (("time", "time_delta"), ("address", "address_delta"), ("scope", "scope_delta")):
            assert len(columns[delta]) == len(events)
            for event, value in zip(events, accumulate(columns[delta])):
                event[key] = value * self.unit if key == "address" else value
        for event in events:
            event["action"] = self.actions[event["action"]]
            event["category"] = self.categories[event["category"]]
            event["certainty"] = CERTAINTIES[event.get("certainty", 0)]
        return events

    def text(self, string: int) -> str:
        return "" if string < 0 else self.strings[string]

    def frame(self, stack: int) -> str:
        """The innermost frame as "function file:line"."""
        function, file, line, _ = self.frames[self.stacks[stack][1]]
        return f"{self.text(function)} {self.text(file)}:{line}"

    def named_frame(self, stack: int) -> str:
        """The innermost frame that has a name or a file."""
        parent = self.stacks[stack][0]
        return self.named_frame(parent) if parent >= 0 and self.frame(stack) == " :0" else self.frame(stack)

    def frames_of(self, stack: int) -> list[int]:
        """Frames from the outermost inwards."""
        return [] if stack < 0 else [*self.frames_of(self.stacks[stack][0]), self.stacks[stack][1]]

    def label(self, scope: int) -> str:
        row = self.scopes[scope]
        return self.text(row["name"]) + (f" {row['index']}" if row["index"] >= 0 else "")

    def around(self, scope: int) -> list[int]:
        """The scope and those around it, from the innermost outwards."""
        return [] if scope < 0 else [scope, *self.around(self.scopes[scope]["parent"])]

    def path(self, scope: int) -> str:
        """ "backward > layer 5 > attention": without steps."""
        shown = [s for s in self.around(scope) if self.kinds[self.scopes[s]["kind"]] != "step"]
        return " > ".join(self.label(s) for s in reversed(shown))

    def nearest(self, scope: int, kind: str) -> int:
        """The innermost scope of a kind around a row; -1: none."""
        return next((s for s in self.around(scope) if self.kinds[self.scopes[s]["kind"]] == kind), -1)

    def boundary(self, which: str, device: int) -> tuple[dict, dict]:
        """Segments and used blocks of a device by address, at the "start" or the "end"."""
        segments, blocks = {}, {}
        for segment in self.document[which]["segments"]:
            if segment["device"] != device:
                continue
            address = segment["address"] * self.unit
            segments[address] = segment["total_bytes"]
            at = 0
            for block in segment["blocks"]:
                assert block["offset_bytes"] == at, "blocks that do not tile their segment"
                at += block["block_bytes"]
                if self.states[block["state"]] != "free":
                    used = dict(block, state=self.states[block["state"]])
                    used["category"] = self.categories[block["category"]]
                    used["certainty"] = CERTAINTIES[block.get("certainty", 0)]
                    blocks[address + block["offset_bytes"]] = used
            assert at == segment["total_bytes"], "blocks that do not fill their segment"
        return segments, blocks


class Walk:
    """What is alive on one device, from the start on, row by row."""

    def __init__(self, snapshot: Snapshot, device: int):
        self.segments, self.blocks = snapshot.boundary("start", device)
        self.reserved = sum(self.segments.values())
        self.unmatched = 0

    def totals(self) -> dict[str, int]:
        alive = self.blocks.values()
        return {
            "requested": sum(block["requested_bytes"] for block in alive),
            "allocated": sum(block["block_bytes"] for block in alive if block["state"] == "allocated"),
            "active": sum(block["block_bytes"] for block in alive),
            "reserved": self.reserved,
        }

    def apply(self, event: dict) -> None:
        action, address, n_bytes = event["action"], event["address"], event["block_bytes"]
        if action == "alloc":
            self.unmatched += address in self.blocks
            self.blocks[address] = dict(event, state="allocated")
        elif action in ("free", "free_requested", "free_completed") and address not in self.blocks:
            self.unmatched += 1
        elif action == "free_requested":
            self.blocks[address]["state"] = "pending_free"
        elif action in ("free", "free_completed"):
            del self.blocks[address]
        elif action in ("segment_alloc", "segment_map"):
            self.reserved += n_bytes
        elif action in ("segment_free", "segment_unmap"):
            self.reserved -= n_bytes


def read(path: str | Path) -> Snapshot:
    data = Path(path).read_bytes()
    return Snapshot(json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data))
