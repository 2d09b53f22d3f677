"""Convolutions of every kind, forward and backward, with and without cuDNN's benchmark; normalisation, pooling, sampling.

What a convolution keeps is its input, its weights and its output; the work areas in between are cuDNN's own affair, and
named as not exact. Looked at here are the shapes that come out, and that each gradient has the shape of its tensor.
"""
import torch
from torch import nn

functional = nn.functional
LAYERS = [
    (nn.Conv1d(8, 16, 3), (4, 8, 100), (4, 16, 98)),
    (nn.Conv2d(8, 16, 3, groups=2), (4, 8, 32, 32), (4, 16, 30, 30)),
    (nn.Conv3d(4, 8, 3), (2, 4, 8, 16, 16), (2, 8, 6, 14, 14)),
    (nn.ConvTranspose2d(8, 4, 4, 2, 1), (2, 8, 16, 16), (2, 4, 32, 32)),
    (nn.Conv2d(8, 8, 3, dilation=2, padding=2), (2, 8, 20, 20), (2, 8, 20, 20)),
    (nn.Conv2d(8, 8, 3, groups=8), (2, 8, 20, 20), (2, 8, 18, 18)),
]
OTHERS = [
    (nn.BatchNorm2d(8), (4, 8, 16, 16), (4, 8, 16, 16)),
    (nn.GroupNorm(2, 8), (4, 8, 16, 16), (4, 8, 16, 16)),
    (nn.InstanceNorm2d(8), (4, 8, 16, 16), (4, 8, 16, 16)),
    (nn.LayerNorm(16), (4, 8, 16, 16), (4, 8, 16, 16)),
    (nn.RMSNorm(16), (4, 8, 16), (4, 8, 16)),
    (nn.MaxPool2d(2), (4, 8, 16, 16), (4, 8, 8, 8)),
    (nn.AdaptiveAvgPool2d(1), (4, 8, 16, 16), (4, 8, 1, 1)),
    (nn.Upsample(scale_factor=2, mode="bilinear"), (4, 8, 16, 16), (4, 8, 32, 32)),
]


def check(layer, shape, expected, dtype):
    layer = layer.cuda().to(dtype)
    x = torch.randn(*shape, device="cuda", dtype=dtype, requires_grad=True)
    y = layer(x)
    y.sum().backward()
    assert y.shape == expected and x.grad.shape == x.shape, (layer, y.shape)
    assert all(p.grad.shape == p.shape for p in layer.parameters())


n = 0
for benchmark in (False, True):
    torch.backends.cudnn.benchmark = benchmark
    for layer, shape, expected in LAYERS:
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            check(layer, shape, expected, dtype)
            n += 1
for layer, shape, expected in OTHERS:
    check(layer, shape, expected, torch.float32)
    n += 1
print(f"layers: {n}")

x = torch.randn(2, 3, 8, 8, device="cuda", requires_grad=True)
grid = functional.affine_grid(torch.randn(2, 2, 3, device="cuda", requires_grad=True), (2, 3, 8, 8), align_corners=False)
functional.grid_sample(x, grid, align_corners=False).sum().backward()
print("sampled", tuple(grid.shape), x.grad.shape == x.shape)
log_probabilities = torch.randn(50, 16, 20, device="cuda").log_softmax(2).requires_grad_()
lengths, targets = torch.full((16,), 50), torch.full((16,), 30)
functional.ctc_loss(log_probabilities, torch.randint(1, 20, (16, 30), device="cuda"), lengths, targets).backward()
print("ctc", log_probabilities.grad.shape == log_probabilities.shape)
