"""Evaluates with gradients on, and fills its gradients with zeros."""
import torch
from torch import nn


class Part(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear, self.again = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        return x + self.again(torch.relu(self.linear(x)))


def main():
    model = nn.Sequential(*(Part(512) for _ in range(4))).cuda()
    optimizer = torch.optim.RMSprop(model.parameters())
    for _ in range(3):
        model.train()
        loss = model(torch.randn(256, 512, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        model.eval()
        quality = model(torch.randn(4096, 512, device="cuda")).mean()
        del quality


main()
