"""Programs check what they computed: every check below holds on a card, and an untrue one ends a program.

The figures are how many of the checks hold where the values come from the host, are computed of them, or are of a model's output.
"""
import math

import torch
from torch import nn


def holds(name, *checks):
    failed = [i for i, check in enumerate(checks) if not check]
    print(f"{name}: {len(checks) - len(failed)}", *(["failed:", failed] if failed else []), sep="\n")


def host_values():
    b = torch.rand(8, 4).cuda().sigmoid()
    holds("of the host", (b >= 0).all(), not torch.isnan(b).any(), torch.isfinite(b).all(), torch.allclose(b, b.clone()), torch.equal(b, b.clone()),
          b.max() <= 1, b.min() < b.max(), abs(b.softmax(-1).sum().item() - 8) < 1e-3, (b > 0).any(), not (b > 2).any())


def masks():
    mask = (torch.rand(2, 1, 8, 8) > 0.5)
    count = int(mask.sum())
    mask = mask.float().cuda()
    large = (torch.rand(16, 1, 256, 256) > 0.5).float().cuda()
    corners = nn.functional.affine_grid(torch.eye(2, 3).repeat(4, 1, 1).cuda(), (4, 3, 8, 8), align_corners=False)
    holds("of masks", mask.max() <= 1, mask.min() >= 0, mask.sum().item() == count, large.max() <= 1, large.min() >= 0, 1.7 < (corners.max() - corners.min()).item() < 1.8)
    with torch.inference_mode():
        holds("of masks in inference mode", mask.max() <= 1, mask.min() >= 0, (mask * 2).max().item() == 2, large.max() <= 1)


def of_a_model():
    model = nn.Sequential(nn.Linear(256, 2048), nn.GELU(), nn.Linear(2048, 2048), nn.GELU(), nn.Linear(2048, 10)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    x, y = torch.randn(512, 256).cuda(), torch.randint(0, 10, (512,))
    y = y.cuda()
    logits = model(x)
    loss = nn.functional.cross_entropy(logits, y)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
    optimizer.step()
    value, shares = loss.item(), logits.softmax(-1)
    right = (logits.argmax(-1) == y).sum().item()
    tops = shares.topk(3, -1)
    holds("of a model", math.isfinite(value), value > 0, math.exp(value) > 1, norm.item() > 0, norm.isfinite(), 0 <= right <= 512,
          abs(shares.sum().item() - 512) < 1, (shares >= 0).all(), (shares <= 1).all(), (tops.values[:, 0] >= tops.values[:, 1]).all(),
          tops.indices.max() < 10, not any(p.grad.isnan().any() for p in model.parameters()), all(p.isfinite().all() for p in model.parameters()))


def distributions():
    b = torch.rand(8, 4).cuda()
    drawn = torch.distributions.Categorical(probs=b.softmax(-1)).sample()
    normal = torch.distributions.Normal(b, b.exp())
    holds("of distributions", drawn.max() < 4, drawn.min() >= 0, normal.sample().shape == (8, 4), normal.log_prob(b).isfinite().all(),
          torch.multinomial(b, 2).max() < 4, torch.randperm(10, device="cuda").sum().item() == 45, 0 <= torch.rand(5, device="cuda").min() < 1)


def of_large():
    a = torch.randn(3_000_000, device="cuda")
    s = a.sigmoid()
    g = a * 2 + 1
    holds("of large tensors", s.min() >= 0, s.max() <= 1, g.dot(-g) < 0, g.dot(g) > 0, a.square().sum() >= 0, a.abs().max() >= a.max(), a.norm() > 0, a.min() < a.max(),
          not a.isnan().any(), (a.exp() > 0).all(), torch.isfinite(a.mean()), a.clamp(-1, 1).abs().max() <= 1)


host_values()
masks()
of_a_model()
distributions()
of_large()
