"""YOLO11 of ultralytics, trained and validated on images that it makes: one epoch of 16 images, batches of 4, and a validation.

Each image has three boxes. The assigner gets all anchors of each image: 20 x 20 + 40 x 40 + 80 x 80 at 640 pixels.
"""
import os
import tempfile

import numpy
import torch
from PIL import Image
from ultralytics import YOLO


def make_images(folder):
    noise = numpy.random.default_rng(0)
    for part, n in (("train", 16), ("val", 4)):
        os.makedirs(f"{folder}/images/{part}")
        os.makedirs(f"{folder}/labels/{part}")
        for i in range(n):
            Image.fromarray(noise.integers(0, 255, (640, 640, 3), dtype=numpy.uint8)).save(f"{folder}/images/{part}/{i}.png")
            with open(f"{folder}/labels/{part}/{i}.txt", "w") as labels:
                labels.writelines(f"{k} {0.2 + 0.2 * k} 0.5 0.2 0.3\n" for k in range(3))
    with open(f"{folder}/data.yaml", "w") as data:
        data.write(f"path: {folder}\ntrain: images/train\nval: images/val\nnames: [a, b, c]\n")


def main():
    folder = tempfile.mkdtemp()
    make_images(folder)
    model = YOLO("yolo11n.yaml")
    model.train(data=f"{folder}/data.yaml", epochs=1, batch=4, imgsz=640, workers=0, device=0, amp=False, plots=False, project=folder, pretrained=False,
                val=True, deterministic=False)
    print(f"steps: {model.trainer.epoch + 1}")
    print(f"peak allocated: {torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
