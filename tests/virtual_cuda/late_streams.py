"""A block that a side stream uses is reused once an event is complete: immediately, or only when the host waits.

Run with the virtual card preloaded (run.sh), and TIDEMARK_STREAMS "now" or "late". A real card is between the two, so
a program's peak is in the range between both peaks.
"""
import os

import torch

MIB = 1 << 20
ROUNDS = 4
BLOCK = 64 * MIB


def main():
    is_late = os.environ["TIDEMARK_STREAMS"] == "late"
    side = torch.cuda.Stream()
    for i in range(ROUNDS):
        block = torch.empty(BLOCK, dtype=torch.uint8, device="cuda")
        with torch.cuda.stream(side):
            block.add_(1)
        block.record_stream(side)
        del block
    # Immediately: each round reuses the block of the one before. Late: no event is complete, so each gets a new one.
    assert torch.cuda.memory_reserved() == (ROUNDS if is_late else 1) * BLOCK, torch.cuda.memory_reserved() / MIB
    event = torch.cuda.Event()
    event.record(side)
    assert event.query() is not is_late
    side.synchronize()
    assert event.query()
    before = torch.cuda.memory_reserved()
    torch.empty(BLOCK, dtype=torch.uint8, device="cuda")
    assert torch.cuda.memory_reserved() == before, "after the host has waited, a block is reused"
    # Reading a value back makes the host wait for it and for all earlier work.
    x = torch.ones(3, device="cuda")
    event.record()
    assert event.query() is not is_late
    x.sum().item()
    assert event.query()


main()
print("late" if os.environ["TIDEMARK_STREAMS"] == "late" else "now", torch.cuda.max_memory_reserved() // MIB, "MiB")
