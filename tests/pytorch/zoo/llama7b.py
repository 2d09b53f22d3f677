"""A model of the shape of Llama 7B in bfloat16, two AdamW steps at batch 4 of 2,048 tokens: llama7b.py [checkpoint]

32 layers of 4,096 channels and 11,008 inner ones, 32,000 words: 2 * 32000 * 4096 + 32 * (4 * 4096 * 4096 + 3 * 4096 * 11008
+ 2 * 4096) + 4096 = 6,738,415,616 parameters of 2 bytes; with gradients and two moments, 53.9 GB. Each layer keeps for its
backward pass, without checkpointing, more than four tensors of 4 * 2048 * 11008 and ten of 4 * 2048 * 4096 numbers of 2
bytes: 1.39 GB, 44 GB for all, so that a card of 80 GB is too small and one of 141 GB is not. With checkpointing it keeps one
tensor of 67 MB. Tables of cosines and sines, 2048 * 64 numbers of 2 bytes each, and the words, 4 * 2048 * 8 bytes, stay.
"""
import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

functional = nn.functional


def rotate(x, cos, sin):
    left, right = x.chunk(2, -1)
    return torch.cat([left * cos - right * sin, left * sin + right * cos], -1)


class Layer(nn.Module):
    def __init__(self, n_channels=4096, n_inner=11008):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(n_channels), nn.RMSNorm(n_channels)
        self.q, self.k, self.v, self.o = (nn.Linear(n_channels, n_channels, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(n_channels, n_inner, bias=False) for _ in range(2))
        self.down = nn.Linear(n_inner, n_channels, bias=False)

    def forward(self, x, cos, sin):
        y = self.norm1(x)
        q, k, v = (part(y).unflatten(-1, (32, 128)).transpose(1, 2) for part in (self.q, self.k, self.v))
        y = functional.scaled_dot_product_attention(rotate(q, cos, sin), rotate(k, cos, sin), v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).flatten(2))
        y = self.norm2(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, is_checkpointed):
        super().__init__()
        self.is_checkpointed = is_checkpointed
        self.words, self.head = nn.Embedding(32000, 4096), nn.Linear(4096, 32000, bias=False)
        self.layers, self.norm = nn.ModuleList(Layer() for _ in range(32)), nn.RMSNorm(4096)

    def forward(self, tokens, cos, sin):
        x = self.words(tokens)
        for layer in self.layers:
            x = checkpoint(layer, x, cos, sin, use_reentrant=False) if self.is_checkpointed else layer(x, cos, sin)
        return self.head(self.norm(x))


def main():
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = Llama("checkpoint" in sys.argv)
        cos, sin = torch.randn(2048, 64), torch.randn(2048, 64)
    print(f"parameters: {sum(p.numel() for p in model.parameters())}", flush=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(2):
        optimizer.zero_grad()
        tokens = torch.randint(0, 32000, (4, 2048), device="cuda")
        logits = model(tokens, cos, sin)
        loss = functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
        del logits
        loss.backward()
        optimizer.step()
    print("loss", loss.item())
    del loss
    print(f"kept: {torch.cuda.memory_stats()['requested_bytes.all.current']}")


if __name__ == "__main__":
    main()
