"""Loops that end by a number of the card: the card's take as many turns as the CPU's.

Halving until small, a power iteration until it stands, a search by bisection, a scheduler that looks at a loss, finished texts that
leave their batch.
"""
import torch


def halvings(device):
    x, n = torch.full((100,), 8.0).to(device), 0
    while x.norm() > 1e-3:
        x *= 0.5
        n += 1
    return n


def power_iteration(device):
    a = torch.diag(torch.arange(1.0, 21.0)).to(device)
    v, was, n = torch.ones(20).to(device), 0.0, 0
    while True:
        v = a @ v
        v = v / v.norm()
        now = (v @ a @ v).item()
        n += 1
        if abs(now - was) < 1e-4 or n > 500:
            return n
        was = now


def bisection(device):
    low, high, n = torch.zeros(()).to(device), torch.full((), 4.0).to(device), 0
    while high - low > 1e-3:
        middle = (low + high) / 2
        if middle * middle > 2:
            high = middle
        else:
            low = middle
        n += 1
    return n


def plateau(device):
    w = torch.nn.Parameter(torch.ones(4).to(device))
    optimizer = torch.optim.SGD([w], 0.1)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
    for i in range(8):
        loss = (w - w.detach()).square().sum() + torch.tensor(float(max(3 - i, 0))).to(device)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        scheduler.step(loss)
    return round(1e6 * optimizer.param_groups[0]["lr"])


def finished_texts(device):
    ends = torch.tensor([3, 9, 5, 12]).to(device)
    sizes, n = [], 0
    while len(ends) > 0:
        n += 1
        ends = ends[ends > n]
        sizes.append(len(ends))
    return n * 100 + sum(sizes)


for case in (halvings, power_iteration, bisection, plateau, finished_texts):
    print(f"{case.__name__.replace('_', ' ')} differs: {case('cuda') - case('cpu')}")
