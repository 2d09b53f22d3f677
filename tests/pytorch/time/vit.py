"""A vision transformer for a launch log: patches, LayerNorm, attention, cross entropy with smoothing, SGD, scaled fp16.

vit.py [STEPS]: fp16 by autocast with a gradient scaler, random weights. Its sizes let it run in seconds.
"""
import sys

import torch
import torch.nn.functional as F
from torch import nn

LAYERS, HEADS, CHANNELS, PATCH, SIDE, CLASSES, BATCH = 4, 6, 384, 16, 224, 1000, 16


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, CHANNELS, PATCH, PATCH)
        self.first = nn.Parameter(torch.zeros(1, 1, CHANNELS))
        self.places = nn.Parameter(torch.zeros(1, (SIDE // PATCH) ** 2 + 1, CHANNELS))
        layer = nn.TransformerEncoderLayer(CHANNELS, HEADS, 4 * CHANNELS, 0.1, "gelu", batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(CHANNELS), nn.Linear(CHANNELS, CLASSES)

    def forward(self, pictures):
        x = self.patches(pictures).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(x), -1, -1), x], 1) + self.places
        return self.head(self.norm(self.blocks(x))[:, 0])


model = Model().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
scaler = torch.amp.GradScaler("cuda")
for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 3):
    pictures = torch.rand(BATCH, 3, SIDE, SIDE, device="cuda")
    labels = torch.randint(CLASSES, (BATCH,), device="cuda")
    with torch.autocast("cuda", torch.float16):
        output = model(pictures)
        loss = F.cross_entropy(output, labels, label_smoothing=0.1)
    right = (output.argmax(-1) == labels).float().mean()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
print(loss.item(), right.item())
