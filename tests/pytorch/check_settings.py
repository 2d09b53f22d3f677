#!/usr/bin/env python3
"""Compares the settings that tidemark accepts with those that the installed PyTorch accepts.

    PYTHON tests/pytorch/check_settings.py --tidemark TIDEMARK

PYTHON has PyTorch; no GPU is needed. Each value at a bound and beside it is tried on both, and so is
each list of settings that `tidemark replay --grid` tries, because `tidemark explain` recommends them.
"""
import argparse
import csv
import os
import pathlib
import subprocess
import sys
import tempfile

import torch

BOUNDS = [
    *(f"large_segment_size_mb:{n}" for n in (0, 1, 9, 10, 11, 12, 20, 64, 1024)),
    *(f"max_split_size_mb:{n}" for n in (0, 1, 10, 19, 20, 21, 32, 512)),
    *(f"max_non_split_rounding_mb:{n}" for n in (0, 1, 19, 20, 21, 40)),
    "large_segment_size_mb:11,max_split_size_mb:10",
    "large_segment_size_mb:11,max_split_size_mb:11",
    "max_split_size_mb:11,large_segment_size_mb:11",
    "max_split_size_mb:31,large_segment_size_mb:32",
    "max_split_size_mb:32,large_segment_size_mb:32",
    "max_non_split_rounding_mb:11,large_segment_size_mb:12",
    "max_non_split_rounding_mb:12,large_segment_size_mb:12",
    "max_non_split_rounding_mb:20,large_segment_size_mb:22",
    *(f"garbage_collection_threshold:{x}" for x in ("0.01", "0.5", "0.99", "1", "1.0", "1.5")),
    *(f"roundup_power2_divisions:{n}" for n in (1, 2, 3, 4, 8, 16, 64, 100)),
    "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]",
    "roundup_power2_divisions:[256:0]",
    "roundup_power2_divisions:[3:1]",
    "roundup_power2_divisions:[64:3]",
    *(f"per_process_memory_fraction:{x}" for x in ("0.1", "0.5", "1", "1.0", "1.01", "2")),
    *(f"expandable_segments:{x}" for x in ("True", "False", "true", "1", "0")),
    "no_such_setting:1",
]

# tidemark reads these as "off", and PyTorch refuses them; or vice versa, because a limit of 0 bytes serves no request.
DIFFERENT = {
    "garbage_collection_threshold:0": (True, False),
    "roundup_power2_divisions:0": (True, False),
    "per_process_memory_fraction:0": (False, True),
}


def pytorch_accepts(settings):
    """In its own process, because settings stay."""
    pid = os.fork()
    if pid == 0:
        try:
            torch._C._accelerator_setAllocatorSettings(settings)
        except (RuntimeError, ValueError):
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


def tidemark_accepts(tidemark, snapshot, settings):
    ran = subprocess.run([tidemark, "replay", snapshot, "--alloc-conf", settings], capture_output=True, text=True)
    assert ran.returncode in (0, 2), (settings, ran.returncode, ran.stderr)
    return ran.returncode == 0


def grid_of(tidemark, snapshot):
    command = [tidemark, "replay", snapshot, "--grid", "--memory-limit", "4GiB", "--format", "csv"]
    rows = csv.DictReader(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines())
    names = [row["settings"] for row in rows]
    return [name for name in names if ":" in name]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tidemark", required=True)
    tidemark = str(pathlib.Path(parser.parse_args().tidemark).resolve())
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        snapshot = os.path.join(folder, "run.json.gz")
        command = [tidemark, "profile", "--size", "small", "--layers", "2", "--steps", "1", "--device", "virtual:h100-80"]
        subprocess.run([*command, "-o", snapshot], check=True, capture_output=True)
        for settings in [*BOUNDS, *DIFFERENT]:
            found = tidemark_accepts(tidemark, snapshot, settings), pytorch_accepts(settings)
            if found != DIFFERENT.get(settings, (found[1], found[1])):
                wrong.append(f"{settings}: tidemark {found[0]}, PyTorch {found[1]}")
        grid = grid_of(tidemark, snapshot)
        wrong += [f"{name} of the grid is refused by PyTorch" for name in grid if not pytorch_accepts(name)]
        assert len(grid) > 10, grid
    print("\n".join(wrong) or f"{len(BOUNDS) + len(DIFFERENT)} values and {len(grid)} settings of the grid agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
