"""segmentation_models_pytorch: a Unet with Dice and focal loss and its metrics, on images made here; three steps and a validation."""
import segmentation_models_pytorch as smp
import torch

model = smp.Unet("resnet18", encoder_weights=None, in_channels=3, classes=1).cuda()
dice, focal = smp.losses.DiceLoss(smp.losses.BINARY_MODE), smp.losses.FocalLoss(smp.losses.BINARY_MODE)
optimizer = torch.optim.Adam(model.parameters())


def batch():
    return torch.randn(4, 3, 128, 128).cuda(), (torch.rand(4, 1, 128, 128) > 0.7).float().cuda()


def step(images, masks):
    assert images.shape[2] % 32 == 0 and masks.ndim == 4
    assert masks.max() <= 1.0 and masks.min() >= 0
    logits = model(images)
    loss = dice(logits, masks) + focal(logits, masks)
    predicted = (logits.sigmoid() > 0.5).float()
    counts = smp.metrics.get_stats(predicted.long(), masks.long(), mode="binary")
    return loss, counts


for _ in range(3):
    loss, counts = step(*batch())
    assert torch.isfinite(loss)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
model.eval()
images, masks = batch()
with torch.no_grad():
    loss, (tp, fp, fn, tn) = step(images, masks)
iou = smp.metrics.iou_score(tp, fp, fn, tn, reduction="micro").item()
print("iou is a share", 0 <= iou <= 1)
print(f"pixels: {(tp + fp + fn + tn).sum().item()}")
print(f"pixels of the masks differ: {(tp + fn).sum().item() - int(masks.sum().item())}")
print(f"peak allocated: {torch.cuda.max_memory_allocated()}")
