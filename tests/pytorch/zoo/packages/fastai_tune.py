"""fastai: lr_find and fine_tune of a small network on images that are made here, with accuracy and a validation."""
import numpy
import torch
from fastai.vision.all import CrossEntropyLossFlat, DataLoaders, Learner, accuracy, xresnet18


class Images(torch.utils.data.Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        noise = numpy.random.default_rng(i)
        return torch.tensor(noise.standard_normal((3, 64, 64)), dtype=torch.float32), torch.tensor(i % 10)


def halves(model):
    parts = list(model.children())
    return [[p for part in parts[:-1] for p in part.parameters()], list(parts[-1].parameters())]


def main():
    loaders = DataLoaders.from_dsets(Images(256), Images(64), bs=32, num_workers=0, device=torch.device("cuda"))
    loaders.c = 10
    learner = Learner(loaders, xresnet18(n_out=10), loss_func=CrossEntropyLossFlat(), metrics=accuracy, splitter=halves)
    with learner.no_bar():
        found = learner.lr_find(show_plot=False)
        print("a rate is found", 0 < found.valley < 1)
        learner.fine_tune(1, found.valley)
    print(f"epochs: {learner.epoch + 1}")
    print(f"rows of the record: {len(learner.recorder.values)}")
    loss, rate = learner.validate()
    print("accuracy is a share", 0 <= rate <= 1, "loss is positive", loss > 0)
    print(f"peak allocated: {torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
