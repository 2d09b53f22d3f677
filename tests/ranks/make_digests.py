"""Digests of the ranks of a made-up job, made from one digest that tidemark wrote. Usage: make_digests.py DIGEST FOLDER
WORLD

Ranks are spread over stages of a pipeline (4), tensor parallel (8) and data parallel groups. Those of one stage are
equal, except for the last rank, which holds more at one line, and rank 1, whose memory grows.
"""

from __future__ import annotations

import copy
import gzip
import json
import sys
from pathlib import Path

STAGES, TENSOR = 4, 8
MIB = 1 << 20


def add_to_row(device: dict, n_bytes: int) -> None:
    device["rows"][0]["bytes"] += n_bytes
    for part in ("peak", "max"):
        for key in ("requested_bytes", "allocated_bytes", "active_bytes", "reserved_bytes"):
            device[part][key] += n_bytes
    for step in device["steps"]:
        step["allocated_peak_bytes"] += n_bytes
    device["headroom_bytes"] = device["total_bytes"] - device["max"]["reserved_bytes"]


def digest_of(base: dict, rank: int, world: int) -> dict:
    made = copy.deepcopy(base)
    data = world // (STAGES * TENSOR)
    stage = rank // (TENSOR * data)
    made["source"]["file"] = f"rank{rank}.json.gz"
    made["rank"] = {
        "node": f"node{rank // 8}", "from": "recorded", "rank": rank, "local_rank": rank % 8, "world_size": world,
        "groups": [
            {"name": "pp", "size": STAGES, "position": stage, "first": rank % (TENSOR * data), "stride": TENSOR * data},
            {"name": "tp", "size": TENSOR, "position": rank % TENSOR, "first": rank - rank % TENSOR, "stride": 1},
            {"name": "dp", "size": data, "position": rank // TENSOR % data, "first": 0, "stride": TENSOR},
        ],
    }  # fmt: skip
    device = made["devices"][0]
    device["total_bytes"] = 80 << 30
    add_to_row(device, stage * 64 * MIB)
    if rank == world - 1:
        add_to_row(device, 512 * MIB)
    if rank == 1:
        device["growth"] = {"bytes_per_step": 3 * MIB, "since_step": 0, "line": "keep (train.py:12)"}
        measured = next(step for step in device["steps"] if step["name"] == "step")
        device["steps"] = [{**measured, "index": i} for i in range(6)]  # fewer do not show growth
    return made


def main() -> None:
    base = json.loads(gzip.open(sys.argv[1]).read())
    folder, world = Path(sys.argv[2]), int(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    for rank in range(world):
        text = json.dumps(digest_of(base, rank, world), separators=(",", ":")).encode()
        (folder / f"rank{rank}.digest.json.gz").write_bytes(gzip.compress(text, 6, mtime=0))


if __name__ == "__main__":
    main()
