"""Layers: norms, MLPs, embeddings, attention. Scripts make the modules of all providers, which counts in their memory."""
import torch
from torch import nn
from torch.nn import functional as F

from liger_case import Case, random


def liger(name):
    """An operator of the package liger_kernel, found at the first use."""
    import liger_kernel.transformers as package
    if name == "LigerEmbedding":
        from liger_kernel.transformers.experimental.embedding import LigerEmbedding
        return LigerEmbedding
    return getattr(package, name)


class RmsNorm(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, hidden_states):
        dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.eps)
        return self.weight * hidden_states.to(dtype)


class AddRmsNorm(RmsNorm):
    """norm: Liger's, or none for plain operators."""

    def __init__(self, width, eps, norm=None):
        super().__init__(width, eps)
        self.norm = norm

    def forward(self, hidden_states, residual):
        dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        residual = residual.to(torch.float32)
        hidden_states = hidden_states + residual
        residual = hidden_states
        if self.norm is not None:
            hidden_states = self.norm(hidden_states)
        else:
            variance = hidden_states.pow(2).mean(-1, keepdim=True)
            hidden_states = hidden_states * torch.rsqrt(variance + self.eps)
        return self.weight * hidden_states.to(dtype), residual.to(dtype)


def rms_norm(row):
    module = (liger("LigerRMSNorm")(hidden_size=row.H, eps=row.eps) if row.provider == "liger" else RmsNorm(row.H, row.eps)).to("cuda")
    x = random(row.M, row.H, dtype=row.dtype, grad=False)
    given = torch.randn_like(x)
    x.requires_grad_(True)
    return Case(lambda: module(x), given, [x], kept=RmsNorm(row.H, row.eps).to("cuda"))


def fused_add_rms_norm(row):
    if row.provider == "liger_fused_add_rms_norm":
        module = liger("LigerFusedAddRMSNorm")(hidden_size=row.H, eps=row.eps)
    elif row.provider == "liger_rms_norm":
        module = AddRmsNorm(row.H, row.eps, liger("LigerRMSNorm")(row.H, row.eps, in_place=False))
    else:
        module = AddRmsNorm(row.H, row.eps)
    module = module.to("cuda")
    # In all: four weights, one of them in the module that is measured (two in that of Liger's norm).
    kept = [torch.ones(row.H, device="cuda") for _ in range(4 - len(list(module.parameters())))]
    x, r = (random(row.M, row.H, dtype=row.dtype, grad=False) for _ in range(2))
    given = torch.randn_like(x), torch.randn_like(r)
    for tensor in (x, r):
        tensor.requires_grad_(True)
    return Case(lambda: module(x, r), given, [x, r], retain=row.mode == "backward", kept=kept)


def layer_norm(row):
    other = nn.LayerNorm(row.N, eps=row.eps).to("cuda")
    module = liger("LigerLayerNorm")(hidden_size=row.N).to("cuda") if row.provider == "liger" else nn.LayerNorm(row.N, eps=row.eps).to("cuda")
    x = random(row.M, row.N, dtype=row.dtype, grad=False)
    given = torch.randn_like(x)
    x.requires_grad_(True)
    return Case(lambda: module(x), given, [x], kept=other)


def group_norm(row):
    groups = row.C // row.channels_per_group
    other = nn.GroupNorm(groups, row.C, eps=row.eps).to("cuda")
    if row.provider == "liger":
        module = liger("LigerGroupNorm")(num_channels=row.C, num_groups=groups, eps=row.eps).to("cuda")
    else:
        module = nn.GroupNorm(groups, row.C, eps=row.eps).to("cuda")
    x = random(row.M, row.C, row.H, dtype=row.dtype, grad=False)
    given = torch.randn_like(x)
    x.requires_grad_(True)
    return Case(lambda: module(x), given, [x], kept=other)


