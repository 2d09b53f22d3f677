"""A real PyTorch program on a virtual card: what the card reports about itself, training steps, and running out of
memory.

Run with the virtual card preloaded (run.sh). Every figure is compared with what follows from the card's table or from
the shapes; nothing is recorded here.
"""
import os

import torch
import torch.nn.functional as functional

MIB = 1 << 20
GIB = 1 << 30
H100_BYTES = 84929347584  # data/cards.def: h100-80
HOPPER_WORKSPACE = 33554432  # what PyTorch allocates for cuBLAS on compute capability 9.0


def block_bytes(n_bytes):
    """The block of PyTorch's allocator for a request below 1 MiB, or for one from 10 MiB on.

    A small one is a multiple of 512 bytes. A large one has its own segment, a multiple of 2 MiB, and keeps the rest of
    it if that is at most 1 MiB.
    """
    whole = (n_bytes + 511) // 512 * 512
    segment = (n_bytes + 2 * MIB - 1) // (2 * MIB) * 2 * MIB
    return segment if n_bytes >= 10 * MIB and segment - whole <= MIB else whole


def card():
    assert os.environ["TIDEMARK_VIRTUAL_CARDS"] == "h100-80+t4-16"
    assert torch.cuda.device_count() == 2
    properties = torch.cuda.get_device_properties(0)
    assert (properties.name, properties.major, properties.multi_processor_count) == ("NVIDIA H100 80GB HBM3", 9, 132)
    assert properties.total_memory == H100_BYTES
    assert torch.cuda.get_device_capability(1) == (7, 5)
    free, total = torch.cuda.mem_get_info(0)
    assert total == H100_BYTES and 0 < free < total


def steps():
    """A linear layer with AdamW: what is alive after two steps is known to the byte."""
    with torch.device("cuda"):
        layer = torch.nn.Linear(1000, 3000)
    optimizer = torch.optim.AdamW(layer.parameters())
    for _ in range(2):
        loss = functional.mse_loss(layer(torch.ones(64, 1000, device="cuda")), torch.zeros(64, 3000, device="cuda"))
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    assert loss.item() == 0.0, "a virtual card computes nothing, and what it has reads as zeros"
    del loss
    # Parameters, gradients and two moments of each are on the card; the count of steps stays on the CPU. The thread of
    # the backward pass has its own cuBLAS handle and workspace.
    n_bytes = 4 * (block_bytes(1000 * 3000 * 4) + block_bytes(3000 * 4)) + 2 * HOPPER_WORKSPACE
    assert torch.cuda.memory_allocated() == n_bytes, (torch.cuda.memory_allocated(), n_bytes)


def out_of_memory():
    before = torch.cuda.memory_allocated()
    try:
        torch.empty(100 * GIB, dtype=torch.uint8, device="cuda")
    except torch.cuda.OutOfMemoryError as error:
        assert "total capacity of 79.10 GiB" in str(error), error
    else:
        raise AssertionError("100 GiB fitted a card of 79.10 GiB")
    assert torch.cuda.memory_allocated() == before
    torch.empty(60 * GIB, dtype=torch.uint8, device="cuda")


def convolution_and_attention():
    x = torch.randn(2, 3, 64, 64, device="cuda", requires_grad=True)
    layer = torch.nn.Conv2d(3, 8, 7, padding=3).cuda()
    layer(x).sum().backward()
    assert x.grad.shape == x.shape
    q = torch.randn(2, 8, 128, 64, device="cuda", dtype=torch.bfloat16)
    assert functional.scaled_dot_product_attention(q, q, q, is_causal=True).shape == q.shape


def compilers():
    """NVRTC is real: a kernel of the program, and one that PyTorch compiles when needed."""
    double = torch.cuda.jiterator._create_jit_fn("template <typename T> T twice(T x) { return x + x; }")
    x = torch.randn(10, device="cuda")
    assert double(x).shape == (10,)
    assert torch.special.airy_ai(x).shape == (10,)


for part in (card, steps, out_of_memory, convolution_and_attention, compilers):
    part()
    print(part.__name__)
