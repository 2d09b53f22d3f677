"""A model like Llama for a launch log: RMSNorm, rotary positions, grouped queries, SwiGLU, AdamW.

llama.py [STEPS]: bf16 weights, random. Its sizes let it run in seconds.
"""
import sys

import torch
import torch.nn.functional as F
from torch import nn

LAYERS, HEADS, PAIRS, CHANNELS, HIDDEN, CONTEXT, VOCABULARY, BATCH = 4, 8, 2, 512, 1408, 512, 32000, 4
WIDTH = CHANNELS // HEADS


class Norm(nn.Module):
    """As Llama's own code writes it, one operation after the other."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(CHANNELS))

    def forward(self, x):
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).type_as(x) * self.weight


def rotated(x, cosine, sine):
    left, right = x.chunk(2, -1)
    return x * cosine + torch.cat([-right, left], -1) * sine


class Block(nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.norm_1, self.norm_2 = norm(), norm()
        self.q = nn.Linear(CHANNELS, HEADS * WIDTH, bias=False)
        self.k, self.v = (nn.Linear(CHANNELS, PAIRS * WIDTH, bias=False) for _ in range(2))
        self.out = nn.Linear(HEADS * WIDTH, CHANNELS, bias=False)
        self.gate, self.up = (nn.Linear(CHANNELS, HIDDEN, bias=False) for _ in range(2))
        self.down = nn.Linear(HIDDEN, CHANNELS, bias=False)

    def forward(self, x, cosine, sine):
        batch, context, _ = x.shape
        y = self.norm_1(x)
        q, k, v = (f(y).view(batch, context, -1, WIDTH).transpose(1, 2) for f in (self.q, self.k, self.v))
        q, k = rotated(q, cosine, sine), rotated(k, cosine, sine)
        k, v = (t.repeat_interleave(HEADS // PAIRS, 1) for t in (k, v))
        heads = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(heads.transpose(1, 2).reshape(batch, context, CHANNELS))
        y = self.norm_2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, CHANNELS)
        # One half of the blocks has the norm that PyTorch fuses.
        self.blocks = nn.ModuleList(Block(Norm if i % 2 else lambda: nn.RMSNorm(CHANNELS)) for i in range(LAYERS))
        self.norm, self.head = Norm(), nn.Linear(CHANNELS, VOCABULARY, bias=False)

    def forward(self, tokens, targets):
        place = torch.arange(tokens.shape[1], device=tokens.device, dtype=torch.float32)
        speed = 10000.0 ** (-torch.arange(0, WIDTH, 2, device=tokens.device, dtype=torch.float32) / WIDTH)
        angle = torch.outer(place, speed).repeat(1, 2)
        x = self.tokens(tokens)
        cosine, sine = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        for block in self.blocks:
            x = block(x, cosine, sine)
        return F.cross_entropy(self.head(self.norm(x)).float().view(-1, VOCABULARY), targets.view(-1))


model = Model().to("cuda", torch.bfloat16)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 3):
    tokens, targets = (torch.randint(VOCABULARY, (BATCH, CONTEXT), device="cuda") for _ in range(2))
    loss = model(tokens, targets)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
print(loss.item())
