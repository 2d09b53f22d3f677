#!/usr/bin/env python3
"""Writes a snapshot of a run that fragmentation ended, as PyTorch writes them, on stdout.

    make_fragmented.py [grows] >fragmented.pickle

The first step caches two large segments. State that is made after it is placed in the smaller one and stays, so
that the second step's first tensor takes a part of the larger one, and its second tensor finds no room.

grows   what is placed there is a list that grew with each step, not state that is made once
"""
import pickle
import sys

MIB = 1 << 20
GROWS = "grows" in sys.argv[1:]
trace, segments = [], []
time = 1000


def row(action, address, size, line):
    global time
    time += 10
    frames = [{"name": "step", "filename": "/home/me/train.py", "line": line}]
    trace.append({"action": action, "addr": address, "size": size, "stream": 0, "time_us": time, "frames": frames})


def buy(address, size, line):
    segments.append((address, size))
    row("segment_alloc", address, size, line)


def free(address, size, line):
    row("free_requested", address, size, line)
    row("free_completed", address, size, line)


BASE, SMALL, LARGE = 0x7F0000000000, 0x7F1000000000, 0x7F2000000000
live = {}


def alloc(address, size, line):
    live[address] = size
    row("alloc", address, size, line)


for i in range(4):
    buy(BASE + i * 140 * MIB, 140 * MIB, 5)
    alloc(BASE + i * 140 * MIB, 140 * MIB, 5)
buy(SMALL, 600 * MIB, 8)
alloc(SMALL, 600 * MIB, 8)
buy(LARGE, 4000 * MIB, 9)
alloc(LARGE, 4000 * MIB, 9)
for address, size in ((LARGE, live.pop(LARGE)), (SMALL, live.pop(SMALL))):
    free(address, size, 10)
# In the end the growing list takes most of the memory; the state does not.
n_kept, kept = (36, 16 * MIB) if not GROWS else (100, 40 * MIB)
for i in range(n_kept):
    place = SMALL + i * kept if (i + 1) * kept <= 600 * MIB else LARGE + (i - 600 * MIB // kept) * kept
    alloc(place, kept, 12)
if not GROWS:
    alloc(LARGE, 600 * MIB, 8)
asked = 4000 * MIB if not GROWS else 620 * MIB
free_bytes = 3000 * MIB if not GROWS else 512 * MIB
row("oom", free_bytes, asked, 9)
trace[-1]["device_free"] = free_bytes

by_segment = []
for address, size in segments:
    blocks, at = [], address
    for start, n_bytes in sorted(live.items()):
        if address <= start < address + size:
            if start > at:
                blocks.append({"address": at, "size": start - at, "requested_size": 0, "state": "inactive", "frames": []})
            blocks.append({"address": start, "size": n_bytes, "requested_size": n_bytes, "state": "active_allocated",
                           "frames": []})
            at = start + n_bytes
    if at < address + size:
        blocks.append({"address": at, "size": address + size - at, "requested_size": 0, "state": "inactive",
                       "frames": []})
    used = sum(b["size"] for b in blocks if b["state"] != "inactive")
    by_segment.append({"device": 0, "address": address, "total_size": size, "allocated_size": used, "active_size": used,
                       "requested_size": used, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0),
                       "is_expandable": False, "frames": [], "blocks": blocks})
sys.stdout.buffer.write(pickle.dumps({"segments": by_segment, "device_traces": [trace], "allocator_settings": {
    "PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0,
    "expandable_segments": False, "pinned_num_register_threads": 1, "release_lock_on_cudamalloc": False,
    "pinned_use_cuda_host_register": False, "roundup_power2_divisions": {str(1 << i): 0 for i in range(16)}}}, protocol=4))
