"""Compares PyTorch's own memory history with the preloaded library's recording of the same run.

Events are compared one by one: action, device, address, size, stream, pool, order, and every Python frame of their
stacks. At the last reading the segments and blocks are compared also, and what `tidemark` exports of its snapshot.
"""
import collections
import pickle
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import native

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "live"))
from read_log import Log  # noqa: E402

NOT_TOLD = ()  # the pool, in the history of some versions of PyTorch and in what tidemark exports
NO_LINE = (1 << 64) - 1  # of code that belongs to no line
SHOWN = 4  # differences of a kind


class Event(NamedTuple):
    action: str
    device: int
    address: int  # oom: the device's free memory
    size: int
    stream: int
    pool: tuple
    frames: tuple  # (file, line, name), innermost first; of Python only


class Result:
    """What was compared: n of everything, and how many of each kind are different."""

    def __init__(self):
        self.counts = dict.fromkeys(("events", "frames", "exported", "segments", "blocks"), 0)
        self.different, self.texts, self.actions, self.notes = {}, [], set(), []
        self.shape = collections.Counter()  # of action, device and size of every event that was compared

    def differs(self, kind, *what):
        self.different[kind] = self.different.get(kind, 0) + 1
        if self.different[kind] <= SHOWN:
            self.texts.append(f"{kind}: " + "; ".join(str(part) for part in what))

    def says(self):
        said = ", ".join(f"{n} {kind}" for kind, n in self.counts.items())
        return f"{said}; {sum(self.different.values())} different" + "".join(f"; {note}" for note in self.notes)


# ---- ours


def plain(name):
    """PyTorch records a function's name without its class."""
    return name.rsplit(".", 1)[-1]


def of_log(log, action, row):
    frames = tuple((file, line, plain(name)) for file, line, name in log.python(row))
    address = row.block if action == "oom" else row.address
    pool = log.pools.get(row.pool, (0, 0))
    return Event(action, row.device, address, row.requested, log.streams.get(row.stream, 0), pool, frames)


class Window(NamedTuple):
    """The events until a reading, as {device: [Event]}: all, and those since its history began."""

    before: dict
    events: dict


def windows(log):
    found, before, begins = [], {}, {}
    in_order = iter(log.events())
    upcoming = next(in_order, None)
    for row in log.rows:
        name = log.text(row.name) if log.action(row) == "mark" else ""
        if name == "history on":
            begins = {device: len(events) for device, events in before.items()}
        elif name and name.startswith("history read "):
            now = {device: list(events) for device, events in before.items()}
            found.append(Window(now, {device: events[begins.get(device, 0):] for device, events in now.items()}))
        while upcoming is not None and upcoming[1] is row:
            before.setdefault(row.device, []).append(of_log(log, *upcoming))
            upcoming = next(in_order, None)
    return found


# ---- theirs


def is_python(frame):
    """Native frames have no line, or that of a source in C++."""
    is_named = frame["line"] > 0 or frame["filename"].endswith(".py")
    return is_named and not frame["filename"].endswith((".c", ".h", ".cpp", ".cc", ".cu", ".S"))


def frames_of(entry):
    return tuple((f["filename"], f["line"] if f["line"] != NO_LINE else 0, f["name"])
                 for f in entry.get("frames", ()) if is_python(f))


def of_trace(device, entry):
    address = entry["addr"] if "addr" in entry else entry["device_free"]
    pool = tuple(entry.get("pool_id", NOT_TOLD))
    return Event(entry["action"], device, address, entry["size"], entry["stream"], pool, frames_of(entry))


# ---- beside each other


SAYS_NOTHING_OF_MEMORY = ("snapshot", "annotate")  # only their places are compared


