"""A program whose blocks have many categories, with PyTorch's own history from the start: rules.py FILE [KIND].

The snapshot of the history goes to FILE. KIND: train, infer, closure or moved.
"""
import sys

import torch
from torch import nn

WIDTH = 256


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.norm = nn.BatchNorm1d(4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        scratch = x * 2
        return x + self.down(torch.relu(self.norm(self.up(scratch))))


def model():
    return nn.Sequential(*[Block() for _ in range(3)])


def batch():
    return torch.randn(64, WIDTH).cuda()


def train():
    net = model().cuda()
    optimizer = torch.optim.AdamW(net.parameters(), foreach=True)
    for _ in range(4):
        loss = (net(batch()) * 3).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return net


def infer():
    """Results are kept, and layers are called one by one."""
    net = model().cuda().eval()
    kept = []
    with torch.no_grad():
        for _ in range(3):
            x = batch()
            for layer in net:
                x = layer(x)
            kept.append(x.softmax(-1))
    return net, kept


def closure():
    """The optimizer calls the forward and the backward pass."""
    net = model().cuda()
    optimizer = torch.optim.LBFGS(net.parameters(), max_iter=2, history_size=2)
    x = batch()

    def again():
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        return loss

    for _ in range(2):
        optimizer.step(again)
    return net


def moved():
    """Gradients move with the model."""
    net = model()
    net(torch.randn(8, WIDTH)).sum().backward()
    net.to("cuda")
    with torch.no_grad():
        net(batch())
    return net


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(stacks="python")
    held = globals()[sys.argv[2]]()
    torch.cuda.memory._dump_snapshot(sys.argv[1])