def megatron_rms_norm(row):
    module = nn.RMSNorm(row.H, eps=1e-6).to("cuda").to(torch.bfloat16)
    x = random(row.S, row.B, row.H, dtype=torch.bfloat16)
    return summed(lambda: module(x), x)


def summed(forward, x):
    """The backward pass of Megatron's scripts: of the sum, with the forward pass in it."""
    case = Case(forward, None, [x], retain=False, backward_with_forward=True)
    whole = case.backward
    case.backward = lambda result, gradient=None: whole(result.sum(), gradient)
    return case


def megatron_swiglu(row):
    x = random(row.S, row.B, 2 * row.ffn_local, dtype=torch.bfloat16)

    def forward():
        x.grad = None
        one, two = torch.chunk(x, 2, -1)
        return F.silu(one) * two

    return summed(forward, x)


class Mlp(nn.Module):
    def __init__(self, width, inner, act):
        super().__init__()
        self.gate_proj = nn.Linear(width, inner, bias=False)
        self.up_proj = nn.Linear(width, inner, bias=False)
        self.down_proj = nn.Linear(inner, width, bias=False)
        self.act_fn = act

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


class TiledMlp(torch.autograd.Function):
    """The MLP of one shard of the tokens after another, which runs again in the backward pass, as DeepSpeed's does."""

    @staticmethod
    def forward(ctx, mlp, x, shards):
        ctx.mlp, ctx.shards = mlp, shards
        ctx.save_for_backward(x)
        with torch.no_grad():
            return torch.cat([mlp(shard) for shard in torch.chunk(x, shards, dim=-2)], dim=-2)

    @staticmethod
    def backward(ctx, gradient):
        (saved,) = ctx.saved_tensors
        wanted, shape = saved.requires_grad, saved.shape
        x = saved.detach().requires_grad_(wanted).view(-1, shape[-1])
        incoming = gradient.view(-1, shape[-1])
        whole = torch.zeros_like(x)
        shards = list(torch.chunk(x, ctx.shards, dim=0))
        for at, shard in enumerate(shards):
            shard.requires_grad_(wanted)
            first = at * shards[0].shape[0]
            shard.grad = whole.narrow(0, first, shard.shape[0]).view_as(shard)
            part = incoming.narrow(0, first, shard.shape[0]).view_as(shard)
            with torch.enable_grad():
                result = ctx.mlp(shard)
            torch.autograd.backward(result, part)
        return None, whole.view(shape), None


def mlp(row):
    gated = "swiglu" in row.kernel
    x = random(row.B if row.has("B") else row.bsz, row.T, row.hidden_size, dtype=row.dtype)
    if row.provider in ("liger", "liger_tiled"):
        from types import SimpleNamespace
        config = SimpleNamespace(hidden_size=row.hidden_size, intermediate_size=row.intermediate_size, hidden_act=row.hidden_act)
        name = ("Tiled" if row.provider == "liger_tiled" else "") + ("SwiGLUMLP" if gated else "GEGLUMLP")
        more = {"num_shards": row.num_shards} if row.provider == "liger_tiled" else {}
        layer = liger("Liger" + name)(config=config, **more)
    else:
        layer = Mlp(row.hidden_size, row.intermediate_size, F.silu if gated else lambda z: F.gelu(z, approximate="tanh"))
    layer = layer.to("cuda").to(row.dtype)
    forward = (lambda: TiledMlp.apply(layer, x, row.num_shards)) if row.provider == "deepspeed_tiled" else (lambda: layer(x))
    return Case(forward, torch.randn_like(x) if row.mode == "backward" else "new", [x])


def embedding(row):
    modules = [nn.Embedding(row.V, row.D).to("cuda").to(row.dtype)]
    modules.append(liger("LigerEmbedding")(row.V, row.D).to("cuda").to(row.dtype) if row.provider == "liger" else nn.Embedding(row.V, row.D).to("cuda"))
    module = modules[1] if row.provider == "liger" else modules[0]
    if row.provider == "torch_compile":
        module = torch.compile(module)
    ids = torch.randint(0, row.V, (row.B, row.T), device="cuda")
    return Case(lambda: module(ids), "new", retain=False, kept=modules)


