"""ResNet-50 of torchvision, three SGD steps with momentum: resnet50.py [amp] [channels_last] [benchmark]

What is kept between steps is known: 25,557,032 parameters, as many gradients and momenta of 4 bytes; of the 53 batch
normalisations, with 26,560 channels, a mean and a variance each, and a counter of 8 bytes. Parameters: the stem 3*64*7*7;
four groups of 3, 4, 6 and 3 blocks of width w = 64, 128, 256, 512, whose first block has c inputs and a projection:
c*w + 9*w*w + 4*w*w + c*4*w, every other one 4*w*w + 9*w*w + 4*w*w; 2 for each channel of a normalisation; the last layer
2048*1000 + 1000. Channels: 64, then 6*w for each block, and 4*w more for a first one. cuBLAS has a workspace for the main
thread and one for the backward pass. A GradScaler keeps its scale and its counter, 4 bytes each.
"""
import sys

import torch
import torchvision

options = sys.argv[1:]
torch.backends.cudnn.benchmark = "benchmark" in options
model = torchvision.models.resnet50().cuda()
layout = torch.channels_last if "channels_last" in options else torch.contiguous_format
model = model.to(memory_format=layout)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scaler = torch.amp.GradScaler("cuda", enabled="amp" in options)
for step in range(3):
    images = torch.randn(16, 3, 224, 224, device="cuda").to(memory_format=layout)
    labels = torch.randint(0, 1000, (16,), device="cuda")
    with torch.autocast("cuda", enabled="amp" in options):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    print("loss", loss.item())
del images, labels, loss
print(f"kept: {torch.cuda.memory_stats()['requested_bytes.all.current']}")
print(f"parameters: {sum(p.numel() for p in model.parameters())}")
print(f"momenta: {len(optimizer.state)}")
