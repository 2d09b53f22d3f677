"""Losses. The input of a divergence is a result of softmax, so a backward pass goes through it to the logits."""
import torch
from torch import nn
from torch.nn import functional as F

from liger_case import Case, random
from liger_modules import liger


def targets(n, vocabulary):
    return torch.randint(vocabulary, (n, 1), device="cuda").squeeze(1)


def cross_entropy(row):
    module = liger("LigerCrossEntropyLoss")() if row.provider == "liger" else nn.CrossEntropyLoss()
    x, y = random(row.B * row.T, row.V), targets(row.B * row.T, row.V)
    return Case(lambda: module(x, y), cleared=[x] if row.mode == "backward" else [], retain=row.mode == "backward")


class Head(nn.Module):
    def __init__(self, row):
        super().__init__()
        self.lin = nn.Linear(row.H, row.V, bias=False, dtype=row.dtype)


def fused_linear_cross_entropy(row):
    heads = [Head(row).to("cuda") for _ in range(2)]
    fused = liger("LigerFusedLinearCrossEntropyLoss")() if row.provider == "liger" else None
    loss = nn.CrossEntropyLoss(ignore_index=-100)
    x, y = random(row.BT, row.H, dtype=row.dtype), targets(row.BT, row.V)
    forward = (lambda: fused(heads[0].lin.weight, x, y)) if fused else (lambda: loss(heads[0].lin(x), y))
    return Case(forward, cleared=[x] if row.mode == "backward" else [], retain=row.mode == "backward", kept=heads)


def divergence(row):
    n, vocabulary = (row.B * row.T, row.V) if row.has("B") else (row.BT, row.vocab_size)
    first = "softmax" if row.kernel == "tvd" else "log_softmax"
    second = "log_softmax" if row.kernel == "jsd" else "softmax"
    x = getattr(random(n, vocabulary), first)(dim=-1)
    y = getattr(random(n, vocabulary, grad=False), second)(dim=-1)
    loss = {"kl_div": kl_div, "tvd": tvd, "jsd": jsd}[row.kernel](row)
    return Case(lambda: loss(x, y))


def kl_div(row):
    return liger("LigerKLDIVLoss")(reduction="batchmean") if row.provider == "liger" else nn.KLDivLoss(reduction="batchmean")


def tvd(row):
    if row.provider == "liger":
        return liger("LigerTVDLoss")(reduction="batchmean")
    return lambda p, q: torch.sum(torch.abs(p - q) / 2.0) / p.size(0)


def mean_of_divergences(log_q, log_p, beta=0.5):
    """The script of 2024: each divergence is reduced by itself, and its arguments of lerp are the other way round."""
    log_p, log_q = log_p.to(torch.float), log_q.to(torch.float)
    m = torch.lerp(torch.exp(log_p), torch.exp(log_q), beta)
    kl = nn.KLDivLoss(reduction="batchmean", log_target=True)
    return beta * kl(torch.log(m), log_p) + (1 - beta) * kl(torch.log(m), log_q)


def divergence_of_rows(log_q, log_p, beta=0.5):
    """The script since 2025: the sums of rows are added before they are reduced."""
    m = torch.lerp(torch.exp(log_q), torch.exp(log_p), beta)
    kl = nn.KLDivLoss(reduction="none", log_target=True)
    loss = beta * kl(torch.log(m), log_p).sum(dim=-1) + (1 - beta) * kl(torch.log(m), log_q).sum(dim=-1)
    return (loss / log_q.shape[0]).sum()


def jsd(row):
    if row.provider == "liger":
        return liger("LigerJSD")()
    return mean_of_divergences if row.date < "2025" else divergence_of_rows


def fused_linear_jsd(row):
    student, teacher = (torch.rand(row.V, row.H, device="cuda", dtype=row.dtype) for _ in range(2))
    weights = nn.Parameter(student), nn.Parameter(teacher)
    x = torch.rand(row.BT, row.H, dtype=row.dtype, device="cuda", requires_grad=True)
    y = torch.rand(row.BT, row.H, dtype=row.dtype, device="cuda")

    def forward():
        logits = F.linear(x, weights[0]), F.linear(y, weights[1])
        one, other = torch.log_softmax(logits[0] / 1.0, dim=-1), torch.log_softmax(logits[1] / 1.0, dim=-1)
        return mean_of_divergences(one, other).to(row.dtype)

    return Case(forward, cleared=[x, *weights] if row.mode == "backward" else [], retain=row.mode == "backward")


LOSSES = {"cross_entropy": cross_entropy, "fused_linear_cross_entropy": fused_linear_cross_entropy, "kl_div": divergence, "tvd": divergence,
          "jsd": divergence, "fused_linear_jsd": fused_linear_jsd}
