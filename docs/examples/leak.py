"""A training loop that keeps the graph of each step: an ordinary mistake in a PyTorch program for `tidemark run`."""
import torch
from torch import nn


def train(model, optimizer, n_steps):
    total = 0
    for _ in range(n_steps):
        images = torch.rand(256, 3, 64, 64, device="cuda")
        loss = model(images).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total += model(images).mean()
    return total / n_steps


def main():
    layers = [nn.Sequential(nn.Conv2d(3 if i == 0 else 64, 64, 3, padding=1), nn.ReLU()) for i in range(4)]
    model = nn.Sequential(*layers).cuda()
    print(train(model, torch.optim.SGD(model.parameters(), lr=0.1), 1000))


if __name__ == "__main__":
    main()
