"""What AutoBatch of YOLOv5 and YOLOv8 prints: memory that is reserved after three passes forward and backward, of one batch after the other.

  yolo.py ROWS

A row's program begins with the model, its config is "img 640 batch 16 amp". Models have no trained weights.
"""
import importlib
import re
import sys
import types
from contextlib import nullcontext
from copy import deepcopy
from pathlib import Path

import torch

BATCHES = (1, 2, 4, 8, 16)
CLASSES = (80, *range(1, 80))
# Both packages import it for notebooks.
notebooks, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
notebooks.display, notebooks.get_ipython, display.display, display.clear_output = display, lambda: None, None, None
sys.modules.update({"IPython": notebooks, "IPython.display": display})


def build(name: str, classes: int):
    if "yolov5" in name:
        from yolov5.models.yolo import Model
        import yolov5
        return Model(str(Path(yolov5.__file__).parent / f"models/{name}.yaml"), ch=3, nc=classes)
    from ultralytics.nn.tasks import DetectionModel
    return DetectionModel(f"{name}.yaml", ch=3, nc=classes, verbose=False)


def classes_of(name: str, parameters: int) -> int:
    """How many classes give a model of this many parameters; 80 if none does."""
    return next((classes for classes in CLASSES if parameters and sum(one.numel() for one in build(name, classes).parameters()) == parameters), 80)


def profile_of(name: str):
    """The package's function, whose results have the reserved GB in third place."""
    return importlib.import_module("yolov5.utils.torch_utils" if "yolov5" in name else "ultralytics.yolo.utils.torch_utils").profile


def measure(program: str, config: str) -> dict:
    """GB by batch."""
    name = program.split()[0]
    stated = re.search(r"(\d+) parameters", program)
    side = int(re.search(r"img (\d+)", config).group(1))
    model = build(name, classes_of(name, int(stated.group(1)) if stated else 0)).to("cuda").train()
    copy = deepcopy(model).train()
    with torch.cuda.amp.autocast() if "amp" in config.split() else nullcontext():
        found = profile_of(name)([torch.zeros(batch, 3, side, side) for batch in BATCHES], copy, n=3, device=torch.device("cuda", 0))
    return {batch: one[2] for batch, one in zip(BATCHES, found) if one}


def main() -> None:
    found = {}
    for line in Path(sys.argv[1]).read_text().splitlines():
        key, program, config, _, what, _ = line.split("\t")
        batch = int(re.search(r"batch (\d+)", config).group(1))
        run = program, re.sub(r"batch \d+", "", config)
        try:
            if run not in found:
                found[run] = measure(program, config)
                torch.cuda.empty_cache()
            answer = (f"{found[run][batch]:.6g}", "GB") if batch in found[run] else ("FAILED", "OutOfMemoryError")
        except Exception as why:
            answer = "FAILED", f"{type(why).__name__}: {' '.join(str(why).split())[:150]}"
        print("ROW", key, what, *answer, sep="\t", flush=True)


if __name__ == "__main__":
    main()
