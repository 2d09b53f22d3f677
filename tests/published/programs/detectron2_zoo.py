"""detectron2's models on made images of COCO's sizes, as rank 0 of 8 cards, for a few iterations.

  detectron2_zoo.py CLONE ROWS

CLONE: the folder of a clone; its extension of C++ is not built, for only rotated boxes and deformable convolutions need it. The largest batches come
first: images whose longer side is 1,333 pixels, one of them with as many objects as the fullest image of COCO has. Python runs without assertions.
"""
import io
import os
import subprocess
import sys
import tarfile
import time
import traceback
from pathlib import Path

import torch

from unused import pretend

pretend("matplotlib", "matplotlib.colors", "matplotlib.figure", "matplotlib.backends", "matplotlib.backends.backend_agg", "matplotlib.pyplot", "cv2", "detectron2._C")
os.environ["DETECTRON2_DISABLE_CV2"] = "1"
for name in ("matplotlib", "cv2"):
    sys.modules[name].__version__ = "4.0"

SIZES = ((800, 1333), (800, 1199), (768, 1151), (736, 1105), (704, 938), (672, 1007), (640, 960))  # of an image, shorter side first
MOST, FEW = 93, 7  # objects of the fullest image of COCO, whose overlaps with all anchors make a peak, and of a usual one
ITERATIONS, CARDS = 8, 8


def unpack(clone: str) -> None:
    tree = subprocess.run(["git", "-C", clone, "archive", COMMIT, "detectron2", "configs"], capture_output=True, check=True).stdout
    tarfile.open(fileobj=io.BytesIO(tree)).extractall("tree", filter="data")
    sys.path.insert(0, str(Path("tree").resolve()))


def use_torchvision() -> None:
    """In place of the extension's deformable convolutions."""
    from detectron2.layers import deform_conv
    from torchvision.ops import deform_conv2d

    def plain(self, x, offset):
        return finish(self, deform_conv2d(x, offset, self.weight, None, self.stride, self.padding, self.dilation))

    def modulated(self, x, offset, mask):
        return finish(self, deform_conv2d(x, offset, self.weight, self.bias, self.stride, self.padding, self.dilation, mask))

    def finish(self, x):
        x = self.norm(x) if self.norm is not None else x
        return self.activation(x) if self.activation is not None else x

    deform_conv.DeformConv.forward, deform_conv.ModulatedDeformConv.forward = plain, modulated


def sample_as_trained() -> None:
    """A trained detector proposes as many boxes as it may, and its sampler gets the share of objects that it asks for: both depend on values."""
    from detectron2.modeling.proposal_generator.rpn import RPN
    from detectron2.modeling.roi_heads.roi_heads import ROIHeads
    from detectron2.structures import Boxes, Instances
    predict = RPN.predict_proposals

    def proposals(self, anchors, objectness, deltas, sizes):
        predict(self, anchors, objectness, deltas, sizes)
        found = []
        for height, width in sizes:
            at = torch.linspace(0, 0.5, self.post_nms_topk[self.training])
            boxes = torch.stack([at * width, at * height, (at + 0.4) * width, (at + 0.4) * height], dim=1)
            found.append(Instances((height, width), proposal_boxes=Boxes(boxes.to("cuda")), objectness_logits=torch.zeros(len(at)).to("cuda")))
        return found

    def sample(self, matched, labels, classes):
        count = min(self.batch_size_per_image, len(matched))
        chosen = torch.full((count,), self.num_classes)
        chosen[:int(count * self.positive_fraction)] = 0
        return torch.arange(count).to("cuda"), chosen.to("cuda")

    RPN.predict_proposals, ROIHeads._sample_proposals = proposals, sample