def compare_event(result, what, i, mine, other):
    result.actions.add(other.action)
    if other.action in SAYS_NOTHING_OF_MEMORY:
        other = mine._replace(action=other.action)
    if other.pool == NOT_TOLD:
        other = other._replace(pool=mine.pool)
    for field in Event._fields:
        a, b = getattr(mine, field), getattr(other, field)
        if a == b:
            continue
        if field == "frames":
            at = next((k for k, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
            a, b = f"{len(a)} frames, at {at} {a[at:at + 2]}", f"{len(b)} frames, {b[at:at + 2]}"
        result.differs(f"{what} {field}", f"event {i} of device {other.device}, {other.action}", f"ours {a}", f"theirs {b}")


def compare_events(result, ours, theirs, max_entries=sys.maxsize, kind="events"):
    """ours, theirs: {device: [Event]}."""
    for device in sorted(set(ours) | set(theirs)):
        mine, other = ours.get(device, []), theirs.get(device, [])
        kept = mine[max(0, len(mine) - max_entries):]
        if len(kept) != len(other):
            result.differs(f"{kind} number", f"device {device}", f"ours {len(kept)}", f"theirs {len(other)}")
        for i, pair in enumerate(zip(kept, other)):
            compare_event(result, kind, i, *pair)
        if kind == "events":
            result.shape.update((e.action, e.device, e.size) for e in other)
        result.counts[kind] += len(other)
        result.counts["frames"] += sum(len(e.frames) for e in other) if kind == "events" else 0


STATES = {"active_awaiting_free": "active_pending_free"}  # the name until PyTorch 2.1
SEGMENT_FIELDS = ("total_size", "stream", "allocated_size", "active_size", "requested_size", "segment_type", "segment_pool_id", "is_expandable")


def compare_segments(result, ours, theirs, has_all_stacks, fields):
    """Both in the form of PyTorch's snapshot. has_all_stacks: theirs has the stack of every block."""
    mine = {(s["device"], s["address"]): s for s in ours}
    other = {(s["device"], s["address"]): s for s in theirs}
    for key in sorted(mine.keys() ^ other.keys()):
        result.differs("segments", f"segment {key} is only {'ours' if key in mine else 'theirs'}")
    for key in sorted(mine.keys() & other.keys()):
        for field in fields:
            a, b = mine[key].get(field), other[key].get(field)
            a, b = (tuple(a), tuple(b)) if isinstance(b, (list, tuple)) else (a, b)
            if field in other[key] and a != b:
                result.differs(f"segment {field}", key, f"ours {a}", f"theirs {b}")
        compare_blocks(result, key, mine[key]["blocks"], other[key]["blocks"], has_all_stacks)
    result.counts["segments"] += len(other)


def shown_block(block):
    state = STATES.get(block["state"], block["state"])
    return block["address"], block["size"], state, block["requested_size"] if state != "inactive" else 0


def compare_blocks(result, key, ours, theirs, has_all_stacks):
    mine, other = list(map(shown_block, ours)), list(map(shown_block, theirs))
    for pair in sorted(set(mine) ^ set(other)):
        result.differs("blocks", f"segment {key}", pair, "only " + ("ours" if pair in mine else "theirs"))
    for a, b in zip(ours, theirs):
        mine, other = tuple((f["filename"], f["line"], plain(f["name"])) for f in a["frames"] if is_python(f)), frames_of(b)
        is_known = b["state"] != "inactive" and (has_all_stacks or other)
        if is_known and shown_block(a) == shown_block(b) and mine != other:
            result.differs("block frames", key, f"ours {mine[:2]}", f"theirs {other[:2]}")
    result.counts["blocks"] += len(theirs)


def compare_exported(result, snapshot, before):
    """Compares `tidemark export` of our snapshot with the log that it came from."""
    for device, trace in enumerate(snapshot["device_traces"]):
        events = [of_trace(device, entry) for entry in trace]
        events = [e._replace(frames=tuple((f, n, plain(name)) for f, n, name in e.frames)) for e in events]
        n = len(before.get(device, ()))  # the reading itself follows
        events = [e._replace(action="annotate") if e.action == "snapshot" else e for e in events[:n]]
        mine = [e._replace(action="annotate") if e.action == "snapshot" else e for e in before.get(device, ())]
        compare_events(result, {device: mine}, {device: events}, kind="exported")


def load(path):
    with open(path, "rb") as file:
        return pickle.load(file)


# ---- a whole run


def traces_of(reading):
    return {device: [of_trace(device, entry) for entry in trace]
            for device, trace in enumerate(reading["snapshot"]["device_traces"])}


def export(tidemark, path):
    """PyTorch's form of one of our snapshots."""
    subprocess.run([tidemark, "export", path, "--to", "pytorch", "-o", path.with_suffix(".pickle")], check=True,
                   capture_output=True, text=True)
    return load(path.with_suffix(".pickle"))


class Run:
    """What recorded.py left in the folder."""

    def __init__(self, tidemark, folder, stacks):
        self.stacks = stacks
        paths = sorted(folder.glob("reading-*.pickle"), key=lambda path: int(path.stem.split("-")[1]))
        self.readings = [load(path) for path in paths]
        if not paths:
            raise ValueError("PyTorch's history was never read")
        self.log = Log(folder / f"{self.readings[-1]['process']}.log")
        self.own = export(tidemark, folder / "own.json.gz")

    def theirs(self, reading):
        """The requested part of the history."""
        traces = traces_of(reading)
        if self.stacks != "native":
            return traces
        return {device: [event._replace(frames=()) for event in events] for device, events in traces.items()}

    def can_see(self, fault):
        """Whether PyTorch records what the fault changes. PyTorch 2.14 records everything."""
        has_pools = any("pool_id" in entry for trace in self.readings[-1]["snapshot"]["device_traces"] for entry in trace)
        can = {"another pool": has_pools, "a segment of another pool": self.readings[-1]["torch"] >= (2, 8)}
        return can.get(fault, True) or self.readings[-1]["torch"] >= (2, 14)

    def fields(self, result):
        """Those of segments. Before PyTorch 2.8 an event does not name its pool, and the log must admit it."""
        if self.readings[-1]["torch"] >= (2, 8):
            return SEGMENT_FIELDS
        result.notes.append("no pools are reported")
        if "private pools are not recorded" not in self.log.texts.get("live.limited", ""):
            result.differs("pools", "the log does not say that they are unknown", self.log.texts.get("live.limited"))
        return tuple(field for field in SEGMENT_FIELDS if field != "segment_pool_id")

    def compared(self):
        result, found = Result(), windows(self.log)
        if len(found) != len(self.readings):
            raise ValueError(f"the log has {len(found)} readings of {len(self.readings)}")
        for window, reading in zip(found, self.readings):
            if reading["is_on"]:
                compare_events(result, window.events, self.theirs(reading), reading["max_entries"])
        last = self.readings[-1]
        if self.stacks != "python":
            native.compare(result, self.own["device_traces"][0], last["snapshot"]["device_traces"][0], is_python)
        if self.stacks == "native":  # there are no frames of Python's to compare
            last["has_all"] = False
            for segment in last["snapshot"]["segments"]:
                for block in segment["blocks"]:
                    block["frames"] = []
        compare_segments(result, self.own["segments"], last["snapshot"]["segments"], last["has_all"], self.fields(result))
        compare_exported(result, self.own, found[-1].before)
        return result
