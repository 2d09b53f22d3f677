"""The document of tests/golden/snapshots/version-1-everything.json.gz: each feature of the format at least once.

It was read by the program's reader and saved by its writer, once, in version 0.1.0; that file stays as it is. A feature
that comes later goes into a file of its own. Usage: make_everything.py > everything.json
"""

from __future__ import annotations

import json
import sys

STRINGS = [
    "step", "warmup", "forward", "backward", "layer", "attention", "my own <scope>", "setup",
    "layers.0.attn.q", "weight \u00e9 \u4e16 \"quoted\", with; all", "before the backward pass",
    "main", "/home/someone/train.c", "run_step", "inlined_helper", "/home/someone/helper.h", "kernel<float>(int)",
    "forward > layer > attention", "",
]  # fmt: skip
NONE = {"stack": -1, "scope": -1, "category": 0, "name": -1}

# parent, kind, name, index, thread, begin, duration, device begin, device duration
SCOPES = [
    (-1, 1, 7, -1, 0, 0, 900, -1, -1),
    (-1, 0, 1, 0, 0, 1000, 4000, 1500, 4100),
    (1, 1, 2, -1, 0, 1100, 2000, 1600, 2100),
    (-1, 4, 6, -1, 1, 1200, 700, -1, -1),
    (2, 2, 4, 0, 0, 1300, 800, 1700, 900),
    (4, 3, 5, -1, 0, 1400, 500, 1800, 400),
    (1, 1, 3, -1, 0, 3200, 1700, 3800, 1750),
    (-1, 0, 0, 0, 0, 6000, -1, 6400, -1),
    (7, 1, 2, -1, 0, 6100, -1, -1, -1),
]
# time, action, device, address, requested bytes, block bytes, stream, stack, scope, category, name
EVENTS = [
    (100, 4, 0, 0x7F0000200000, 2097152, 2097152, 0, 0, 0, 0, -1),  # segment_alloc
    (150, 0, 0, 0x7F0000200000, 1000, 1024, 0, 2, 0, 1, 9),  # alloc
    (1150, 0, 0, 0x7F0000200400, 5000, 5120, 1, 3, 2, 4, 8),
    (1450, 0, 1, 8193, 300, 512, 2, 1, 5, 5, -1),  # an address that is no multiple of 512
    (1460, 1, 1, 8193, 300, 512, 2, -1, 5, 5, -1),  # free
    (1900, 2, 0, 0x7F0000200400, 5000, 5120, 1, -1, 3, 4, 8),  # free_requested
    (2000, 9, 0, 0x7F0000200400, 0, 0, 0, -1, 2, 0, 10),  # mark
    (2100, 6, 0, 0x7E0000400000, 4194304, 4194304, 0, 0, 4, 0, -1),  # segment_map, beside what the start has
    (2200, 0, 0, 0x7E0000400000, 4000000, 4194304, 0, 3, 5, 3, -1),
    (3300, 3, 0, 0x7F0000200400, 5000, 5120, 1, -1, 6, 4, 8),  # free_completed
    (3400, 1, 0, 0x7E0000400000, 4000000, 4194304, 0, 3, 6, 3, -1),
    (3500, 7, 0, 0x7E0000600000, 2097152, 2097152, 0, 0, 6, 0, -1),  # segment_unmap, a part of it
    (3600, 3, 0, 0x7E0000200000, 60, 512, 0, -1, 6, 7, -1),  # what was requested before the start
    (6200, 8, 0, 0x7E0000200000, 99999999999, 123456, 0, 2, 8, 6, -1),  # oom
    (6300, 8, 1, 0x7E0000200000, 5, 2**63 - 1, 2, -1, 8, 0, -1),  # oom on a device without a limit
    (6400, 5, 1, 8192, 2048, 2048, 2, -1, -1, 0, -1),  # segment_free
]


def block(offset: int, n_bytes: int, requested: int = 0, state: int = 0, **more: int) -> dict:
    return {"offset_bytes": offset, "block_bytes": n_bytes, "requested_bytes": requested, "state": state, **NONE, **more}


def segment(device: int, address: int, n_bytes: int, stream: int, *blocks: dict, **more: object) -> dict:
    return {"device": device, "address": address, "total_bytes": n_bytes, "stream": stream, "blocks": blocks, **more}


