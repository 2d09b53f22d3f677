"""What makes stacks difficult: threads, generators, callbacks, eval, hooks, recomputation, Python in the backward pass,
workers of a loader, pinned memory, streams, memory that is not enough, and annotations.
"""
import functools
import inspect
import threading

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return doubled(x, gradient)


def doubled(x, gradient):
    return 2 * x * gradient


class Data(Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, i):
        return torch.ones(64) * i


net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)).cuda()


def produce(n):
    for i in range(n):
        made = torch.full((100 + i,), 1.0, device="cuda")
        yield made
        del made


def outer(n):
    yield from produce(n)


def recompute():
    x = torch.ones(8, 64, device="cuda", requires_grad=True)
    x.register_hook(lambda gradient: gradient * 2)
    for reentrant in (False, True):
        checkpoint(net, Square.apply(x), use_reentrant=reentrant).sum().backward()


def main():
    """Has this name in threads, too: it is not the program's."""
    for t in outer(20):
        sorted([3, 1, 2], key=lambda v: float((t + v).sum()))
        list(map(functools.partial(torch.add, t), [1, 2]))
        [c.clone() for c in t.chunk(2)]
        eval("t * 2")
        exec("\n\nt * 3")
    recompute()


def deep(n):
    return deep(n - 1) if n > 0 else torch.ones(7, device="cuda")


def on_streams():
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        a, b = torch.ones(1000, device="cuda"), torch.ones(1 << 20, device="cuda")
    a.record_stream(torch.cuda.current_stream())
    b.record_stream(torch.cuda.current_stream())
    del a, b
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    return torch.ones(5, device="cuda")


threads = [threading.Thread(target=main) for _ in range(3)]
for thread in threads:
    thread.start()
main()
for thread in threads:
    thread.join()
for n_workers in (0, 2):
    for batch in DataLoader(Data(), batch_size=4, num_workers=n_workers, pin_memory=True):
        net(batch.to("cuda", non_blocking=True)).sum().backward()
kept = deep(600)
try:
    torch.empty(1 << 44, device="cuda")
except torch.cuda.OutOfMemoryError:
    print("44 bits do not fit")
kept = on_streams()


def in_whole_segments():
    """Blocks of a pool that does not split, of one that is as others, and what comes in their place."""
    pools = [torch.cuda.MemPool(no_split=no_split) for no_split in (True, False)]
    made = []
    for pool in pools:
        with torch.cuda.use_mem_pool(pool):
            made += [torch.empty(n, dtype=torch.uint8, device="cuda") for n in (3 << 20, 100, 5 << 20)]
            del made[-3]
            made.append(torch.empty(2 << 20, dtype=torch.uint8, device="cuda"))
    return pools, made


def has_whole_segments():
    try:
        return "no_split" in inspect.signature(torch.cuda.MemPool.__init__).parameters
    except (AttributeError, ValueError):  # an older PyTorch
        return False


in_pools = in_whole_segments() if has_whole_segments() else None
if hasattr(torch.cuda.memory, "_annotate_tensor"):
    torch.cuda.memory._annotate_tensor(kept, "the last one")
    kept = kept * 2
