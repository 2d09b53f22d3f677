"""Writes the first inputs of the fuzz targets: small documents of each kind, every table in use.

    python3 tests/fuzz/make_seeds.py tests/fuzz/corpus

This script does not touch the inputs that fuzzing found later, which are in the same folders.
"""

import gzip
import json
import pickle
import sys
from pathlib import Path

ACTIONS = ["alloc", "free", "free_requested", "free_completed", "segment_alloc", "segment_free",
           "segment_map", "segment_unmap", "oom", "mark"]
CATEGORIES = ["unknown", "parameter", "gradient", "optimizer_state", "activation", "temporary",
              "workspace", "input"]


def document():
    """A snapshot of one device: a segment, two blocks, one of them alive at the start, an oom row."""
    block = {"offset_bytes": 0, "block_bytes": 512, "requested_bytes": 100, "state": 1, "stack": 0,
             "scope": 0, "category": 1, "name": 0}
    free = {"offset_bytes": 512, "block_bytes": 1536, "requested_bytes": 0, "state": 0,
            "stack": -1, "scope": -1, "category": 0, "name": -1}
    segment = {"device": 0, "address": 4096, "total_bytes": 2048, "stream": 0,
               "blocks": [block, free]}
    rows = [(1, 0, 9, 300, 512, 1, 0, 4, 1), (2, 1, 0, 300, 512, 1, 0, 4, 1),
            (3, 8, 0, 1 << 40, 0, -1, 0, 0, -1), (4, 9, 0, 0, 0, -1, -1, 0, 2)]
    columns = dict(zip(["time_delta", "action", "address_delta", "requested_bytes", "block_bytes",
                        "stack", "scope_delta", "category", "name"], map(list, zip(*rows))))
    columns |= {"device": [0] * len(rows), "stream": [0] * len(rows)}
    return {
        "format": "tidemark-snapshot", "version": 1, "tool": {"version": "0.1.0", "build": "seed"},
        "run": {"command": "x", "started_unix_us": 1, "precision": "fp32", "outcome": "oom"},
        "clock": {"unit_ns": 1, "source": "monotonic"}, "address_unit_bytes": 512,
        "actions": ACTIONS, "categories": CATEGORIES,
        "scope_kinds": ["step", "phase", "layer", "operator", "user"],
        "block_states": ["free", "allocated", "pending_free"],
        "devices": [{"kind": "virtual", "name": "v", "total_bytes": 1 << 30}],
        "streams": [{"device": 0, "handle": 0}], "allocator": {"max_split_size_mb": -1},
        "log": {"full_policy": "stop", "dropped_events": 1},
        "timing": {"warmup_steps": 0, "measured_steps": 1,
                   "phases": [{"name": "step", "host_ms": [1.5], "device_ms": [-1]}]},
        "strings": ["w", "h", "note", "step", "main", "a.c"],
        "frames": {"function": [4, -1], "file": [5, -1], "line": [3, 0], "inlined": [0, 1]},
        "stacks": {"parent": [-1, 0], "frame": [0, 1]},
        "scopes": {"parent": [-1], "kind": [0], "name": [3], "index": [1], "thread": [0],
                   "begin_delta": [0], "duration": [9], "device_begin": [-1],
                   "device_duration": [-1]},
        "start": {"segments": [segment]}, "end": {"segments": [segment]},
        "events": columns,
        "oom": [{"event": 2, "requested_bytes": 1 << 40, "free_bytes": 1 << 20}],
    }


def live():
    """The same with the features of live recordings."""
    made = document()
    made["events"] |= {"certainty": [1, 1, 0, 0], "pool": [1, 1, 0, 0]}
    made["pools"] = [[1, 0]]
    made["scopes"]["duration"] = [-2]
    made["start"]["segments"][0]["blocks"][0]["certainty"] = 2
    made["owners"] = {
        "accounts": [{"device": 0, "total_bytes": 1 << 30, "used_at_start_bytes": 1, "used_at_peak_bytes": 4096,
                      "used_at_end_bytes": 2, "context_bytes": 3}],
        "rows": [{"name": "PyTorch", "device": 0, "peak_bytes": 2048, "end_bytes": 0, "allocations": 1}],
    }
    made["rank"] = {"rank": 7, "local_rank": 3, "world_size": 1024, "groups": [
        {"name": "tp", "description": "d", "size": 8, "position": 7, "first": 0, "stride": 1}]}
    made["peak_range"] = [{"device": 0, "allocated_low_bytes": 1, "allocated_high_bytes": 2,
                           "reserved_low_bytes": 3, "reserved_high_bytes": 4}]
    made["at_failure"] = {
        "device": 0, "allocated_bytes": 9, "collected_bytes": 7, "not_asked": 1,
        "holders": [{"name": "x", "place": "f (a.py:3)", "held_bytes": 4, "own_bytes": 3, "tensors": 2, "graphs": 1}],
        "processes": [{"pid": 5, "used_bytes": 6, "name": "p"}],
    }
    made["software"] = {"torch": "2.14.1"}
    made["inexact"] = [{"call": "f", "what": "x", "bound_bytes": 1, "refused": False}]
    return made


def pytorch(address):
    """A small version of the object that torch.cuda.memory._dump_snapshot pickles."""
    frames = [{"name": "f", "filename": "a.py", "line": 3}, {"name": "g", "filename": "b.py", "line": 4}]
    blocks = [{"address": address, "size": 512, "requested_size": 100,
               "state": "active_allocated", "frames": frames},
              {"address": address + 512, "size": 1536, "requested_size": 0, "state": "inactive",
               "frames": []}]
    segment = {"device": 0, "address": address, "total_size": 2048, "allocated_size": 512,
               "active_size": 512, "requested_size": 100, "stream": 0, "segment_type": "small",
               "segment_pool_id": (0, 0), "is_expandable": False, "frames": frames,
               "blocks": blocks}
    event = {"addr": address + 512, "size": 700, "stream": 0, "time_us": 7, "frames": frames,
             "compile_context": "N/A", "user_metadata": "m"}
    trace = [event | {"action": action} for action in ("alloc", "free_requested", "free_completed")]
    trace.append({"action": "oom", "device_free": 5, "size": 1 << 40, "stream": 0, "time_us": 9})
    return {"segments": [segment], "device_traces": [trace, []],
            "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1,
                                   "roundup_power2_divisions": {"1": 0, "2": 8}},
            "external_annotations": [{"stage": "START", "name": "n", "device": 0, "time_us": 6},
                                     {"stage": "END", "name": "n", "device": 0, "time_us": 8}]}


def main():
    corpus = Path(sys.argv[1])
    text = json.dumps(document(), separators=(",", ":")).encode()
    (corpus / "json" / "seed").write_bytes(text)
    (corpus / "json" / "seed-live").write_bytes(json.dumps(live(), separators=(",", ":")).encode())
    (corpus / "gzip" / "seed").write_bytes(gzip.compress(text, mtime=0))
    (corpus / "gzip" / "seed-two-members").write_bytes(
        gzip.compress(text[:500], mtime=0) + gzip.compress(text[500:], mtime=0))
    (corpus / "gzip" / "seed-stored").write_bytes(gzip.compress(text, 0, mtime=0))
    for protocol in (2, 3, 4, 5):
        (corpus / "pickle" / f"seed-{protocol}").write_bytes(
            pickle.dumps(pytorch(1 << 33), protocol=protocol))


main()
