"""Steps of the staff model for a launch log: staff_steps.py SIZE CONTEXT fp32|bf16 [STEPS].

The published times in docs/internals/time-model.md are of this model with batch 4: forward with its loss, backward, AdamW. Its
program names dimensions in texts, which einops and einx (from pip) turn into PyTorch's operators. That is much of the
host's time in the forward pass, so it is done here, too, where both are installed.
"""
import math
import os
import sys

import torch

try:
    import einx
    from einops import einsum, rearrange
except ImportError:  # the same products and kernels, but for some copies, and a faster host
    einx = None

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import staff_model
from plain_training import train


def linear(self, x):
    return einsum(x, self.weight, "... d_in, d_out d_in -> ... d_out")


def rotate(self, x, positions):
    first, second = rearrange(x, "... (half xy) -> xy ... half", xy=2)
    cosine, sine = einx.get_at("cs [pos] half, ... -> cs ... half", self.table, positions)
    left = cosine * first - sine * second
    right = sine * first + cosine * second
    return einx.rearrange("... half, ... half -> ... (half (1 + 1))", left, right).contiguous()


def attend(q, k, v, mask):
    scores = einsum(q, k, "... query d_k, ... key d_k -> ... query key") / math.sqrt(k.shape[-1])
    scores = torch.where(mask, scores, float("-inf"))
    weights = staff_model.softmax(scores)
    return einsum(weights, v, "... query key, ... key d_v -> ... query d_v")


def attention(self, x, positions=None):
    *batch, n, _ = x.size()
    ones = [1] * len(batch)
    q, k, v = self.q(x), self.k(x), self.v(x)
    q, k, v = (rearrange(heads, "... seq (heads d) -> ... heads seq d", heads=self.n_heads) for heads in (q, k, v))
    positions = einx.rearrange("seq -> b... seq", torch.arange(n, device=x.device), b=ones)
    positions = rearrange(positions, "... seq -> ... 1 seq")
    q = self.rotary(q, positions)
    k = self.rotary(k, positions)
    steps = torch.arange(n, device=x.device)
    query = einx.rearrange("query -> b... 1 query 1", steps, b=ones)
    key = einx.rearrange("key -> b... 1 1 key", steps, b=ones)
    attended = attend(q, k, v, query >= key)
    return self.output(rearrange(attended, "batch heads seq d -> batch seq (heads d)").contiguous())


if einx is not None:
    staff_model.Linear.forward = linear
    staff_model.RotaryTable.forward = rotate
    staff_model.Attention.forward = attention

size, context, precision = sys.argv[1], int(sys.argv[2]), sys.argv[3]
train({
    "size": size, "context": context, "batch": 4, "edition": 2025, "mode": "train", "no_head": False,
    "precision": "bf16-mixed" if precision == "bf16" else "fp32",
    "steps": int(sys.argv[4]) if len(sys.argv) > 4 else 4,
})
