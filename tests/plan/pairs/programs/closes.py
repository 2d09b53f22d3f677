"""An optimizer that calls a closure."""
import torch
from torch import nn


def main():
    model = nn.Sequential(*(nn.Linear(512, 512) for _ in range(4))).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x = torch.randn(256, 512, device="cuda")

    def closure():
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure)


main()
