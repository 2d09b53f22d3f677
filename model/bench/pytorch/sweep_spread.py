"""Do two identical sweeps agree within the spread they print?

    python3 -B model/bench/pytorch/sweep_spread.py [PROGRAM] [option of tidemark sweep...]

Runs `tidemark sweep` twice on the cpu device, on tiny models, and compares each phase of each cell: the means agree where
their distance is at most the sum of the two sample standard deviations. Bytes must be equal. Exit status 4 where something does not
agree. For a machine with nothing else to do.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile

GRID = [
    "--device", "cpu", "--d-model", "64", "--layers", "2", "--heads", "2", "--d-ff", "128", "--vocab", "500",
    "--context", "32,64", "--mode", "forward,train", "--precision", "fp32,bf16-mixed",
    "--warmup", "20", "--steps", "300",
]
BYTES = ["requested_peak_bytes", "allocated_peak_bytes", "reserved_peak_bytes"]


def sweep(program, options, path):
    subprocess.run([program, "sweep", *GRID, *options, "-o", path], check=True, stdout=subprocess.DEVNULL)
    with open(path) as lines:
        next(lines)
        return [json.loads(line) for line in lines]


def mean_and_std(samples):
    """Of the sample: divided by one less than the number of samples."""
    return statistics.mean(samples), statistics.stdev(samples) if len(samples) > 1 else 0.0


def compare(first, second):
    """Lines about what does not agree, the number of phases compared, and the largest distance in summed deviations."""
    lines, n_phases, largest = [], 0, 0.0
    for one, other in zip(first, second):
        for key in BYTES:
            if one["result"][key] != other["result"][key]:
                lines.append(f"{one['name']}: {key} {one['result'][key]} and {other['result'][key]}")
        for phase, times in one["result"]["phases"].items():
            mean, std = mean_and_std(times["device_ms"])
            mean2, std2 = mean_and_std(other["result"]["phases"][phase]["device_ms"])
            n_phases += 1
            largest = max(largest, abs(mean - mean2) / (std + std2))
            if abs(mean - mean2) > std + std2:
                lines.append(f"{one['name']}: {phase} {mean:.3f} ± {std:.3f} ms and {mean2:.3f} ± {std2:.3f} ms")
    return lines, n_phases, largest


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "build/dev/cli/tidemark"
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    with tempfile.TemporaryDirectory() as folder:
        rows = [sweep(program, sys.argv[2:], os.path.join(folder, f"{i}.jsonl")) for i in range(2)]
    lines, n_phases, largest = compare(*rows)
    for line in lines:
        print(line)
    print(f"{len(rows[0])} cells twice, {n_phases} phases: {n_phases - sum(' ms and ' in line for line in lines)} agree; the "
          f"largest distance of two means is {largest:.2f} times the sum of their standard deviations")
    return 4 if lines else 0


sys.exit(main())
