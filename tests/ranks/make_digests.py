"""Digests of the ranks of a made-up job, made from one digest that tidemark wrote. Usage: make_digests.py DIGEST FOLDER
WORLD

Ranks are spread over stages of a pipeline (4), tensor parallel (8) and data parallel groups. Those of one stage are
equal, except for the last rank, which holds more at one line, and rank 1, whose memory grows. Ranks 2, 5 and 7 have one
cause with different figures, and so has stage 3.
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


def explain(explained: dict, rank: int, stage: int) -> None:
    explained["causes"] = []
    if rank == 1:
        growth = {"kind": "keeps", "line": "keep (train.py:12)", "unit": "iteration", "bytes_per_pass": 3 * MIB}
        explained["growth"] = [{**growth, "bytes": 18 * MIB, "passes": 6}]
        text = "The loop at train (train.py:8-14) keeps 3.00 MiB on each iteration, 18.00 MiB in 6 so far."
        explained["causes"].append({"cause": "training_graph_kept", "bytes": 18 * MIB, "text": text})
    if rank in (2, 5, 7):
        n = rank * MIB
        text = f"The logits at head (model.py:90) hold {rank}.00 MiB, {rank} % of the peak. Cure: chunk the loss."
        explained["causes"].append({"cause": "logits", "bytes": n, "text": text})
    if stage == 3:
        text = "The weights at head (model.py:91) are held twice. Cure: tie them."
        explained["causes"].append({"cause": "rebuilt", "bytes": -1, "text": text})
    sentences = [s for s in explained["sentences"] if s["key"] != "cause"]
    explained["sentences"] = [{"key": "cause", "text": c["text"]} for c in explained["causes"]] + sentences


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
    explain(device["explained"], rank, stage)
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
