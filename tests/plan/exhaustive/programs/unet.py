"""A U-Net in fp32 with a DataLoader: its peak is activations."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class Pair(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.first, self.second = nn.Conv2d(inner, outer, 3, padding=1), nn.Conv2d(outer, outer, 3, padding=1)
        self.norm1, self.norm2 = nn.GroupNorm(8, outer), nn.GroupNorm(8, outer)

    def forward(self, x):
        x = F.silu(self.norm1(self.first(x)))
        return F.silu(self.norm2(self.second(x)))


class UNet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.start = nn.Conv2d(3, width, 3, padding=1)
        self.down = nn.ModuleList([Pair(width, width), Pair(width, 2 * width), Pair(2 * width, 4 * width)])
        self.middle = Pair(4 * width, 4 * width)
        self.up = nn.ModuleList([Pair(8 * width, 2 * width), Pair(4 * width, width), Pair(2 * width, width)])
        self.end = nn.Conv2d(width, 3, 1)

    def forward(self, x):
        x, kept = self.start(x), []
        for pair in self.down:
            kept.append(pair(x))
            x = F.max_pool2d(kept[-1], 2)
        x = self.middle(x)
        for pair in self.up:
            x = F.interpolate(x, scale_factor=2.0, mode="nearest")
            x = pair(torch.cat([x, kept.pop()], 1))
        return self.end(x)


def main():
    model = UNet(64).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    images = DataLoader(TensorDataset(torch.zeros(96, 3, 128, 128), torch.zeros(96, 3, 128, 128)), batch_size=16)
    for x, y in images:
        optimizer.zero_grad()
        F.mse_loss(model(x.cuda()), y.cuda()).backward()
        optimizer.step()


if __name__ == "__main__":
    main()
