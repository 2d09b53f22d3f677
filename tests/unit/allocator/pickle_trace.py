#!/usr/bin/env python3
"""Prints the start state and the requests of a PyTorch memory snapshot as text.

usage: pickle_trace.py FILE.pickle
       pickle_trace.py FILE.pickle DEVICE

The snapshot holds the segments at its end and the events that led there. Walking the events
backwards from the end gives the segments and blocks at the start:

    segment ADDRESS BYTES STREAM small|large N_BLOCKS
    block OFFSET BYTES REQUESTED            (REQUESTED 0: free)
    bought ADDRESS BYTES                    the next request buys this segment
    alloc ADDRESS REQUESTED STREAM
    free ADDRESS

With DEVICE: a device whose trace began empty, in expandable segments. Addresses count from the
first one mapped for their pool:

    alloc POOL OFFSET REQUESTED STREAM
    free POOL OFFSET
    map POOL OFFSET BYTES                   while the next request is served
    unmap POOL OFFSET BYTES
    oom BYTES FREE
    segment POOL OFFSET BYTES               at the end

Exit status 2 when the file cannot be walked back. Nothing in the pickle is ever called.
"""
import pickle
import sys
from bisect import bisect_right

MIB = 1 << 20


class DataOnly(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"refused: {module}.{name}")


class Segment:
    def __init__(self, address, total, stream, is_small, blocks):
        self.address = address
        self.total = total
        self.stream = stream
        self.is_small = is_small
        self.blocks = blocks  # [address, bytes, requested]; requested 0: free

    def at(self, address):
        """Index of the block that covers an address."""
        return bisect_right([block[0] for block in self.blocks], address) - 1


def fail(message):
    print(f"pickle_trace.py: {message}", file=sys.stderr)
    sys.exit(2)


def round_block(n_bytes):
    return max(512, (n_bytes + 511) // 512 * 512)


def undo_alloc(segment, address, requested):
    index = segment.at(address)
    block = segment.blocks[index]
    if block[0] != address or block[2] == 0:
        fail(f"alloc of {address:#x}: no live block there afterwards")
    if round_block(requested) > block[1]:
        fail(f"alloc of {address:#x}: {requested} bytes in a block of {block[1]}")
    block[2] = 0
    if index + 1 < len(segment.blocks) and segment.blocks[index + 1][2] == 0:
        block[1] += segment.blocks.pop(index + 1)[1]


def undo_free(segment, address, requested):
    index = segment.at(address)
    start, n_bytes, live = segment.blocks[index]
    size = round_block(requested)
    end = start + n_bytes
    if live != 0 or address + size > end:
        fail(f"free of {address:#x}: no free bytes there afterwards")
    rest = end - address - size
    if rest and not segment.is_small and rest <= MIB:
        size += rest  # a tail that was never split off
        rest = 0
    parts = []
    if address > start:
        parts.append([start, address - start, 0])
    parts.append([address, size, requested])
    if rest:
        parts.append([address + size, rest, 0])
    segment.blocks[index : index + 1] = parts


def load(path):
    with open(path, "rb") as file:
        snapshot = DataOnly(file).load()
    traces = [i for i, trace in enumerate(snapshot["device_traces"]) if trace]
    if len(traces) != 1:
        fail(f"events of {len(traces)} devices; one is expected")
    segments = {}
    for row in snapshot["segments"]:
        if row["device"] != traces[0]:
            continue
        if row.get("is_expandable"):
            fail("expandable segments")
        blocks = []
        address = row["address"]
        for block in row["blocks"]:
            is_free = block["state"] == "inactive"
            if not is_free and block["state"] != "active_allocated":
                fail(f"a block in state {block['state']}")
            blocks.append([address, block["size"], 0 if is_free else block["requested_size"]])
            address += block["size"]
        segments[row["address"]] = Segment(
            row["address"], row["total_size"], row["stream"], row["segment_type"] == "small", blocks
        )
    return segments, snapshot["device_traces"][traces[0]]


def expandable(path, device):
    with open(path, "rb") as file:
        snapshot = DataOnly(file).load()
    events = snapshot["device_traces"][device]
    segments = [row for row in snapshot["segments"] if row["device"] == device]
    bases = {}  # pool -> its lowest address
    for row in segments:
        pool = row["segment_type"]
        bases[pool] = min(bases.get(pool, row["address"]), row["address"])
    for event in events:
        if event["action"] == "segment_unmap":
            bases["large"] = min(bases["large"], event["addr"])

    def place(address):
        pool = min((address - base, pool) for pool, base in bases.items() if base <= address)
        return f"{pool[1]} {pool[0]}"

    for event in events:
        action = event["action"]
        if action == "alloc":
            print(f"alloc {place(event['addr'])} {event['size']} {event['stream']}")
        elif action == "free_completed":
            print(f"free {place(event['addr'])}")
        elif action in ("segment_map", "segment_unmap"):
            print(f"{action[8:]} {place(event['addr'])} {event['size']}")
        elif action == "oom":
            print(f"oom {event['size']} {event['device_free']}")
        elif action != "free_requested":
            fail(f"event {action}")
    for row in segments:
        if not row["is_expandable"]:
            fail("a segment that is not expandable")
        print(f"segment {place(row['address'])} {row['total_size']}")


def main():
    if len(sys.argv) == 3:
        expandable(sys.argv[1], int(sys.argv[2]))
        return
    segments, events = load(sys.argv[1])
    starts = sorted(segments)

    def segment_of(address):
        segment = segments.get(starts[bisect_right(starts, address) - 1]) if starts else None
        if segment is None or not segment.address <= address < segment.address + segment.total:
            fail(f"{address:#x} lies in no segment")
        return segment

    requests = []
    for event in reversed(events):
        action = event["action"]
        if action == "alloc":
            undo_alloc(segment_of(event["addr"]), event["addr"], event["size"])
            requests.append(f"alloc {event['addr']} {event['size']} {event['stream']}")
        elif action == "free_completed":
            undo_free(segment_of(event["addr"]), event["addr"], event["size"])
            requests.append(f"free {event['addr']}")
        elif action == "segment_alloc":
            segment = segments.pop(event["addr"])
            starts.remove(event["addr"])
            if len(segment.blocks) != 1 or segment.blocks[0][2] != 0:
                fail(f"segment {event['addr']:#x} was bought with live blocks in it")
            requests.append(f"bought {event['addr']} {event['size']}")
        elif action not in ("free_requested", "snapshot"):
            fail(f"event {action}")
    out = []
    for segment in sorted(segments.values(), key=lambda each: each.address):
        pool = "small" if segment.is_small else "large"
        out.append(
            f"segment {segment.address} {segment.total} {segment.stream} {pool} {len(segment.blocks)}"
        )
        for address, n_bytes, requested in segment.blocks:
            out.append(f"block {address - segment.address} {n_bytes} {requested}")
    out.extend(reversed(requests))
    print("\n".join(out))


if __name__ == "__main__":
    main()
