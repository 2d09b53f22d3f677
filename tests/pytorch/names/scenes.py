"""Programs whose models are local, frozen, copied, deleted, never called or replaced: scenes.py SCENE.

The last line says what is in use at the peak, as JSON: a category -> its requested bytes, or their least and most.
"""
import copy
import json
import sys

import torch
from torch import nn

WIDTH = 512


def net(n=4, width=WIDTH):
    """Layers without buffers."""
    return nn.Sequential(*[nn.Linear(width, width) for _ in range(n)])


def normed(width=WIDTH):
    return nn.Sequential(nn.Linear(width, width), nn.BatchNorm1d(width))


def batch(width=WIDTH):
    return torch.randn(16, width).cuda()


def n_bytes(*tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def of(*models):
    return n_bytes(*[p for model in models for p in model.parameters()])


def buffers_of(*models):
    return n_bytes(*[b for model in models for b in model.buffers()])


class Coder(nn.Module):
    """Only its method is called, as of an autoencoder."""

    def __init__(self):
        super().__init__()
        self.encoder = net(8)

    def encode(self, x):
        return self.encoder(x)


def train(model, optimizer, n=3, before=lambda x: 0, after=lambda: None):
    for _ in range(n):
        x = batch()
        target = before(x)
        loss = (model(x) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        after()


def frozen(model):
    return model.requires_grad_(False).eval().cuda()


def deleted():
    """A loop over models, each of which is deleted."""
    for n in (1, 2, 4):
        model = nn.Linear(WIDTH * n, WIDTH * n).cuda()
        for _ in range(4):
            model.zero_grad(set_to_none=True)
            model(batch(WIDTH * n)).mean().backward()
        expected = of(model)
        del model
    return {"parameter": expected, "gradient": [expected, expected + 4]}


def without_optimizer():
    model = net().cuda()
    for _ in range(3):
        model(batch()).mean().backward()
    return {"parameter": of(model), "gradient": of(model) + 4}  # and that of the loss


def evaluated():
    """An evaluation in a function, for which an optimizer was built."""
    model = normed().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.eval()
    with torch.no_grad():
        for _ in range(2):
            model(batch())
    return {"parameter": of(model), "buffer": buffers_of(model), "optimizer_state": 0} if optimizer else {}


def teacher():
    known, model = frozen(net(8)), net().cuda()

    def teach(x):
        with torch.no_grad():
            return known(x)

    train(model, torch.optim.SGD(model.parameters(), lr=0.1), before=teach)
    return {"parameter": of(known, model)}


def method():
    """A frozen model of which only a child is called."""
    known, model = frozen(nn.Sequential(net(8), net(2))), net().cuda()

    def teach(x):
        with torch.no_grad():
            return known[0](x)

    train(model, torch.optim.SGD(model.parameters(), lr=0.1), before=teach)
    return {"parameter": of(known, model)}


def coder_and_average():
    """An autoencoder that moves first and is never called itself; an average that is never called."""
    coder, model = frozen(Coder()), normed()
    average = copy.deepcopy(model).cuda()
    model = model.cuda()

    def update():
        with torch.no_grad():
            for mine, new in zip(average.parameters(), model.parameters()):
                mine.mul_(0.99).add_(new, alpha=0.01)

    def encode(x):
        with torch.no_grad():
            return coder.encode(x)

    train(model, torch.optim.AdamW(model.parameters()), before=encode, after=update)
    return {"parameter": of(coder, model, average), "buffer": buffers_of(model, average),
            "optimizer_state": [2 * of(model), 2 * of(model)]}


def copied_on_the_card():
    """The average is a copy of a model that is on the card already."""
    model = net().cuda()
    average = copy.deepcopy(model)
    train(model, torch.optim.SGD(model.parameters(), lr=0.1))
    return {"parameter": of(model, average)}


def list_of_tensors():
    """An average that is a plain list: what it is is not known, and it is no input."""
    model = net().cuda()
    shadow = [p.detach().clone().cpu() for p in model.parameters()]
    shadow = [p.cuda() for p in shadow]

    def update():
        for mine, new in zip(shadow, model.parameters()):
            mine.lerp_(new.detach(), 0.01)

    train(model, torch.optim.AdamW(model.parameters()), n=4, after=update)
    return {"parameter": of(model), "unknown": [n_bytes(*shadow), n_bytes(*shadow) + 4096],
            "input": [0, 2 * 16 * WIDTH * 4]}


def made_on_the_card():
    """Models that never move, one of which is replaced, and is gone at the end."""
    with torch.device("cuda"):
        model, unused = net(), net(2)
    for _ in range(2):
        model(batch()).mean().backward()
    model[0] = nn.Linear(WIDTH, WIDTH, device="cuda")
    for _ in range(2):
        model.zero_grad()
        model(batch()).mean().backward()
    return {"parameter": of(model, unused)}


def assigned():
    """Weights that load_state_dict puts in the place of those without memory."""
    with torch.device("meta"):
        model = net()
    state = {name: torch.empty_like(p, device="cpu").cuda() for name, p in model.named_parameters()}
    model.load_state_dict(state, assign=True)
    del state
    with torch.no_grad():
        model(batch())
    expected = of(model)
    del model
    keep = torch.empty(1, device="cuda")
    return {"parameter": expected} if keep is not None else {}


def lists_of_inputs():
    class Wrap(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = normed()

        def forward(self, xs, extra=None):
            return [self.net(x) for x in xs]

    model = Wrap().cuda().eval()
    with torch.inference_mode():
        for _ in range(2):
            model([batch(), batch()])
    return {"parameter": of(model), "buffer": buffers_of(model)}


def fixed_batch():
    """One batch for all steps: it is an input because it is passed to a module."""
    x = torch.randn(1024, WIDTH).cuda()
    model = net().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
    return {"parameter": of(model), "input": n_bytes(x)}


def low_rank():
    """A frozen model with adapters that are put in after it moved."""
    class Adapter(nn.Module):
        def __init__(self, base):
            super().__init__()
            self.base = base
            self.down = nn.Linear(base.in_features, 8, bias=False, device="cuda")
            self.up = nn.Linear(8, base.out_features, bias=False, device="cuda")

        def forward(self, x):
            return self.base(x) + self.up(self.down(x))

    model = frozen(net())
    for i in range(len(model)):
        model[i] = Adapter(model[i])
    trained = [p for p in model.parameters() if p.requires_grad]
    train(model, torch.optim.AdamW(trained))
    return {"parameter": of(model), "optimizer_state": [2 * n_bytes(*trained), 2 * n_bytes(*trained)]}


def moved_with_gradients():
    """.to() takes gradients along."""
    model = net()
    model(torch.randn(4, WIDTH)).sum().backward()
    model.to("cuda")
    with torch.no_grad():
        model(batch())
    return {"parameter": of(model), "gradient": of(model)}


def swapped():
    """PyTorch refuses to swap tensors with weak references to them."""
    model = net().cuda()
    train(model, torch.optim.SGD(model.parameters(), lr=0.1), n=2)
    torch.__future__.set_swap_module_params_on_conversion(True)
    model.half().float()
    train(model, torch.optim.SGD(model.parameters(), lr=0.1), n=2)
    return {"parameter": [of(model), 2 * of(model)]}


def sparse_gradients():
    model = nn.Embedding(4096, 256, sparse=True).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.zeros(8, 64, dtype=torch.long, device="cuda")).sum().backward()
        optimizer.step()
    return {"parameter": of(model), "gradient": [8 * 64 * 256 * 4, 3 * 8 * 64 * 256 * 4]}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]]()))
