"""The course's transformer and AdamW in plain PyTorch, as the baseline for tidemark.

The same model as model/layers/transformer.h: pre-norm blocks, RMSNorm (eps 1e-5), RoPE on adjacent
pairs, causal multi-head attention, SwiGLU, lm_head of its own, no biases, mean cross-entropy.
Written the way it is usually written, neither fused by hand nor slowed down. For PyTorch 1.13
and 2.x, on a CPU or on CUDA. Parameters carry the names of tidemark's snapshots.

Shapes: B sequences, T tokens, C channels, H heads, D = C / H, F hidden channels, V vocabulary.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Iterable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from shapes import Shape

RMSNORM_EPS = 1e-5
ATTENTIONS = ("naive", "sdpa")
OPTIMIZERS = ("in-place", "out-of-place")


def truncated_normal(weight: Tensor, sigma: float) -> None:
    """Fills a tensor from a normal distribution cut off at three sigma."""
    nn.init.trunc_normal_(weight, 0.0, sigma, -3.0 * sigma, 3.0 * sigma)


def linear(n_in: int, n_out: int) -> nn.Linear:
    """A layer without bias, weight (n_out, n_in)."""
    layer = nn.Linear(n_in, n_out, bias=False)
    truncated_normal(layer.weight, math.sqrt(2.0 / (n_in + n_out)))
    return layer


class RMSNorm(nn.Module):
    """x / sqrt(mean(x^2) + eps) * weight, computed in fp32 and returned in the type of x."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + RMSNORM_EPS)
        return (wide * scale * self.weight).to(x.dtype)


