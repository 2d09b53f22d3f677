#!/usr/bin/env python3
"""Checks a snapshot in PyTorch's format by the rules of the tools that read it.

usage: check_export.py FILE.pickle [--json FILE.json] [--original FILE.pickle]

Python's own unpickler reads FILE.pickle and must find no global in it. With --json, that file must
hold the same values. With --original, FILE.pickle must hold the values of the original, except those
that other tools do not read (frames of segments, requested sizes of free blocks, order of keys).
The script is independent of the program that wrote the files.
"""
import json
import pickle
import pickletools
import sys

BATCH = 1000  # items at once; JavaScript readers overflow their stack on more
EXACT = 2**53  # integers become doubles
OPCODES = set(
    "PROTO FRAME MARK STOP NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 BINFLOAT SHORT_BINUNICODE BINUNICODE "
    "EMPTY_DICT EMPTY_LIST EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 LIST DICT APPEND APPENDS SETITEM SETITEMS MEMOIZE "
    "BINPUT LONG_BINPUT BINGET LONG_BINGET".split()
)
STATES = {"active_allocated", "active_pending_free", "inactive"}
AT_ADDRESS = {
    "alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap"
}
ACTIONS = AT_ADDRESS | {"oom", "snapshot"}


class Wrong(Exception):
    """A rule is broken."""


def need(condition, *what):
    if not condition:
        raise Wrong(" ".join(str(part) for part in what))


class DataOnly(pickle.Unpickler):
    def find_class(self, module, name):
        raise Wrong(f"the pickle names {module}.{name}")

    def persistent_load(self, pid):
        raise Wrong("the pickle has a persistent id")


def check_opcodes(data):
    """Protocol, opcodes and the size of batches; a walk over the opcodes, not over the values."""
    heights = []  # values since each open mark
    height = 0
    for opcode, argument, position in pickletools.genops(data):
        name = opcode.name
        need(name in OPCODES, f"opcode {name} at byte {position}")
        if name == "PROTO":
            need(argument == 4, "protocol", argument)
        elif name == "MARK":
            heights.append(height)
            height = 0
            continue
        elif name in ("APPENDS", "SETITEMS"):
            limit = BATCH if name == "APPENDS" else 2 * BATCH
            need(0 < height <= limit, f"{height} values in one {name} at byte {position}")
            height = heights.pop()
            continue
        elif name == "LONG1":
            need(-EXACT < argument < EXACT, f"{argument} at byte {position}")
        elif name == "TUPLE2":
            height -= 2
        height += len(opcode.stack_after) - (1 if name == "MEMOIZE" else 0) if name != "MEMOIZE" else 0
    need(not heights, "a mark is left open")


def check_integers(value, seen):
    if isinstance(value, bool):
        return
    if isinstance(value, int):
        need(abs(value) < EXACT, value, "is not exact in a double")
    elif isinstance(value, (dict, list, tuple)) and id(value) not in seen:
        seen.add(id(value))
        for item in value.values() if isinstance(value, dict) else value:
            check_integers(item, seen)


def check_frames(frames, good={}):
    """Lists that many events share are looked at once; `good` keeps them, so that no id is used twice."""
    need(isinstance(frames, list), "frames are no list")
    if id(frames) in good:
        return
    good[id(frames)] = frames
    for frame in frames:
        need(set(frame) == {"name", "filename", "line"}, "keys of a frame:", sorted(frame))
        need(isinstance(frame["name"], str) and isinstance(frame["filename"], str), "a frame's texts")
        need(isinstance(frame["line"], int), "a frame's line")


