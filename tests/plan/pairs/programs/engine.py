"""A class that holds its model and its optimizer, with two groups of parameters; the layers are nested, and have BatchNorm."""
import torch
from torch import nn
from torch.nn.functional import cross_entropy


class Layer(nn.Module):
    def __init__(self, width, inner=0):
        super().__init__()
        self.first = nn.Linear(width, 4 * width)
        self.norm = nn.BatchNorm1d(4 * width)
        self.second = nn.Linear(4 * width, width)
        self.inner = nn.ModuleList(Layer(width) for _ in range(inner))

    def forward(self, x):
        x = x + self.second(torch.relu(self.norm(self.first(x))))
        for layer in self.inner:
            x = layer(x)
        return x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*(Layer(256, inner=1) for _ in range(3)))
        self.head = nn.Linear(256, 10000)

    def forward(self, x):
        return self.head(self.layers(x))


class Engine:
    def __init__(self):
        self.model = Net().to("cuda")
        groups = [{"params": list(self.model.layers.parameters())}, {"params": self.model.head.parameters(), "lr": 1e-4}]
        self.optimizer = torch.optim.Adam(groups, lr=1e-3, betas=(0.9, 0.95))

    def train(self):
        for _ in range(3):
            x = torch.randn(1024, 256, device="cuda")
            loss = cross_entropy(self.model(x), torch.zeros(1024, dtype=torch.long, device="cuda"))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()


Engine().train()
