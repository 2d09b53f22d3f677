"""Trains a model of Llama's shape for two steps, sharded over all ranks: llama_fsdp.py 1b|8b|70b [TOKENS]"""
import os
import sys

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils.checkpoint import checkpoint

SIZES = {"70b": (8192, 80, 64, 8, 28672), "8b": (4096, 32, 32, 8, 14336), "1b": (2048, 16, 32, 8, 8192)}
WIDTH, N_LAYERS, N_HEADS, N_KEYS, INNER = SIZES[sys.argv[1]]
TOKENS = int(sys.argv[2]) if len(sys.argv) > 2 else 2048
VOCABULARY = 128256


def linear(n_in, n_out):
    return nn.Linear(n_in, n_out, bias=False)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        keys = WIDTH // N_HEADS * N_KEYS
        self.norm, self.inner_norm = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.q, self.k, self.v, self.o = linear(WIDTH, WIDTH), linear(WIDTH, keys), linear(WIDTH, keys), linear(WIDTH, WIDTH)
        self.gate, self.up, self.down = linear(WIDTH, INNER), linear(WIDTH, INNER), linear(INNER, WIDTH)

    def forward(self, x):
        b, t, _ = x.shape
        y = self.norm(x)
        q, k, v = (part(y).view(b, t, -1, WIDTH // N_HEADS).transpose(1, 2) for part in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).reshape(b, t, WIDTH))
        y = self.inner_norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(N_LAYERS))
        self.norm, self.out = nn.RMSNorm(WIDTH), linear(WIDTH, VOCABULARY)

    def forward(self, ids):
        x = self.tokens(ids)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False)
        return self.out(self.norm(x))


torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
with torch.device("meta"):
    model = Llama()
policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32)
for layer in model.layers:
    fully_shard(layer, mp_policy=policy)
fully_shard(model, mp_policy=policy)
model.to_empty(device="cuda")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
ids = torch.randint(0, VOCABULARY, (1, TOKENS), device="cuda")
for _ in range(2):
    F.cross_entropy(model(ids).float().view(-1, VOCABULARY), ids.view(-1)).backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
