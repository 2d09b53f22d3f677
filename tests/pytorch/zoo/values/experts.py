"""A mixture of experts: each expert computes the tokens that the router gives it: experts.py [even]

8 experts, of which a token takes 2; 2 layers; 16,384 tokens. The router computes on the card, so how many tokens an expert gets
is not known: an even share is 4,096. even: the host deals the tokens out evenly, and the counts are exact. "skipped" are the
experts that got no token.

At the peak, early in the second backward pass: parameters and AdamW's two moments; of each layer's 2 x 16,384 rows the expert's
input, its inner layer before and after GELU, and its output, 640 MiB; and between two and eight tensors of 16,384 x 512 floats,
32 MiB each: the layers' inputs, and gradients of them.
"""
import sys

import torch
from torch import nn

TOKENS, SIZE, INNER, EXPERTS = 16384, 512, 2048, 8
rows = []


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(SIZE, EXPERTS)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(SIZE, INNER), nn.GELU(), nn.Linear(INNER, SIZE)) for _ in range(EXPERTS))

    def forward(self, x):
        weights, chosen = self.router(x).softmax(-1).topk(2, -1)
        if "even" in sys.argv:
            chosen = torch.stack([torch.arange(TOKENS) % EXPERTS, (torch.arange(TOKENS) + 1) % EXPERTS], 1).cuda()
        y = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            mask = chosen == i
            if mask.any():
                tokens = mask.any(-1).nonzero().flatten()
                rows.append(len(tokens))
                y.index_add_(0, tokens, expert(x[tokens]) * weights[mask].view(-1, 1))
        return y


with torch.device("cuda"):
    model = nn.Sequential(Mixture(), Mixture())
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    model(torch.randn(TOKENS, SIZE).cuda()).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
print(f"skipped: {2 * 2 * EXPERTS - len(rows)}")
print(f"fewest: {min(rows, default=0)}")
print(f"most: {max(rows, default=0)}")
print(f"rows: {sum(rows)}")
print(f"peak allocated: {torch.cuda.max_memory_allocated()}")
