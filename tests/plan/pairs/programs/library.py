"""A model with a method for checkpointing, as of the library that the argument names."""
import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        return x + self.body(x)


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer(256) for _ in range(4))
        self.recomputes = False

    def forward(self, x):
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if self.recomputes else layer(x)
        return x


class OfTransformers(Body):
    def gradient_checkpointing_enable(self, gradient_checkpointing_kwargs=None):
        self.recomputes = not gradient_checkpointing_kwargs["use_reentrant"]


class OfDiffusers(Body):
    def enable_gradient_checkpointing(self):
        self.recomputes = True


class OfTimm(Body):
    def set_grad_checkpointing(self, enable=True):
        self.recomputes = enable


def main(kind):
    model = nn.Sequential(nn.Linear(256, 256), globals()[kind]()).cuda()
    optimizer = torch.optim.Adagrad(model.parameters())
    for _ in range(3):
        model(torch.randn(4096, 256, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


main(sys.argv[1])