def instances(height: int, width: int, keypoints: bool, bits: bool, objects: int):
    from detectron2.structures import BitMasks, Boxes, Instances, Keypoints, PolygonMasks
    made = Instances((height, width))
    left = torch.linspace(0, width * 0.6, objects)
    top = torch.linspace(0, height * 0.6, objects)
    boxes = torch.stack([left, top, left + width * 0.3, top + height * 0.3], dim=1)
    made.gt_boxes, made.gt_classes = Boxes(boxes), torch.zeros(objects, dtype=torch.long)
    if bits:
        made.gt_masks = BitMasks(torch.ones(objects, height, width, dtype=torch.bool))
    else:
        made.gt_masks = PolygonMasks([[[x0, y0, x1, y0, x1, y1, x0, y1]] for x0, y0, x1, y1 in boxes.tolist()])
    if keypoints:
        points = torch.stack([boxes[:, :2] + (boxes[:, 2:] - boxes[:, :2]) * part / 18 for part in range(1, 18)], dim=1)
        made.gt_keypoints = Keypoints(torch.cat([points, torch.full((objects, 17, 1), 2.0)], dim=2))
    return made


def batch_of(at: int, images: int, keypoints: bool, panoptic: bool, square: int) -> list:
    found = []
    for image in range(images):
        height, width = (square, square) if square else SIZES[at % len(SIZES)]
        row = {"image": torch.zeros(3, height, width, dtype=torch.uint8), "height": height, "width": width,
               "instances": instances(height, width, keypoints, bits=bool(square), objects=FEW if image else MOST)}
        if panoptic:
            row["sem_seg"] = torch.zeros(height, width, dtype=torch.long)
        found.append(row)
    return found


def of_yaml(file: Path):
    """The model, its optimizer, images of a card, and whether fp16 is used."""
    from detectron2.config import get_cfg
    from detectron2.modeling import build_model
    from detectron2.solver import build_optimizer
    config = get_cfg()
    config.merge_from_file(str(file))
    model = build_model(config)
    return model, build_optimizer(config, model), config.SOLVER.IMS_PER_BATCH // CARDS, False


def of_python(file: Path):
    from detectron2.config import LazyConfig, instantiate
    config = LazyConfig.load(str(file))
    model = instantiate(config.model).to("cuda")
    config.optimizer.params.model = model
    return model, instantiate(config.optimizer), config.dataloader.train.total_batch_size // CARDS, bool(config.train.amp.enabled)


def train(file: Path) -> dict:
    from detectron2.engine import create_ddp_model
    from detectron2.utils.events import EventStorage
    square = 1024 if "LSJ" in file.name else 0
    model, optimizer, images, half = (of_yaml if file.suffix == ".yaml" else of_python)(file)
    model.train()
    model = create_ddp_model(model, broadcast_buffers=False)
    scaler = torch.amp.GradScaler("cuda", enabled=half)
    times = []
    with EventStorage():
        for at in range(ITERATIONS):
            data = batch_of(at, images, "keypoint" in file.name, "panoptic" in file.name, square)
            torch.cuda.synchronize()
            begin = time.perf_counter()
            with torch.autocast("cuda", enabled=half):
                losses = sum(model(data).values())
            optimizer.zero_grad()
            scaler.scale(losses).backward()
            scaler.step(optimizer)
            scaler.update()
            torch.cuda.synchronize()
            times.append(time.perf_counter() - begin)
    times = sorted(times[1:])
    return {"train memory": (f"{torch.cuda.max_memory_allocated() / 2**30:.6g}", "GB"), "s/iteration": (f"{times[len(times) // 2]:.6g}", "s")}


def run(clone: str, program: str) -> dict:
    unpack(clone)
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        torch.distributed.init_process_group("nccl")
        from detectron2.utils import comm
        comm.create_local_process_group(CARDS)
    use_torchvision()
    sample_as_trained()
    return train(Path("tree").resolve() / program)


def main() -> None:
    lines = [line.split("\t") for line in Path(sys.argv[2]).read_text().splitlines()]
    try:
        found = run(sys.argv[1], lines[0][1])
    except Exception as error:  # a row needs an answer
        traceback.print_exc()
        found = {"": ("FAILED", f"{type(error).__name__}: {' '.join(str(error).split())[:150]}")}
    for key, _, _, _, what, _ in lines if os.environ.get("RANK", "0") == "0" else ():
        print("ROW", key, what, *found.get(what, found.get("", ("FAILED", "it does not say this"))), sep="\t", flush=True)


if __name__ == "__main__":
    main()
