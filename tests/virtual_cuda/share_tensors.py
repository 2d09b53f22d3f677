"""Tensors of a virtual card go from process to process: torch.multiprocessing, by handles of memory and of events.

Run with the virtual card preloaded and a run's folder (run.sh). The memory is charged once, and both processes see it.
"""
import faulthandler

import torch
import torch.multiprocessing as multiprocessing

MIB = 1 << 20
BLOCK = 256 * MIB
SLACK = 40 * MIB  # expandable segments grow by 20 MiB


def in_use():
    free, total = torch.cuda.mem_get_info()
    return total - free


def other(queue, back):
    tensor = queue.get()
    assert tensor.is_cuda and tensor.numel() == BLOCK
    assert torch.cuda.memory_allocated() == 0, "the memory is the other process'"
    before = in_use()
    result = tensor.to(torch.int16)
    assert 0 <= in_use() - before - 2 * BLOCK < SLACK
    del tensor
    back.put(result)
    assert queue.get() == "end"


def main():
    faulthandler.dump_traceback_later(100, exit=True)
    context = multiprocessing.get_context("spawn")
    queue, back = context.Queue(), context.Queue()
    tensor = torch.zeros(BLOCK, dtype=torch.uint8, device="cuda")
    own = in_use()
    process = context.Process(target=other, args=(queue, back))
    process.start()
    queue.put(tensor)
    result = back.get(timeout=90)
    assert result.shape == tensor.shape and result.dtype == torch.int16
    assert torch.cuda.memory_allocated() == BLOCK
    # The other process has its own context, as large as this one's.
    assert abs(in_use() - own - 2 * BLOCK - (own - BLOCK)) < SLACK, (in_use(), own)
    del result
    queue.put("end")
    process.join(60)
    assert process.exitcode == 0
    assert in_use() == own, "what the other process had is free"
    faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main()
    print("tensors of two processes")
