"""Text is generated token by token with a cache of keys and values, until every sequence has ended or 48 tokens were made.

Whether they have ended is computed on the card and read on the host: `finished.all()`. The model gives no word of its own
here, and the end word is one that it cannot give, so that a run has its full length of 48 tokens and its cache that of
16 + 48 - 1 tokens: 2 layers, keys and values, 2 sequences, 4 heads of 32 channels, 2 bytes.
"""
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
def generate(model, tokens, n_new, sample):
    caches, finished = [None] * LAYERS, torch.zeros(len(tokens), dtype=torch.bool, device="cuda")
    entering = tokens
    for _ in range(n_new):
        logits, caches = model(entering, caches)
        scores = logits[:, -1].float()
        if sample:
            scores = scores.masked_fill(scores < scores.topk(50).values[:, -1:], float("-inf"))
            entering = torch.multinomial(scores.softmax(-1), 1)
        else:
            entering = scores.argmax(-1, keepdim=True)
        tokens = torch.cat([tokens, entering], 1)
        finished = finished | (entering[:, 0] == END)
        if finished.all():
            break
    return tokens, caches


model = Model().to("cuda", torch.bfloat16).eval()
for sample in (False, True):
    prompt = torch.randint(0, WORDS, (2, 16)).cuda()
    tokens, caches = generate(model, prompt, 48, sample)
    how = "sampled" if sample else "greedy"
    print(f"length, {how}: {tokens.shape[1]}")
    print(f"cache, {how}: {sum(t.nbytes for pair in caches for t in pair)}")
