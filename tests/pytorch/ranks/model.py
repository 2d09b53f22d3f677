"""A small transformer in plain PyTorch, used to try every way of spreading a model over ranks."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

VOCABULARY, WIDTH, LAYERS, HEADS, CONTEXT, BATCH = 8192, 512, 6, 8, 256, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH, bias=False), nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        n_batch, n_tokens, _ = x.shape
        normed = self.norm_1(x)
        heads = [
            part(normed).view(n_batch, n_tokens, -1, WIDTH // HEADS).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        ]
        mixed = F.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(n_batch, n_tokens, -1))
        return x + self.down(F.gelu(self.up(self.norm_2(x))))


class Model(nn.Module):
    def __init__(self, recompute=False):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.recompute = recompute

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.recompute else block(x)
        return self.head(self.norm(x))


def loss_of(logits, tokens):
    return F.cross_entropy(logits.float().view(-1, logits.shape[-1]), tokens.view(-1))


def tokens_on(device):
    return torch.zeros(BATCH, CONTEXT, dtype=torch.long).to(device)