def check_segment(segment):
    keys = {"device", "address", "total_size", "allocated_size", "active_size", "requested_size", "stream", "segment_type",
            "segment_pool_id", "is_expandable", "frames", "blocks"}
    need(set(segment) == keys, "keys of a segment:", sorted(segment))
    need(segment["segment_type"] in ("small", "large"), segment["segment_type"])
    need(len(segment["segment_pool_id"]) == 2, "a pool's id")
    at = segment["address"]
    sums = {"allocated_size": 0, "active_size": 0, "requested_size": 0}
    for block in segment["blocks"]:
        need(block["address"] == at, "a block does not follow the one before it")
        need(block["state"] in STATES, block["state"])
        need("frames" in block and "requested_size" in block, "a block without frames or requested_size")
        need(block["requested_size"] <= block["size"], "a block smaller than its request")
        check_frames(block["frames"])
        at += block["size"]
        if block["state"] != "inactive":
            sums["active_size"] += block["size"]
            sums["requested_size"] += block["requested_size"]
        if block["state"] == "active_allocated":
            sums["allocated_size"] += block["size"]
    need(at == segment["address"] + segment["total_size"], "the blocks do not fill the segment")
    for key, value in sums.items():
        need(segment[key] == value, key, segment[key], "is not", value)


def check_event(event):
    need(event["action"] in ACTIONS, "action", event["action"])
    need(isinstance(event["size"], int) and isinstance(event["stream"], int), "size or stream")
    key = "device_free" if event["action"] == "oom" else "addr"
    need(isinstance(event[key], int), key)
    for key in ("compile_context", "user_metadata"):
        need(isinstance(event[key], str), key)
    check_frames(event["frames"])


class Memory:
    """Segments and blocks of one device, walked backwards from the dump as viewers do it."""

    def __init__(self, segments):
        self.mapped = {}  # address -> size, of segments and of pieces of expandable ones
        self.pieces = []  # expandable: [begin, end)
        self.blocks = {}  # address -> [size, pending]
        for segment in segments:
            if segment["is_expandable"]:
                self.pieces.append([segment["address"], segment["address"] + segment["total_size"]])
            else:
                self.mapped[segment["address"]] = segment["total_size"]
            for block in segment["blocks"]:
                if block["state"] != "inactive":
                    self.blocks[block["address"]] = [block["requested_size"], block["state"] == "active_pending_free"]

    def holds(self, address):
        return any(begin <= address < end for begin, end in self.pieces) or any(
            begin <= address < begin + size for begin, size in self.mapped.items())

    def unmap(self, begin, end):
        for piece in self.pieces:
            if piece[0] <= begin and end <= piece[1]:
                self.pieces.remove(piece)
                self.pieces += [p for p in ([piece[0], begin], [end, piece[1]]) if p[0] < p[1]]
                return
        raise Wrong(f"{begin:#x} was mapped, but is not there")

    def remap(self, begin, end):
        for piece in [piece for piece in self.pieces if piece[1] == begin or piece[0] == end]:
            self.pieces.remove(piece)
            begin, end = min(begin, piece[0]), max(end, piece[1])
        self.pieces.append([begin, end])

    def back(self, event):
        action, address, size = event["action"], event.get("addr"), event["size"]
        if action == "alloc":
            need(address in self.blocks, f"alloc at {address:#x}: not there afterwards")
            need(self.blocks.pop(address) == [size, False], f"alloc at {address:#x}: another size or state")
        elif action == "free_completed":
            need(address not in self.blocks, f"free_completed at {address:#x}: still there")
            need(self.holds(address), f"free_completed at {address:#x}: in no segment")
            self.blocks[address] = [size, True]
        elif action == "free_requested":
            need(self.blocks.get(address) == [size, True], f"free_requested at {address:#x}: no block that waits")
            self.blocks[address][1] = False
        elif action == "segment_alloc":
            need(self.mapped.pop(address, None) == size, f"segment_alloc at {address:#x}: not there afterwards")
        elif action == "segment_free":
            need(address not in self.mapped, f"segment_free at {address:#x}: still there")
            self.mapped[address] = size
        elif action == "segment_map":
            self.unmap(address, address + size)
        elif action == "segment_unmap":
            self.remap(address, address + size)


def check_trace(device, trace, segments):
    memory = Memory([segment for segment in segments if segment["device"] == device])
    for index in range(len(trace) - 1, -1, -1):
        try:
            check_event(trace[index])
            memory.back(trace[index])
        except Wrong as wrong:
            raise Wrong(f"device {device}, event {index}: {wrong}") from None


