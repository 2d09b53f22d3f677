"""The package flash-attn, for programs that need it: its functions call the kernels that PyTorch was built with, which are the same sources.

The package itself has no wheel and is compiled by each user. install() makes it importable. What a call allocates is the same:
the output, the log-sum-exp and 16 bytes of random state forward; dq, dk, dv, their fp32 sum and, for grouped heads, the expanded dk and dv backward.
"""
import importlib.machinery
import sys
import types

import torch


class FlashAttention(torch.autograd.Function):
    """q (B, T, H, C), k and v (B, T, Hkv, C); or q (N, H, C) with the starts of the sequences."""

    @staticmethod
    def forward(ctx, q, k, v, starts_q, starts_k, longest_q, longest_k, dropout_p, scale, causal):
        out, lse, *state = torch.ops.aten._flash_attention_forward(
            q, k, v, starts_q, starts_k, longest_q, longest_k, dropout_p, causal, False, scale=scale)
        ctx.save_for_backward(q, k, v, out, lse, *state[:2])
        ctx.starts, ctx.longest, ctx.dropout_p, ctx.scale, ctx.causal = (starts_q, starts_k), (longest_q, longest_k), dropout_p, scale, causal
        return out

    @staticmethod
    def backward(ctx, grad):
        q, k, v, out, lse, *state = ctx.saved_tensors
        grads = torch.ops.aten._flash_attention_backward(
            grad.contiguous(), q, k, v, out, lse, *ctx.starts, *ctx.longest, ctx.dropout_p, ctx.causal, *state, scale=ctx.scale)
        return (*grads, *[None] * 7)


def flash_attn_func(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0, alibi_slopes=None,
                    deterministic=False, return_attn_probs=False):
    return FlashAttention.apply(q, k, v, None, None, q.shape[1], k.shape[1], dropout_p, softmax_scale, causal)


def flash_attn_varlen_func(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p=0.0, softmax_scale=None, causal=False,
                           window_size=(-1, -1), softcap=0.0, alibi_slopes=None, deterministic=False, return_attn_probs=False, block_table=None):
    return FlashAttention.apply(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p, softmax_scale, causal)


def not_here(*args, **kwargs):
    raise NotImplementedError("a function of flash-attn that PyTorch does not have")


def install(version: str = "2.7.3") -> None:
    """Call this before transformers is imported."""
    import importlib.metadata

    def module(name: str, **members) -> types.ModuleType:
        made = types.ModuleType(name)
        made.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        made.__path__ = []
        made.__dict__.update(members)
        sys.modules[name] = made
        return made

    module("flash_attn", __version__=version, flash_attn_func=flash_attn_func, flash_attn_varlen_func=flash_attn_varlen_func)
    module("flash_attn.bert_padding", index_first_axis=not_here, pad_input=not_here, unpad_input=not_here)
    module("flash_attn.layers")
    module("flash_attn.layers.rotary", apply_rotary_emb=not_here)
    real = importlib.metadata.version
    importlib.metadata.version = lambda name: version if name in ("flash_attn", "flash-attn") else real(name)
