"""GPT-2 small in plain PyTorch, three AdamW steps with clipping in mixed precision: batch 8 of 512 tokens.

12 layers of 768 channels, 50,257 words and 1,024 places: 124,439,808 parameters: (50257 + 1024) * 768, in each layer
12 * 768 * 768 + 13 * 768, and 2 * 768 at the end. After a step with its gradients: parameters, gradients and two moments of
4 bytes, the batch and its targets of 8 * 512 * 8 bytes each, and two workspaces of cuBLAS.
"""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, n_channels, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.norm1, self.norm2 = nn.LayerNorm(n_channels), nn.LayerNorm(n_channels)
        self.into, self.out = nn.Linear(n_channels, 3 * n_channels), nn.Linear(n_channels, n_channels)
        self.up, self.down = nn.Linear(n_channels, 4 * n_channels), nn.Linear(4 * n_channels, n_channels)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for t in self.into(self.norm1(x)).chunk(3, -1))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self, n_words=50257, n_places=1024, n_channels=768, n_heads=12, n_layers=12):
        super().__init__()
        self.words, self.places = nn.Embedding(n_words, n_channels), nn.Embedding(n_places, n_channels)
        self.blocks = nn.ModuleList(Block(n_channels, n_heads) for _ in range(n_layers))
        self.norm = nn.LayerNorm(n_channels)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.words.weight.T


def main():
    with torch.device("cuda"):
        model = GPT2()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for step in range(3):
        optimizer.zero_grad()
        tokens, targets = torch.randint(0, 50257, (2, 8, 512)).cuda()
        with torch.autocast("cuda", torch.bfloat16):
            loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print("step", step, "loss", loss.item())
    del loss
    print(f"parameters: {sum(p.numel() for p in model.parameters())}")
    print(f"kept: {torch.cuda.memory_stats()['requested_bytes.all.current']}")


if __name__ == "__main__":
    main()