def check_categories(traces):
    events = [event for trace in traces for event in trace]
    named = [event["category"] for event in events if "category" in event]
    need(not named or "unknown" in named, "categories without an explicit 'unknown'")


def check(snapshot):
    need(set(snapshot) == {"segments", "device_traces", "allocator_settings", "external_annotations"}, sorted(snapshot))
    check_integers(snapshot, set())
    places = [(segment["device"], segment["address"]) for segment in snapshot["segments"]]
    need(places == sorted(places), "segments are not in order")
    for segment in snapshot["segments"]:
        check_segment(segment)
    need(all(device < len(snapshot["device_traces"]) for device, _ in places), "a device without a trace")
    for device, trace in enumerate(snapshot["device_traces"]):
        check_trace(device, trace, snapshot["segments"])
    check_categories(snapshot["device_traces"])
    for annotation in snapshot["external_annotations"]:
        need(set(annotation) == {"stage", "name", "device", "time_us"}, sorted(annotation))
        need(annotation["stage"] in ("START", "END"), annotation["stage"])


def plain(value):
    """Tuples as lists, as JSON has them."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return {key: plain(item) for key, item in value.items()} if isinstance(value, dict) else value


def what_was_said(snapshot):
    """What an import must keep of a file, in one form for old and new files."""
    segments = [
        {key: segment[key] for key in ("device", "address", "total_size", "stream", "segment_type", "is_expandable",
                                       "segment_pool_id", "allocated_size", "active_size", "requested_size")}
        | {"blocks": [(b["address"], b["size"], b["state"],
                       (b["requested_size"], b["frames"]) if b["state"] != "inactive" else None)
                      for b in segment["blocks"]]}
        for segment in snapshot["segments"]
    ]
    traces = []
    for trace in snapshot["device_traces"]:
        events = []
        for event in trace:
            said = {"action": event["action"], "size": event["size"], "stream": event["stream"],
                    "frames": event.get("frames", []), "compile": event.get("compile_context", "N/A"),
                    "metadata": event.get("user_metadata", ""), "time": event.get("time_us")}
            said["at"] = event["device_free"] if event["action"] == "oom" else event["addr"]
            before = events[-1] if events else None
            if (before and event["action"] == "free_completed" and before["action"] == "free_requested"
                    and before["at"] == said["at"] and before["frames"] == said["frames"]):
                said["time"] = before["time"]  # one row: the time of the request
            events.append(said)
        traces.append(events)
    return {"segments": segments, "traces": traces, "settings": snapshot.get("allocator_settings", {}),
            "annotations": snapshot.get("external_annotations", [])}


def compare(new, old):
    for part in old:
        if old[part] == new[part]:
            continue
        if part == "traces":
            for device, (a, b) in enumerate(zip(new[part], old[part])):
                need(len(a) == len(b), f"device {device} has {len(a)} events, not {len(b)}")
                for index, (left, right) in enumerate(zip(a, b)):
                    need(left == right, f"device {device}, event {index}: {left} is not {right}")
        raise Wrong(f"{part} differ from the original")


def main(arguments):
    with open(arguments[0], "rb") as file:
        data = file.read()
    check_opcodes(data)
    with open(arguments[0], "rb") as file:
        snapshot = DataOnly(file).load()
    check(snapshot)
    for option, path in zip(arguments[1::2], arguments[2::2]):
        if option == "--json":
            with open(path, encoding="utf-8") as file:
                need(json.load(file) == plain(snapshot), "JSON and pickle differ")
        elif option == "--original":
            with open(path, "rb") as file:
                compare(what_was_said(snapshot), what_was_said(DataOnly(file).load()))
    n_events = sum(len(trace) for trace in snapshot["device_traces"])
    print(f"{len(snapshot['segments'])} segments, {n_events} events: good")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Wrong as wrong:
        sys.exit(f"check_export.py: {sys.argv[1]}: {wrong}")
