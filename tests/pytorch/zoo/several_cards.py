"""A model in two halves on two cards of different kinds in one process, and copies between them.

The first layer, 4096 x 4096 float32 of 64 MiB, is on card 0 and the second on card 1; each gets a gradient of the same
size. 64 x 4096 activations (1 MiB) cross over. Between steps only weights and gradients stay, and a cuBLAS workspace for
each thread: the main one and the backward thread of each card. PyTorch chooses the workspace's size once in a process, by
the card of the first call: card 0, an H100, and so card 1, a T4, gets the large one as well.
"""
import torch

first = torch.nn.Linear(4096, 4096, bias=False, device="cuda:0")
second = torch.nn.Linear(4096, 4096, bias=False, device="cuda:1")
second(first(torch.randn(64, 4096, device="cuda:0")).to("cuda:1")).sum().backward()
for card in range(2):
    torch.cuda.synchronize(card)
    print(f"kept on card {card}: {torch.cuda.memory_stats(card)['requested_bytes.all.current']}")
print("names", torch.cuda.get_device_name(0), torch.cuda.get_device_name(1))
print(f"peers: {int(torch.cuda.can_device_access_peer(0, 1))}")
with torch.cuda.device(1):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        there = first.weight.detach().to("cuda:1", non_blocking=True)
    side.synchronize()
print(f"card of the copy: {there.get_device()}")
try:
    torch.empty(20 << 30, dtype=torch.uint8, device="cuda:1")
except torch.cuda.OutOfMemoryError as error:
    print("the T4 is full:", "GPU 1" in str(error))
torch.empty(20 << 30, dtype=torch.uint8, device="cuda:0")
