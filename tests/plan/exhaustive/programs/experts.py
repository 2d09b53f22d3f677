"""A transformer with a mixture of experts of fixed capacity: its peak is gradients and the states of the optimizer."""
import torch
from torch import nn
from torch.nn import functional as F


class Experts(nn.Module):
    """Each expert takes the `capacity` tokens that want it most, so no size depends on values."""

    def __init__(self, width, n_experts, capacity):
        super().__init__()
        self.capacity = capacity
        self.router = nn.Linear(width, n_experts, bias=False)
        self.first = nn.Parameter(torch.randn(n_experts, width, 4 * width) * 0.02)
        self.second = nn.Parameter(torch.randn(n_experts, 4 * width, width) * 0.02)

    def forward(self, x):
        flat = x.flatten(0, 1)
        weight, chosen = F.softmax(self.router(flat), -1).t().topk(self.capacity, -1)
        hidden = F.gelu(torch.bmm(flat[chosen], self.first))
        out = torch.bmm(hidden, self.second) * weight.unsqueeze(-1)
        return torch.zeros_like(flat).index_add(0, chosen.flatten(), out.flatten(0, 1)).view_as(x)


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.experts = Experts(width, 8, 512)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (8, -1)).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.experts(self.norm2(x))


class Model(nn.Module):
    def __init__(self, vocabulary, width, layers):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(Layer(width) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def main():
    with torch.device("cuda"):
        model = Model(16384, 512, 8)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(3):
        tokens = torch.randint(16384, (4, 513), device="cuda")
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
