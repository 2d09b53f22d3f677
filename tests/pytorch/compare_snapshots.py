"""Compares two snapshots of PyTorch's allocator: the events one by one, and what remains on the card.

  compare_snapshots.py REAL VIRTUAL [--device N] [--need PART[,PART...]] [--json]

Parts: events (action, size and stream of every event, in order), allocated (start, peak and end, by requested sizes),
reserved (start, peak and end), segments (their sizes), blocks (every segment's whole list of blocks, unordered),
addresses (those of the events are equal up to a renaming), places (segment and offset of each event are equal up to a
renaming of segments). --need names the parts that must be equal; without it all must.

Two runs never share addresses. So a place is a segment, numbered by its first use, and the offset inside it. Exit
status: 0 equal, 1 different in a part that is needed, 2 a file cannot be used.
"""
import argparse
import bisect
import json
import pickle
import sys
from collections import Counter

PARTS = ("events", "allocated", "reserved", "segments", "blocks", "addresses", "places")
TAKES = {"allocated": {"alloc": 1, "free_completed": -1},
         "reserved": {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}}
ALIVE = ("active_allocated", "active_pending_free", "active_awaiting_free")


class Snapshot:
    """The events and segments of one device; a snapshot event is not an allocation and is skipped."""

    def __init__(self, path, device):
        with open(path, "rb") as file:
            data = pickle.load(file)
        traces = data["device_traces"]
        if device >= len(traces):
            raise ValueError(f"{path} has no device {device}")
        self.events = [e for e in traces[device] if e["action"] != "snapshot"]
        self.segments = [s for s in data["segments"] if s["device"] == device]


def described(event):
    stream = "default" if event.get("stream", 0) == 0 else "other"
    return event["action"], event["size"], stream


def frames(event):
    """The Python frames of our caller and of PyTorch, innermost first."""
    shown = [f for f in event.get("frames", []) if f["filename"].endswith(".py") or f["filename"] == "<string>"]
    names = [f["filename"].replace("\\", "/").rsplit("/", 1)[-1] + f":{f['line']} {f['name']}" for f in shown]
    return " < ".join(names[:5]) or "no Python frame"


def first_difference(a, b):
    """The index at which two lists differ first; None: they are equal."""
    for i, (x, y) in enumerate(zip(a, b)):
        if x != y:
            return i
    return None if len(a) == len(b) else min(len(a), len(b))


def levels(snapshot, kind):
    """Start, peak and end in bytes: the end is in the segments, and the events are followed back from there."""
    if kind == "reserved":
        end = sum(s["total_size"] for s in snapshot.segments)
    else:
        end = sum(b.get("requested_size", b["size"]) for s in snapshot.segments for b in s["blocks"]
                  if b["state"] in ALIVE)
    now = peak = end
    for event in reversed(snapshot.events):
        now -= TAKES[kind].get(event["action"], 0) * event["size"]
        peak = max(peak, now)
    return {"start": now, "peak": peak, "end": end}


def renumbered(names):
    """Each name replaced by a number in the order of first use: equal lists mean equal up to a renaming."""
    numbers = {}
    return [None if name is None else numbers.setdefault(name, len(numbers)) for name in names]


def places(snapshot):
    """(segment, its size, offset) of each event's address; None if its segment was released before the dump."""
    segments = sorted((s["address"], s["total_size"]) for s in snapshot.segments)
    starts = [address for address, _ in segments]
    found, offsets = [], []
    for event in snapshot.events:
        address = event.get("addr", 0)
        i = bisect.bisect_right(starts, address) - 1
        inside = i >= 0 and address < segments[i][0] + segments[i][1]
        found.append(i if inside else None)
        offsets.append((segments[i][1], address - segments[i][0]) if inside else None)
    return list(zip(renumbered(found), offsets))


def block_lists(snapshot):
    return Counter((s["total_size"], s["segment_type"],
                    tuple((b["size"], b.get("requested_size"), b["state"]) for b in s["blocks"]))
                   for s in snapshot.segments)


def part(equal, **figures):
    return {"equal": bool(equal), **figures}


def in_order(real, virtual):
    at = first_difference(real, virtual)
    return part(at is None, real=len(real), virtual=len(virtual), equal_at_start=len(real) if at is None else at)


def as_sets(real, virtual):
    return part(real == virtual, real=sum(real.values()), virtual=sum(virtual.values()),
                common=sum((real & virtual).values()))


def compare(real, virtual):
    """Part -> whether it is equal, and the figures of both."""
    result = {"events": in_order([described(e) for e in real.events], [described(e) for e in virtual.events])}
    for kind in TAKES:
        r, v = levels(real, kind), levels(virtual, kind)
        result[kind] = part(r == v, real=r, virtual=v)
    sizes = [Counter(s["total_size"] for s in x.segments) for x in (real, virtual)]
    result["segments"] = as_sets(*sizes)
    result["segments"].update(only_real=dict(sizes[0] - sizes[1]), only_virtual=dict(sizes[1] - sizes[0]))
    result["blocks"] = as_sets(block_lists(real), block_lists(virtual))
    addresses = [renumbered([e.get("addr") for e in x.events]) for x in (real, virtual)]
    result["addresses"] = in_order(*addresses)
    result["places"] = in_order(places(real), places(virtual))
    return result


def text_of(name, found):
    word = "equal" if found["equal"] else "DIFFERENT"
    if name in TAKES:
        values = ", ".join(f"{k} {found['real'][k]}" + ("" if found["real"][k] == found["virtual"][k]
                           else f" beside {found['virtual'][k]} ({found['virtual'][k] - found['real'][k]:+d})")
                           for k in ("start", "peak", "end"))
        return f"{name:10} {word:9} bytes: {values}"
    text = f"{name:10} {word:9} real {found['real']}, virtual {found['virtual']}"
    if "equal_at_start" in found:
        return text + f", equal up to number {found['equal_at_start']}"
    if "common" in found:
        text += f", in both {found['common']}"
    if found.get("only_real") or found.get("only_virtual"):
        text += f"; bytes and number only real {found['only_real']}, only virtual {found['only_virtual']}"
    return text


def show_first(real, virtual, at):
    for side, events in (("real", real.events), ("virtual", virtual.events)):
        if at >= len(events):
            print(f"  {side:7} {at}: no more events")
            continue
        event = events[at]
        print(f"  {side:7} {at}: {event['action']} of {event['size']} bytes, {frames(event)}")


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("real")
    options.add_argument("virtual")
    options.add_argument("--device", type=int, default=0)
    options.add_argument("--need", type=lambda text: text.split(","), default=list(PARTS))
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args()
    unknown = [name for name in chosen.need if name not in PARTS]
    if unknown:
        options.error(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    try:
        real, virtual = (Snapshot(path, chosen.device) for path in (chosen.real, chosen.virtual))
        result = compare(real, virtual)
    except (OSError, ValueError, KeyError, TypeError, EOFError, pickle.UnpicklingError) as error:
        print(f"compare_snapshots.py: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    if chosen.json:
        print(json.dumps(result))
    else:
        for name in PARTS:
            print(text_of(name, result[name]))
            if name == "events" and not result[name]["equal"]:
                show_first(real, virtual, result[name]["equal_at_start"])
    return 0 if all(result[name]["equal"] for name in chosen.need) else 1


if __name__ == "__main__":
    sys.exit(main())
