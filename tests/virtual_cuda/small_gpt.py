"""A program unaware of tidemark: it trains a small GPT for a day."""
import argparse

import torch
from torch import nn
from torch.nn import functional

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--context", type=int, default=256)
options = parser.parse_args()
device = torch.device("cuda")


class Block(nn.Module):
    def __init__(self, width, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        heads = self.mix(self.before(x)).unflatten(-1, (3 * self.n_heads, -1)).transpose(1, 2)
        seen = functional.scaled_dot_product_attention(*heads.chunk(3, 1), is_causal=True)
        x = x + self.out(seen.transpose(1, 2).flatten(2))
        return x + self.down(functional.gelu(self.up(self.between(x))))


model = nn.Sequential(nn.Embedding(8192, 256), *(Block(256, 4) for _ in range(4)), nn.Linear(256, 8192)).to(device)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(100000):
    tokens = torch.randint(8192, (options.batch_size, options.context + 1), device=device)
    loss = functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("a day later")
