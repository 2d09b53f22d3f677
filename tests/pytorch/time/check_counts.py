"""Loops of a Triton kernel up to numbers on the card: check_counts.py --tidemark TIDEMARK --python PYTHON

The launch log has the numbers that tidemark computes, and marks the kernel as a guess where it does not know them.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
import launches  # noqa: E402

N_PROGRAMS, BLOCK = 16, 256
PROGRAM = '''
import torch, triton
import triton.language as tl

@triton.jit
def add_rows(x, counts, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for i in range(tl.minimum(tl.load(counts + tl.program_id(0)), 64)):
        total += tl.load(x + i * BLOCK + at)
    tl.store(out + tl.program_id(0) * BLOCK + at, total)

x = torch.empty(64, 256, device="cuda")
out = torch.empty(16, 256, device="cuda")
counts = (torch.arange(16, device="cuda") % 4).int()
for _ in range(3):
    add_rows[(16,)](x, counts, out, BLOCK=256)
counts.add_(1)
add_rows[(16,)](x, counts, out, BLOCK=256)
counts = (torch.randn(16, device="cuda") > 0).int()  # no card computes these
add_rows[(16,)](x, counts, out, BLOCK=256)
counts.fill_(2)
add_rows[(16,)](x, counts, out, BLOCK=256)
'''


def bytes_of(n_rows):
    """Rows that are loaded, rows that are stored, and the numbers."""
    return 4 * (n_rows * BLOCK + N_PROGRAMS * BLOCK + N_PROGRAMS)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tidemark", required=True)
    parser.add_argument("--python", required=True)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program, log = Path(folder) / "program.py", Path(folder) / "log.launches"
        program.write_text(PROGRAM)
        done = subprocess.run([chosen.tidemark, "run", "--device", "virtual:h100-80", "--launch-log", log, "-o", Path(folder) / "run.json.gz", "--",
                               chosen.python, program], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(done.stderr)
        rows = [row for row in launches.read(log)[1] if row.name == "add_rows"]
    found = [(row.bytes, bool(row.flags & launches.GUESSED)) for row in rows]
    # 24 and 40 rows; 32 in the middle of 0 to 64; and 2 each.
    expected = [(bytes_of(24), False)] * 3 + [(bytes_of(40), False), (bytes_of(64), True), (bytes_of(32), False)]
    if found != expected:
        sys.exit(f"found {found}\nexpected {expected}")
    print("loops up to numbers on the card: as computed by hand")


if __name__ == "__main__":
    main()
