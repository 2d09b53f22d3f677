"""A small language model that answers several requests at a time: an ordinary PyTorch program for `tidemark run`."""
import argparse

import torch
from torch import nn
from torch.nn import functional as F


class Concatenated:
    """Keys and values that get longer by one token at a time."""

    def __init__(self):
        self.k = self.v = None

    def add(self, k, v):
        if self.k is not None:
            k, v = torch.cat([self.k, k], 2), torch.cat([self.v, v], 2)
        self.k, self.v = k, v
        return k, v


class Whole:
    """Keys and values that are allocated once, at their final length."""

    def __init__(self, *shape):
        self.kv = torch.empty(2, *shape)
        self.n = 0

    def add(self, k, v):
        begin, self.n = self.n, self.n + k.shape[2]
        self.kv[0, :, :, begin:self.n], self.kv[1, :, :, begin:self.n] = k, v
        return self.kv[0, :, :, :self.n], self.kv[1, :, :, :self.n]


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
        k, v = cache.add(k, v)
        attention = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
        x = x + self.out(attention.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self, vocabulary, width, heads, layers):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens, caches):
        x = self.tokens(tokens)
        for block, cache in zip(self.blocks, caches):
            x = block(x, cache)
        return self.head(self.norm(x[:, -1]))


@torch.inference_mode()
def answer(model, prompts, n_new, caches):
    tokens = prompts
    for _ in range(n_new):
        tokens = model(tokens, caches).argmax(-1, keepdim=True)
    return tokens


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=16, help="how many are answered at the same time")
    parser.add_argument("--prompt", type=int, default=1024, help="tokens of a prompt")
    parser.add_argument("--new", type=int, default=64, help="tokens of an answer")
    parser.add_argument("--whole", action="store_true", help="allocate the cache once")
    args = parser.parse_args()
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = Model(50257, 2048, 16, 24).eval()
        shape = args.requests, 16, args.prompt + args.new, 2048 // 16
        caches = [Whole(*shape) if args.whole else Concatenated() for _ in model.blocks]
        prompts = torch.randint(50257, (args.requests, args.prompt))
    answer(model, prompts, args.new, caches)
    print(f"{args.requests} requests were answered")


if __name__ == "__main__":
    main()