def softmax(row):
    """Its script of memory makes a vector of N elements; that of times has M rows."""
    module = liger("LigerKernelSoftmax")().to("cuda") if row.provider == "liger" else nn.Softmax(dim=-1)
    return elementwise(row, module)


def relu_squared(row):
    module = liger("LigerReLUSquared")().to("cuda") if row.provider == "liger" else lambda x: torch.square(F.relu(x))
    return elementwise(row, module)


def elementwise(row, module):
    if row.metric == "memory":
        x = random(row.N, dtype=row.dtype)
        return Case(lambda: module(x), "ones", [x])
    x = random(row.M, row.N, dtype=row.dtype, grad=False)
    given = torch.randn_like(x)
    x.requires_grad_(True)
    return Case(lambda: module(x), given, [x])


def sparsemax(row):
    def plain(x):
        ordered, _ = torch.sort(x, dim=-1, descending=True)
        sums = torch.cumsum(ordered, dim=-1)
        index = torch.arange(1, x.size(-1) + 1, device=x.device, dtype=x.dtype).view(1, -1)
        bound = 1 + index * ordered
        support = bound > sums
        k = support.sum(dim=-1, keepdim=True).clamp(min=1)
        support_sum = (ordered * support).sum(dim=-1, keepdim=True)
        tau = (support_sum - 1) / k
        return torch.clamp(x - tau, min=0)

    module = liger("LigerSparsemax")(dim=-1).to("cuda") if row.provider == "liger" else plain
    x = random(row.B * row.T, row.V, dtype=row.dtype, grad=False)
    given = torch.randn_like(x)
    x.requires_grad_(True)
    return Case(lambda: module(x), given, [x])


def rotated(x):
    """The order of the two slices is that of the backward pass, and so of its peak."""
    half = x.shape[-1] // 2
    first = x[..., :half]
    second = x[..., half:]
    return torch.cat((-second, first), dim=-1)


def rope(row):
    heads = row.hidden_size if row.has("hidden_size") else row.H, row.seq_len if row.has("seq_len") else row.T
    width, length = heads[0] // row.num_q_heads, heads[1]
    q, k = (random(1, length, n, width, dtype=row.dtype).transpose(1, 2) for n in (row.num_q_heads, row.num_kv_heads))
    given = torch.randn_like(q), torch.randn_like(k)
    positions = torch.arange(length, device="cuda").unsqueeze(0)
    inverse = 1.0 / (10000.0 ** (torch.arange(0, width, 2, dtype=torch.int64, device="cuda").float() / width))
    angles = (inverse[None, :, None].expand(1, -1, 1) @ positions[:, None, :].float()).transpose(1, 2)
    angles = torch.cat((angles, angles), dim=-1)
    cos, sin = angles.cos().to(row.dtype), angles.sin().to(row.dtype)

    def plain():
        c, s = cos.unsqueeze(1), sin.unsqueeze(1)
        return (q * c) + (rotated(q) * s), (k * c) + (rotated(k) * s)

    forward = (lambda: liger("liger_rotary_pos_emb")(q, k, cos, sin, positions)) if row.provider == "liger" else plain
    return Case(forward, given, [q, k], retain=row.mode == "backward" or row.metric == "memory", kept=(positions, inverse), wanted=(q, k))


