"""The language model of the recordings in ../shared/pytorch-snapshots, written anew from its description.

Two editions are known. Edition 2025 gathers the rows of the rotary table for each call and interleaves the rotated
halves; edition 2026 slices the table and concatenates the halves. In both, each operator makes the tensors that the
description names, in the same order, because the recordings are compared event by event: so softmax, SwiGLU and the
loss are composed of elementary operators, and no operator is fused.

Nothing here sets values of weights: on a virtual card they have none, and memory does not depend on them.
"""
import math

import torch
from torch import nn

SIZES = {  # width, width of the feed-forward layer, blocks, heads
    "tiny": (64, 128, 2, 4),
    "small": (768, 3072, 12, 12),
    "medium": (1024, 4096, 24, 16),
    "large": (1280, 5120, 36, 20),
    "xl": (1600, 6400, 48, 25),
    "2.7B": (2560, 10240, 32, 32),
}
VOCABULARY = 10000


class Linear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_out, n_in))

    def forward(self, x):
        return torch.einsum("...i,oi->...o", x, self.weight)  # a batched product with one batch


class Embedding(nn.Module):
    """`weight[tokens, :]`, whose slice PyTorch 2.6.0 made an operator, with a gradient of its own; 2.11.0 skips it."""

    def __init__(self, n_tokens, width, edition):
        super().__init__()
        self.edition = edition
        self.weight = nn.Parameter(torch.empty(n_tokens, width))

    def forward(self, tokens):
        if self.edition == 2025:
            return self.weight.narrow(1, 0, self.weight.shape[1])[tokens]
        return self.weight[tokens]


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width))

    def forward(self, x):
        dtype = x.dtype
        x = x.to(torch.float32)
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)
        x = x * scale
        return (self.weight * x).to(dtype)


class RotaryTable(nn.Module):
    def __init__(self, context, width, edition):
        super().__init__()
        self.edition = edition
        self.register_buffer("table", torch.empty(2, context, width // 2), persistent=False)  # cosines, sines

    def forward(self, x, positions):
        first, second = x.unflatten(-1, (-1, 2)).movedim(-1, 0)
        if self.edition == 2025:
            cosine, sine = self.table[:, positions]  # a new tensor
        else:
            cosine, sine = self.table[:, : x.shape[-2]]
        left = cosine * first - sine * second
        right = sine * first + cosine * second
        if self.edition == 2025:
            return torch.stack((left, right), dim=-1).flatten(-2)
        return torch.cat((left, right), dim=-1)


def softmax(x):
    shifted = x - torch.max(x, dim=-1, keepdim=True)[0]
    weights = torch.exp(shifted)
    return weights / torch.sum(weights, dim=-1, keepdim=True)


def attend(q, k, v, mask):
    scores = torch.einsum("...qd,...kd->...qk", q, k) / math.sqrt(k.shape[-1])
    scores = torch.where(mask, scores, float("-inf"))
    weights = softmax(scores)
    return torch.einsum("...qk,...kd->...qd", weights, v)


class Attention(nn.Module):
    def __init__(self, width, n_heads, rotary):
        super().__init__()
        self.n_heads = n_heads
        self.q, self.k, self.v, self.output = (Linear(width, width) for _ in range(4))
        self.rotary = rotary  # shared by all blocks

    def forward(self, x, positions=None):
        q, k, v = self.q(x), self.k(x), self.v(x)  # all three before their heads are split: the backward pass goes back so
        q, k, v = (projected.unflatten(-1, (self.n_heads, -1)).transpose(-3, -2) for projected in (q, k, v))
        n = x.shape[-2]
        if self.rotary.edition == 2025:
            positions = torch.arange(n, device=x.device)
        q = self.rotary(q, positions)
        k = self.rotary(k, positions)
        steps = torch.arange(n, device=x.device)
        mask = steps[:, None] >= steps[None, :]
        attended = attend(q, k, v, mask)
        attended = attended.transpose(-3, -2).flatten(-2)
        return self.output(attended)


class FeedForward(nn.Module):
    def __init__(self, width, width_inside):
        super().__init__()
        self.w1, self.w2 = Linear(width, width_inside), Linear(width_inside, width)
        self.w3 = Linear(width, width_inside)

    def forward(self, x):
        return self.w2(swish(self.w1(x)) * self.w3(x))


def swish(x):
    return x * torch.sigmoid(x)


class Block(nn.Module):
    def __init__(self, width, width_inside, n_heads, rotary):
        super().__init__()
        self.attention = Attention(width, n_heads, rotary)
        self.feed_forward = FeedForward(width, width_inside)
        self.norm1, self.norm2 = RMSNorm(width), RMSNorm(width)

    def forward(self, x):
        from_attention = self.attention(self.norm1(x))
        middle = x + from_attention
        from_feed_forward = self.feed_forward(self.norm2(middle))
        return middle + from_feed_forward


class Model(nn.Module):
    def __init__(self, size, context, edition, n_tokens=VOCABULARY, has_head=True):
        super().__init__()
        width, width_inside, n_blocks, n_heads = SIZES[size] if isinstance(size, str) else size
        self.embedding = Embedding(n_tokens, width, edition)
        self.rotary = RotaryTable(context, width // n_heads, edition)
        self.blocks = nn.ModuleList(Block(width, width_inside, n_heads, self.rotary) for _ in range(n_blocks))
        self.norm = RMSNorm(width)
        self.head = Linear(width, n_tokens) if has_head else None  # without: the base model

    def forward(self, tokens):
        x = self.embedding(tokens)
        if self.rotary.edition == 2026:
            embedded = x  # measured without a graph: one array of this size more is alive until the end
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return self.head(x) if self.head is not None else x


def make_model(size, context, edition, **more):
    """The model on the card, its tensors made in the order in which `Model(...).to("cuda")` makes them."""
    with torch.device("meta"):
        model = Model(size, context, edition, **more)
    # Not to_empty(), which makes the shared table anew for each block.
    return model._apply(lambda tensor: torch.empty_like(tensor, device="cuda") if tensor.is_meta else tensor)


def log_softmax(x):
    largest = torch.max(x, dim=-1, keepdim=True)[0]
    x = x - largest
    return x - torch.log(torch.sum(torch.exp(x), dim=-1, keepdim=True))


def cross_entropy(logits, targets):
    negative = -log_softmax(logits)
    return torch.mean(torch.gather(negative, -1, targets.unsqueeze(-1)))


class AdamW(torch.optim.Optimizer):
    """Moments are new tensors in each step; weights decay before the update in edition 2026, after it in 2025."""

    def __init__(self, parameters, edition, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        super().__init__(parameters, {"lr": lr, "betas": betas, "eps": eps, "decay": weight_decay})
        self.edition = edition

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state, gradient = self.state[parameter], parameter.grad.data
                t = state.get("t", 0) + 1
                rate = group["lr"] * math.sqrt(1 - beta2**t) / (1 - beta1**t)
                if self.edition == 2026:
                    parameter.data -= group["lr"] * group["decay"] * parameter.data
                old_m = state.get("m", torch.zeros_like(gradient))
                old_v = state.get("v", torch.zeros_like(gradient))
                m = beta1 * old_m + (1 - beta1) * gradient
                v = beta2 * old_v + (1 - beta2) * torch.square(gradient)
                parameter.data -= rate * m / (torch.sqrt(v) + group["eps"])
                if self.edition == 2025:
                    parameter.data -= group["lr"] * group["decay"] * parameter.data
                state["t"], state["m"], state["v"] = t, m, v