def deltas(values: list[int]) -> list[int]:
    return [now - before for now, before in zip(values, [0, *values])]


def columns(names: str, rows: list[tuple]) -> dict:
    """A name that ends in _delta is a column of differences."""
    table = dict(zip(names.split(), map(list, zip(*rows))))
    return {name: deltas(column) if name.endswith("_delta") else column for name, column in table.items()}


EXPANDABLE = {"is_expandable": True, "pool": "large", "pool_id": [0, 3]}
START = [
    segment(0, 0x7E0000200000, 2097152, 0, block(0, 512, 60, 2, scope=0, stack=1, category=7), block(512, 2096640), **EXPANDABLE),
    segment(1, 8192, 2048, 2, block(0, 2048), pool="small"),
]
END = [
    segment(0, 0x7E0000200000, 4194304, 0, block(0, 4194304), **EXPANDABLE),
    segment(0, 0x7F0000200000, 2097152, 0, block(0, 1024, 1000, 1, stack=2, scope=0, category=1, name=9), block(1024, 2096128)),
]
DOCUMENT = {
    "format": "tidemark-snapshot",
    "version": 1,
    "tool": {"version": "0.1.0", "build": "made up"},
    "run": {
        "command": "tidemark profile --size medium", "started_unix_us": 1700000000000000,
        "model": {"size": "medium", "d_model": 1024, "d_ff": 4096, "n_layers": 24, "n_heads": 16, "vocab_size": 10000, "n_parameters": 423183360},
        "precision": "bf16-mixed", "mode": "train", "attention": "flash", "recompute": "block", "keep_graph": True,
        "batch_size": 4, "context_length": 128, "seed": 42, "memory_limit_bytes": 17179869184, "clip_grad_norm": 0.5, "outcome": "oom",
        "host": {"name": "host.example", "os": "Linux", "cpu": "a processor", "computed_by": "AVX2 kernels, 2 threads", "n_cpus": 2, "total_bytes": 25276502016},
    },
    "clock": {"unit_ns": 1, "source": "monotonic", "device_uncertainty_ns": 1500},
    "address_unit_bytes": 1,
    "devices": [
        {"kind": "cuda", "name": "a card", "total_bytes": 85899345920, "compute_capability": 90, "driver_version": 12040,
         "runtime_version": 12030, "sm_clock_khz": 1980000, "memory_clock_khz": 2619000},
        {"kind": "virtual", "name": "another card", "total_bytes": -1, "compute_capability": -1, "driver_version": -1, "runtime_version": -1},
    ],
    "streams": [{"device": 0, "handle": 0}, {"device": 0, "handle": 94000000000000}, {"device": 1, "handle": 0}],
    "allocator": {"max_split_size_mb": -1, "garbage_collection_threshold": 0.75, "roundup_power2_divisions": "0,0,4"},
    "log": {"full_policy": "keep-newest", "dropped_events": 7},
    "timing": {
        "warmup_steps": 1, "measured_steps": 2,
        "phases": [{"name": "forward", "host_ms": [1.5, 1.25], "device_ms": [1.375, -1]}, {"name": "step", "host_ms": [], "device_ms": []}],
        "flops": 1.5e12, "stated_peak_flops": 989e12, "recorder_ns_per_event": 250.5,
        "recorder_pairs": {"recorded_ms": [10.5, 10.25], "unrecorded_ms": [10.125, 10.0]},
    },
    "origin": {"format": "pytorch", "events": 20, "contradictions": 2},
    "strings": STRINGS,
    "frames": columns("function file line inlined", [(11, 12, 10, 0), (13, 12, 20, 0), (14, 15, 3, 1), (-1, -1, 0, 0)]),
    "stacks": columns("parent frame", [(-1, 0), (0, 1), (1, 2), (1, 3)]),
    "scopes": columns("parent kind name index thread begin_delta duration device_begin device_duration", SCOPES),
    "kernels": columns("name phase path launches total_ns mean_ns min_ns max_ns", [(16, 2, 17, 4, 4000, 1000, 900, 1200), (16, -1, 18, 1, 50, 50, 50, 50)]),
    "start": {"segments": START},
    "end": {"segments": END},
    "events": columns("time_delta action device address_delta requested_bytes block_bytes stream stack scope_delta category name", EVENTS),
}  # fmt: skip

if __name__ == "__main__":
    json.dump(DOCUMENT, sys.stdout)