def llama4_rope(row):
    heads = row.hidden_size if row.has("hidden_size") else row.H, row.seq_len if row.has("seq_len") else row.T
    width, length = heads[0] // row.num_q_heads, heads[1]
    q, k = (random(1, length, n, width, dtype=row.dtype) for n in (row.num_q_heads, row.num_kv_heads))
    given = torch.randn_like(q), torch.randn_like(k)
    positions = torch.arange(length, device="cuda").unsqueeze(0)
    inverse = 1.0 / (10000.0 ** (torch.arange(0, width, 2, dtype=torch.int64, device="cuda").float() / width))
    angles = (inverse[None, :, None].expand(1, -1, 1) @ positions[:, None, :].float()).transpose(1, 2)
    turns = torch.polar(torch.ones_like(angles), angles)

    def plain():
        pairs = [torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2)) for x in (q, k)]
        results = [torch.view_as_real(each * turns[:, :, None, :]).flatten(3) for each in pairs]
        return results[0].type_as(q), results[1].type_as(k)

    forward = (lambda: liger("liger_llama4_text_rotary_pos_emb")(q, k, turns)) if row.provider == "liger" else plain
    return Case(forward, given, [q, k], retain=row.mode == "backward" or row.metric == "memory", kept=(positions, inverse), wanted=(q, k))


