"""Text is generated token by token with a cache: generate.py [decided_by_the_card]

It continues until every sequence has ended or 48 tokens were made. Whether they have ended is computed on the card and
read on the host, in two ways: all have finished, or none is unfinished. The end word is one that the model cannot give,
so that a run has its full length of 48 tokens and its cache that of 16 + 48 - 1 tokens: 2 layers, keys and values, 2
sequences, 4 heads of 32 channels, 2 bytes. In the second way the length is a condition on the card like any other, so
only the value it reads ends the loop.
"""
import sys

import torch

LAYERS, HEADS, SIZE, WORDS, END = 2, 4, 32, 1000, -1


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.into = torch.nn.Linear(HEADS * SIZE, 3 * HEADS * SIZE)
        self.out = torch.nn.Linear(HEADS * SIZE, HEADS * SIZE)

    def forward(self, x, cache):
        q, k, v = self.into(x).view(*x.shape[:2], 3, HEADS, SIZE).permute(2, 0, 3, 1, 4)
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
        return x + self.out(y.transpose(1, 2).flatten(2)), (k, v)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(WORDS, HEADS * SIZE)
        self.layers = torch.nn.ModuleList(Attention() for _ in range(LAYERS))

    def forward(self, tokens, caches):
        x, kept = self.words(tokens), []
        for layer, cache in zip(self.layers, caches):
            x, cache = layer(x, cache)
            kept.append(cache)
        return x @ self.words.weight.T, kept


@torch.no_grad()
def generate(model, tokens, n_new, sample, on_card):
    caches, finished = [None] * LAYERS, torch.zeros(len(tokens), dtype=torch.bool, device="cuda")
    unfinished = torch.ones(len(tokens), dtype=torch.long, device="cuda")
    entering, n_whole = tokens, tokens.shape[1] + n_new
    while tokens.shape[1] < n_whole or on_card:
        logits, caches = model(entering, caches)
        scores = logits[:, -1].float()
        if sample:
            scores = scores.masked_fill(scores < scores.topk(50).values[:, -1:], float("-inf"))
            entering = torch.multinomial(scores.softmax(-1), 1)
        else:
            entering = scores.argmax(-1, keepdim=True)
        tokens = torch.cat([tokens, entering], 1)
        finished = finished | (entering[:, 0] == END)
        unfinished = unfinished & ~torch.full((len(tokens),), tokens.shape[1] >= n_whole, device="cuda") & ~finished
        if unfinished.max() == 0 if on_card else finished.all():
            break
    return tokens, caches


model = Model().to("cuda", torch.bfloat16).eval()
ways = (("decided by the card", False, True),) if "decided_by_the_card" in sys.argv else (("greedy", False, False), ("sampled", True, False))
for how, sample, on_card in ways:
    prompt = torch.randint(0, WORDS, (2, 16)).cuda()
    tokens, caches = generate(model, prompt, 48, sample, on_card)
    print(f"length, {how}: {tokens.shape[1]}")
    print(f"cache, {how}: {sum(t.nbytes for pair in caches for t in pair)}")
