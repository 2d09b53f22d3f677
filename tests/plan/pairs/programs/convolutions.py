"""Convolutions in fp32 without BatchNorm, with a DataLoader, at the level of the module."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Stage(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(8, width), nn.ReLU(),
                                  nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(8, width))

    def forward(self, x):
        return torch.relu(x + self.body(x))


with torch.device("cuda"):
    model = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), *(Stage(64) for _ in range(4)), nn.AdaptiveAvgPool2d(1),
                          nn.Flatten(), nn.Linear(64, 10))
data = DataLoader(
    TensorDataset(torch.zeros(96, 3, 64, 64), torch.zeros(96, dtype=torch.long)),
    batch_size=32,
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
criterion = nn.CrossEntropyLoss()
for x, y in data:
    loss = criterion(model(x.cuda()), y.cuda())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