class TokenAttention(nn.Module):
    """A convolution over the scores of neighbouring tokens. sparse: after sparsemax, in fp32, in place of softmax."""

    def __init__(self, row, sparse):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(row.C_out, row.C_in // row.groups, row.K, row.K, dtype=row.dtype, device="cuda"))
        self.bias = nn.Parameter(torch.empty(row.C_out, dtype=row.dtype, device="cuda")) if row.bias else None
        self.padding, self.groups, self.sparse = row.K // 2, row.groups, sparse

    def sparsemax(self, z):
        ordered, _ = torch.sort(z, dim=-1, descending=True)
        sums = torch.cumsum(ordered, dim=-1)
        index = torch.arange(1, z.size(-1) + 1, device=z.device, dtype=z.dtype).view(1, 1, 1, -1)
        positive = ordered > -1e8
        condition = (1 + index * ordered > sums) & positive
        k = torch.sum(condition, dim=-1, keepdim=True)
        safe = torch.max(k, torch.ones_like(k))
        upto = torch.gather(sums, dim=-1, index=safe.long() - 1)
        tau = (upto - 1) / safe.to(z.dtype)
        tau = torch.where(k == 0, torch.full_like(tau, float("inf")), tau)
        return torch.clamp(z - tau, min=0)

    def forward(self, scores):
        length, dtype = scores.shape[-1], torch.float32 if self.sparse else scores.dtype
        mask = torch.tril(torch.ones(length, length, dtype=torch.bool, device="cuda")).view(1, 1, length, length)
        lowest = torch.tensor(-1e9, device="cuda", dtype=dtype)
        zero = torch.tensor(0.0, device="cuda", dtype=dtype)
        masked = scores.to(dtype).masked_fill(~mask, lowest)
        probabilities = self.sparsemax(masked) if self.sparse else F.softmax(masked, dim=-1)
        weight, bias = self.weight.to(dtype), self.bias.to(dtype) if self.bias is not None else None
        mixed = F.conv2d(probabilities, weight, bias, stride=1, padding=self.padding, groups=self.groups)
        return mixed.masked_fill(~mask, zero).to(scores.dtype)


def token_attention(row):
    sparse = row.kernel.startswith("sparse")
    modules = [TokenAttention(row, sparse), TokenAttention(row, sparse)]
    module = modules[0]
    if row.provider == "liger":
        more = {"sparse": True} if sparse else {}
        module = liger("LigerMultiTokenAttention")(row.C_in, row.C_out, row.K, stride=1, padding=row.K // 2, dilation=1, groups=row.groups, bias=row.bias, **more)
        modules[1] = module = module.to("cuda").to(row.dtype)
    x = random(row.B, row.C_in, row.L, row.L, dtype=row.dtype, grad=False)
    given = torch.randn_like(x)
    x.requires_grad_(True)
    return Case(lambda: module(x), given, [x], kept=modules)


class NeighborhoodAttention(nn.Module):
    def __init__(self, row):
        super().__init__()
        self.row, self.width = row, row.hidden_size // row.num_heads
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            setattr(self, name, nn.Linear(row.hidden_size, row.hidden_size, bias=row.bias))

    def mask(self, length):
        """The script sets element by element, each a launch. That takes no memory beside the mask, so the CPU sets them here."""
        reach, dilation = self.row.kernel_size // 2 * self.row.dilation, self.row.dilation
        distance = (torch.arange(length)[None, :] - torch.arange(length)[:, None]).abs()
        mask = torch.zeros(length, length, device="cuda", dtype=torch.bool)
        return mask.copy_((distance <= reach) & (distance % dilation == 0))

    def forward(self, x):
        batch, length, _ = x.shape
        query, key, value = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        query, key, value = (each.view(batch, length, self.row.num_heads, self.width).transpose(1, 2) for each in (query, key, value))
        scores = torch.matmul(query, key.transpose(-2, -1)) * (1.0 / self.width**0.5)
        mask = self.mask(length)
        scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        output = torch.matmul(weights, value)
        output = output.transpose(1, 2).contiguous().view(batch, length, -1)
        return self.out_proj(output)


def neighborhood_attention(row):
    modules = [NeighborhoodAttention(row).to("cuda").to(row.dtype) for _ in range(2)]
    module = modules[0]
    if row.provider == "liger":
        names = ("hidden_size", "num_heads", "kernel_size", "dilation", "bias")
        modules[1] = module = liger("LigerFusedNeighborhoodAttention")(**{name: row.values[name] for name in names}).to("cuda").to(row.dtype)
    x = random(row.batch_size, row.seq_len, row.hidden_size, dtype=row.dtype, grad=False)
    given = torch.randn_like(x)
    x.requires_grad_(True)
    return Case(lambda: module(x), given, [x], kept=modules)


def fused_moe(row):
    dtype = row.dtype
    x = random(row.T, row.H, dtype=dtype)
    gate_up = random(row.E, 2 * row.intermediate_dim, row.H, dtype=dtype) * 0.02
    down = random(row.E, row.H, row.intermediate_dim, dtype=dtype) * 0.02
    logits = torch.randn(row.T, row.E, device="cuda")
    chosen = torch.topk(logits, row.K, dim=-1).indices.to(torch.int32)
    weights = torch.softmax(torch.gather(logits, 1, chosen.long()), dim=-1).to(dtype).requires_grad_(True)

    def forward():
        final = torch.zeros_like(x)
        with torch.no_grad():
            mask = F.one_hot(chosen.long(), num_classes=row.E).permute(2, 1, 0)
            hit = torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero()
        for expert in hit:
            at = expert[0]
            place, token = torch.where(mask[at])
            current = x[token]
            gate, up = F.linear(current, gate_up[at]).chunk(2, dim=-1)
            current = F.silu(gate) * up
            current = F.linear(current, down[at])
            current = current * weights[token, place, None]
            final.index_add_(0, token, current.to(final.dtype))
        return final

    return Case(forward, "new", [x, gate_up, down, weights], kept=logits)


MODULES = {
    "rms_norm": rms_norm, "fused_add_rms_norm": fused_add_rms_norm, "layer_norm": layer_norm, "group_norm": group_norm,
    "megatron_rms_norm": megatron_rms_norm, "megatron_swiglu": megatron_swiglu, "geglu": mlp, "swiglu": mlp, "tiled_geglu": mlp,
    "tiled_swiglu": mlp, "embedding": embedding, "softmax": softmax, "relu_squared": relu_squared, "sparsemax": sparsemax, "rope": rope,
    "llama4_rope": llama4_rope, "multi_token_attention": token_attention, "sparse_multi_token_attention": token_attention,
    "fused_neighborhood_attention": neighborhood_attention, "fused_moe": fused_moe,
}