class Rope(nn.Module):
    """Turns channels (2i, 2i + 1) of a head by an angle that grows with the position."""

    def __init__(self, context_length: int, d_head: int, theta: float) -> None:
        super().__init__()
        frequency = theta ** (-torch.arange(0, d_head, 2, dtype=torch.float64) / d_head)
        angle = torch.outer(torch.arange(context_length, dtype=torch.float64), frequency)
        self.register_buffer("cos", angle.cos().float(), persistent=False)
        self.register_buffer("sin", angle.sin().float(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """x (B, H, T, D) -> the same shape and type."""
        n_tokens = x.shape[-2]
        cos, sin = self.cos[:n_tokens], self.sin[:n_tokens]
        even, odd = x[..., 0::2], x[..., 1::2]
        turned = torch.stack((cos * even - sin * odd, sin * even + cos * odd), dim=-1)
        return turned.flatten(-2).to(x.dtype)


class Attention(nn.Module):
    """Causal multi-head attention, (B, T, C) -> (B, T, C)."""

    def __init__(self, shape: Shape, rope: Rope, attention: str) -> None:
        super().__init__()
        width = shape.d_model
        self.n_heads = shape.heads
        self.attention = attention
        self.q_proj = linear(width, width)
        self.k_proj = linear(width, width)
        self.v_proj = linear(width, width)
        self.output_proj = linear(width, width)
        self.rope = rope
        future = torch.ones(shape.context, shape.context, dtype=torch.bool).triu(diagonal=1)
        self.register_buffer("future", future, persistent=False)

    def heads(self, x: Tensor) -> Tensor:
        """(B, T, C) -> (B, H, T, D), a view."""
        return x.view(*x.shape[:2], self.n_heads, -1).transpose(1, 2)

    def mix(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """softmax(q k^T / sqrt(D), past only) v; (B, H, T, D) each."""
        if self.attention == "sdpa":
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        n_tokens = q.shape[-2]
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(self.future[:n_tokens, :n_tokens], float("-inf"))
        return torch.softmax(scores, dim=-1) @ v

    def forward(self, x: Tensor) -> Tensor:
        q = self.rope(self.heads(self.q_proj(x)))
        k = self.rope(self.heads(self.k_proj(x)))
        v = self.heads(self.v_proj(x))
        return self.output_proj(self.mix(q, k, v).transpose(1, 2).flatten(2))


class SwiGLU(nn.Module):
    """w2(silu(w1 x) * w3 x)."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.w1 = linear(d_model, d_ff)
        self.w2 = linear(d_ff, d_model)
        self.w3 = linear(d_model, d_ff)

    def forward(self, x: Tensor) -> Tensor:
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    """x + attention(norm(x)), then x + feed-forward(norm(x))."""

    def __init__(self, shape: Shape, rope: Rope, attention: str) -> None:
        super().__init__()
        self.attn = Attention(shape, rope, attention)
        self.ffn = SwiGLU(shape.d_model, shape.d_ff)
        self.ln1 = RMSNorm(shape.d_model)
        self.ln2 = RMSNorm(shape.d_model)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln1(x))
        return x + self.ffn(self.ln2(x))


class Transformer(nn.Module):
    """tokens (B, T) -> logits (B, T, V)."""

    def __init__(self, shape: Shape, attention: str = "naive") -> None:
        super().__init__()
        if attention == "sdpa" and not hasattr(F, "scaled_dot_product_attention"):
            raise ValueError(
                f"PyTorch {torch.__version__} has no scaled_dot_product_attention: "
                "use --attention naive, or PyTorch 2.0 or later"
            )
        rope = Rope(shape.context, shape.d_model // shape.heads, shape.rope_theta)
        self.token_embeddings = nn.Embedding(shape.vocab, shape.d_model)
        truncated_normal(self.token_embeddings.weight, 1.0)
        self.layers = nn.ModuleList(Block(shape, rope, attention) for _ in range(shape.layers))
        self.ln_final = RMSNorm(shape.d_model)
        self.lm_head = linear(shape.d_model, shape.vocab)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.token_embeddings(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.ln_final(x))


def mean_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy over all tokens, in fp32."""
    return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten())


@dataclasses.dataclass
class Moments:
    """The optimizer state of one parameter, of the gradient's type."""

    exp_avg: Tensor
    exp_avg_sq: Tensor


class AdamW:
    """The course's AdamW, a plain loop over the parameters.

    Not torch.optim.AdamW to the bit: eps stands beside the uncorrected square root, the bias
    correction is in the step's size, and the decay comes after the update.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        in_place: bool = True,
    ) -> None:
        self.parameters = list(parameters)
        self.lr = lr
        self.betas = betas
        self.eps = eps
        self.weight_decay = weight_decay
        self.update = self._update_in_place if in_place else self._update_out_of_place
        self.state: dict[nn.Parameter, Moments] = {}
        self.n_steps = 0

    @torch.no_grad()
    def step(self) -> None:
        """One update of every parameter that has a gradient."""
        self.n_steps += 1
        beta1, beta2 = self.betas
        rate = self.lr * math.sqrt(1.0 - beta2**self.n_steps) / (1.0 - beta1**self.n_steps)
        for parameter in self.parameters:
            if parameter.grad is None:
                continue
            if parameter not in self.state:
                zeros = torch.zeros_like(parameter.grad)
                self.state[parameter] = Moments(zeros, torch.zeros_like(parameter.grad))
            self.update(parameter, parameter.grad, self.state[parameter], rate)

    def zero_grad(self) -> None:
        """Releases every gradient."""
        for parameter in self.parameters:
            parameter.grad = None

    def _update_in_place(
        self, parameter: nn.Parameter, grad: Tensor, state: Moments, rate: float
    ) -> None:
        beta1, beta2 = self.betas
        state.exp_avg.mul_(beta1).add_(grad, alpha=1.0 - beta1)
        state.exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1.0 - beta2)
        parameter.addcdiv_(state.exp_avg, state.exp_avg_sq.sqrt().add_(self.eps), value=-rate)
        parameter.mul_(1.0 - self.lr * self.weight_decay)

    def _update_out_of_place(
        self, parameter: nn.Parameter, grad: Tensor, state: Moments, rate: float
    ) -> None:
        beta1, beta2 = self.betas
        state.exp_avg = beta1 * state.exp_avg + (1.0 - beta1) * grad
        state.exp_avg_sq = beta2 * state.exp_avg_sq + (1.0 - beta2) * grad**2
        parameter -= rate * state.exp_avg / (torch.sqrt(state.exp_avg_sq) + self.eps)
        parameter -= self.lr * self.weight_decay * parameter
