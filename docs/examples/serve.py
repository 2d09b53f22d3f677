"""A small language model that answers several requests at a time: an ordinary PyTorch program for `tidemark run`."""
import argparse

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, cache):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        attention = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
        x = x + self.out(attention.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x)), (k, v)


class Model(nn.Module):
    def __init__(self, vocabulary, width, heads, layers):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens, caches):
        x = self.tokens(tokens)
        for i, block in enumerate(self.blocks):
            x, caches[i] = block(x, caches[i])
        return self.head(self.norm(x[:, -1]))


@torch.inference_mode()
def answer(model, prompts, n_new):
    caches = [None] * len(model.blocks)
    tokens = prompts
    for _ in range(n_new):
        tokens = model(tokens, caches).argmax(-1, keepdim=True)
    return tokens


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=16, help="how many are answered at the same time")
    parser.add_argument("--prompt", type=int, default=1024, help="tokens of a prompt")
    parser.add_argument("--new", type=int, default=64, help="tokens of an answer")
    args = parser.parse_args()
    with torch.device("cuda"):
        torch.set_default_dtype(torch.bfloat16)
        model = Model(50257, 2048, 16, 24).eval()
        prompts = torch.randint(50257, (args.requests, args.prompt))
    answer(model, prompts, args.new)
    print(f"{args.requests} requests were answered")


if __name__ == "__main__":
    main()
