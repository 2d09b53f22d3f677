"""An encoder in fp32 whose attention is a softmax over a square: its peak is activations and logits."""
import torch
from torch import nn
from torch.nn import functional as F


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.first, self.second = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (8, -1)).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        weight = F.dropout(torch.softmax(q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5, -1), 0.1)
        x = x + self.out((weight @ v).transpose(1, 2).flatten(2))
        return x + F.dropout(self.second(F.gelu(self.first(self.norm2(x)))), 0.1)


class Encoder(nn.Module):
    def __init__(self, vocabulary, width, layers):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(512, width)
        self.layers = nn.ModuleList(Layer(width) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


class Masked(nn.Module):
    def __init__(self, vocabulary, width, layers):
        super().__init__()
        self.encoder = Encoder(vocabulary, width, layers)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        return self.head(self.encoder(tokens))


def main():
    with torch.device("cuda"):
        model = Masked(30522, 768, 8)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(3):
        tokens = torch.randint(30522, (8, 512), device="cuda")
        loss = F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
