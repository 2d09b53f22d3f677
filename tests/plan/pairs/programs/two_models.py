"""Two models that are trained in turn, by an optimizer each."""
import torch
from torch import nn


class Part(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, 2 * width), nn.Tanh(), nn.Linear(2 * width, width))

    def forward(self, x):
        return x + self.body(x)


def make():
    return nn.Sequential(*(Part(512) for _ in range(3))).cuda()


def main():
    draws, judges = make(), make()
    of_draws = torch.optim.Adam(draws.parameters(), lr=2e-4)
    of_judges = torch.optim.Adam(judges.parameters(), lr=2e-4)
    for _ in range(3):
        drawn = draws(torch.randn(2048, 512, device="cuda"))
        of_judges.zero_grad()
        (judges(drawn.detach()).mean() - judges(torch.randn(2048, 512, device="cuda")).mean()).backward()
        of_judges.step()
        of_draws.zero_grad()
        (-judges(drawn).mean()).backward()
        of_draws.step()


main()
