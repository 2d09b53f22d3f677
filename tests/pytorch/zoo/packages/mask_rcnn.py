"""Mask R-CNN of torchvision, random weights: two steps of training and an evaluation of two images of 320 x 320."""
import torch
import torchvision

model = torchvision.models.detection.maskrcnn_resnet50_fpn(weights=None, weights_backbone=None, num_classes=5, min_size=320, max_size=320).cuda()
optimizer = torch.optim.SGD(model.parameters(), 1e-3)


def batch():
    images = [torch.rand(3, 320, 320).cuda() for _ in range(2)]
    boxes = torch.tensor([[10.0, 10.0, 100.0, 120.0], [50.0, 60.0, 300.0, 310.0], [5.0, 5.0, 60.0, 70.0]])
    return images, [{"boxes": boxes.cuda(), "labels": torch.randint(1, 5, (3,)).cuda(), "masks": torch.randint(0, 2, (3, 320, 320), dtype=torch.uint8).cuda()} for _ in images]


for _ in range(2):
    loss = sum(model(*batch()).values())
    assert torch.isfinite(loss)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
model.eval()
with torch.no_grad():
    found = model(batch()[0])
n = [len(one["scores"]) for one in found]
print(f"images: {len(n)}")
print("detections are within the limit", max(n) <= 100, "masks fit", all(one["masks"].shape[0] == k for one, k in zip(found, n)))
print(f"detections: {sum(n)}")
print(f"peak allocated: {torch.cuda.max_memory_allocated()}")
