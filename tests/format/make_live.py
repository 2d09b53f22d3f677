"""The document of tests/golden/snapshots/version-1-live.json.gz: the features that recordings of live programs brought to
the format, each at least once, on top of those of make_everything.py: how categories became known, scopes without an
interval, owners at the driver's level, private pools; and versions, what is inexact, losses.

It was read by the program's reader and saved by its writer, once, in version 0.1.0; that file stays as it is. A feature
that comes later goes into a file of its own. Usage: make_live.py > live.json
"""

from __future__ import annotations

import copy
import json
import sys

from make_everything import DOCUMENT, EVENTS

LAYER, OPERATOR = 4, 5  # rows of the scopes
CERTAINTY = {1: 2, 2: 1, 5: 1, 8: 1, 9: 1, 10: 1, 12: 2}  # by row of the events; the others are unknown
POOL = {0: 1, 1: 1, 7: 2, 8: 2, 10: 2, 11: 2}

document = copy.deepcopy(DOCUMENT)
del document["origin"]
document["run"]["implementation"] = "pytorch"
document["events"]["certainty"] = [CERTAINTY.get(row, 0) for row in range(len(EVENTS))]
document["events"]["pool"] = [POOL.get(row, 0) for row in range(len(EVENTS))]
document["pools"] = [[3, 0], [0, 1]]
document["start"]["segments"][0]["blocks"][0]["certainty"] = 2
document["end"]["segments"][1]["blocks"][0]["certainty"] = 2
for scope in (LAYER, OPERATOR):
    document["scopes"]["duration"][scope] = -2
    document["scopes"]["device_begin"][scope] = document["scopes"]["device_duration"][scope] = -1
document["owners"] = {
    "accounts": [
        {"device": 0, "total_bytes": 85899345920, "used_at_start_bytes": 600000000, "used_at_peak_bytes": 700000000,
         "used_at_end_bytes": 650000000, "context_bytes": 500000000},
        {"device": 1},
    ],
    "rows": [
        {"name": "PyTorch", "device": 0, "peak_bytes": 6291456, "end_bytes": 2097152, "allocations": 2},
        {"name": "others", "device": 0, "peak_bytes": 4096, "end_bytes": 0, "allocations": 1},
        {"name": "caf\u00e9 <lib>", "device": 1},
    ],
}  # fmt: skip
document["software"] = {"python": "3.12.1", "torch": "2.14.1", "cuda": "13.0"}
document["inexact"] = [{"call": "cufftMakePlanMany", "what": "its work area is not known", "bound_bytes": 4096, "refused": False}]
document["loss"] = [9.25, "nan", "inf", "-inf"]
document["loss_scaling"] = {"scale": 16384.0, "skipped_steps": 2}

if __name__ == "__main__":
    json.dump(document, sys.stdout)
