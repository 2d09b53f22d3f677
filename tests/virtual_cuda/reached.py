"""The device addresses that kernels without an operator of PyTorch were given: reached.py PYTHON_FOLDER. The virtual card is preloaded."""
import sys

sys.path.insert(0, sys.argv[1])
from tidemark import card, generated  # noqa: E402

generated.watch()

import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)


@triton.jit
def scatter(index, values, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + tl.load(index + at, at < n), tl.load(values + at, at < n), at < n)


@triton.jit
def multiply(a, b, c, K, N: tl.constexpr, BLOCK: tl.constexpr):
    row, column, k = tl.arange(0, N), tl.arange(0, N), tl.arange(0, BLOCK)
    total = tl.zeros((N, N), dtype=tl.float32)
    for i in range(0, K, BLOCK):
        total += tl.dot(tl.load(a + row[:, None] * K + (i + k)[None, :]), tl.load(b + (i + k)[:, None] * N + column[None, :]))
    tl.store(c + row[:, None] * N + column[None, :], total)


def reached_by(work):
    _, start = card.reached_since(0)
    work()
    return card.reached_since(start)[0]


def addresses(*tensors):
    return {tensor.data_ptr() for tensor in tensors}


def check_triton():
    x, y, out = (torch.full((1024,), 3.0, device="cuda") for _ in range(3))
    index = torch.tensor(list(range(1024))).cuda()
    assert set(reached_by(lambda: add[(8,)](x, y, out, 1024, BLOCK=128))) == addresses(out)
    assert x[0].item() == 3.0 and out[0].item() == 0.0  # read only; unknown now
    assert set(reached_by(lambda: scatter[(8,)](index, y, out, 1024, BLOCK=128))) == addresses(out)
    assert index[5].item() == 5 and y[0].item() == 3.0
    a, b = (torch.ones(64, 64, device="cuda", dtype=torch.float16) for _ in range(2))
    c = torch.empty(64, 64, device="cuda")
    assert set(reached_by(lambda: multiply[(1,)](a, b, c, 64, N=64, BLOCK=32))) == addresses(c)
    print("reached: Triton's kernels, only what they store through")


def check_compiled():
    x = torch.full((32, 32), 2.0, device="cuda")
    function = torch.compile(lambda x: torch.softmax(x * x, -1).sum(0))
    function(x)
    found = reached_by(lambda: function(x))
    assert found and x.data_ptr() not in found, found
    print("reached: kernels of torch.compile")


def check_graph():
    x, y = (torch.full((64,), 2.0, device="cuda") for _ in range(2))
    assert not reached_by(lambda: x.add_(1))  # an operator of PyTorch, which is seen
    graph = torch.cuda.CUDAGraph()

    def capture():
        with torch.cuda.graph(graph):
            x.add_(1)

    found = reached_by(capture)
    assert x.data_ptr() in found and y.data_ptr() not in found, found
    print("reached: work in a capture")


check_triton()
check_compiled()
check_graph()
