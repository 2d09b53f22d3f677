"""The evaluation of a detector: boxes of the host are filtered by their score and by NMS, and matched with the true ones.

All counts are those of the same steps on the CPU. Then a detector of torchvision with random weights is evaluated: it ends, and
gives at most 100 boxes an image, inside it.
"""
import torch
import torchvision
from torchvision.ops import batched_nms, box_iou, nms, remove_small_boxes


def boxes(n):
    corner = torch.rand(n, 2) * 200
    return torch.cat([corner, corner + torch.rand(n, 2) * 60], 1)


def evaluate(found, scores, kinds, true):
    keep = scores > 0.3
    found, scores, kinds = found[keep], scores[keep], kinds[keep]
    large = remove_small_boxes(found, 5)
    found, scores, kinds = found[large], scores[large], kinds[large]
    one = nms(found, scores, 0.5)
    each = batched_nms(found, scores, kinds, 0.5)[:100]
    best, which = box_iou(found[each], true).max(1)
    matched = which[best > 0.3]
    return [len(found), len(one), len(each), len(matched), len(matched.unique())]


torch.manual_seed(0)
case = boxes(2000), torch.rand(2000), torch.randint(0, 4, (2000,)), boxes(40)
on_cpu = evaluate(*case)
on_card = evaluate(*(t.cuda() for t in case))
for name, a, b in zip(("filtered", "kept", "kept by class", "matched", "true ones found"), on_cpu, on_card):
    print(f"{name} differ: {b - a}")
print("cpu", on_cpu)

model = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None, num_classes=5).cuda().eval()
with torch.no_grad():
    found = model([torch.rand(3, 240, 320).cuda() for _ in range(2)])
print("within the limit", all(len(one["boxes"]) <= 100 for one in found), "of the same number", all(len(one["boxes"]) == len(one["labels"]) == len(one["scores"]) for one in found))
