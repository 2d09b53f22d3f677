"""Programs whose models are local, frozen, copied, deleted, never called or replaced: scenes.py SCENE.

The last line shows what is in use at the peak, as JSON: a category -> its requested bytes, or their least and most.
"names" of it has names -> category and requested bytes, and "scopes" has requested bytes -> scope, of all allocations.
"""
import copy
import json
import sys
import threading
import types

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
    """An average that is a plain list: its kind is unknown, and it is not an input."""
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


class Quantized(torch.Tensor):
    """Holds 8-bit codes and a scale, as quantized weights and optimizer states do."""

    @staticmethod
    def __new__(cls, codes, scale):
        return torch.Tensor._make_wrapper_subclass(cls, codes.shape, dtype=torch.float32, device=codes.device)

    def __init__(self, codes, scale):
        self.codes, self.scale = codes, scale

    def __tensor_flatten__(self):
        return ["codes", "scale"], None

    @classmethod
    def __tensor_unflatten__(cls, inner, context, size, stride):
        return cls(inner["codes"], inner["scale"])

    @classmethod
    def of(cls, value):
        scale = value.abs().amax(1, keepdim=True) / 127
        return cls((value / scale).to(torch.int8), scale)

    def plain(self):
        return self.codes * self.scale

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        if function in (torch.ops.aten.detach.default, torch.ops.aten._to_copy.default):
            where = {"device": (kwargs or {}).get("device")}
            return cls(*[inner.to(**where) if where["device"] else inner.detach() for inner in (args[0].codes, args[0].scale)])
        args = [arg.plain() if isinstance(arg, cls) else arg for arg in args]
        return function(*args, **(kwargs or {}))


class Momentum(torch.optim.Optimizer):
    """Keeps its state in 8 bits."""

    def __init__(self, parameters):
        super().__init__(parameters, {})

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            before = self.state[p].get("momentum")
            now = p.grad if before is None else before.plain().mul_(0.9).add_(p.grad)
            self.state[p]["momentum"] = Quantized.of(now)
            p.sub_(now, alpha=0.1)


def of_a_subclass():
    """A quantized weight that is frozen, and a quantized state."""
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False))
    model[0].weight = nn.Parameter(Quantized.of(model[0].weight.detach()), requires_grad=False)
    model = model.cuda()
    train(model, Momentum([model[1].weight]))
    codes, scale, plain = WIDTH * WIDTH, 4 * WIDTH, 4 * WIDTH * WIDTH
    return {"parameter": codes + scale + plain, "optimizer_state": [codes + scale, 2 * (codes + scale)],
            "names": {"0.weight.codes": ["parameter", codes], "0.weight.scale": ["parameter", scale],
                      "1.weight": ["parameter", plain], "1.weight.momentum.codes": ["optimizer_state", codes],
                      "1.weight.momentum.scale": ["optimizer_state", scale]}}


def piece(n):
    """A block of a size that is its own."""
    return torch.empty(n * 4096, dtype=torch.uint8, device="cuda")


def nvtx_ranges():
    """Ranges in each other, across each other, of threads, and that are popped too often or never."""
    nvtx = torch.cuda.nvtx
    held = [piece(1)]  # what begins before the first call of CUDA is not known
    with nvtx.range("outer {}", 1):
        nvtx.range_push("inner")
        held.append(piece(2))
        nvtx.range_pop()
        held.append(piece(3))
    nvtx.range_pop()
    held.append(piece(4))
    first, second = nvtx.range_start("first"), nvtx.range_start("second")
    held.append(piece(5))
    nvtx.range_end(first)
    held.append(piece(6))
    nvtx.range_end(second)
    held.append(piece(7))
    try:
        with nvtx.range("fails"):
            raise KeyError
    except KeyError:
        held.append(piece(8))
    try:
        nvtx.range_push(5)  # NVTX takes no numbers
    except TypeError:
        held.append(piece(9))

    def work(handle):
        held.append(piece(10))
        with nvtx.range("of a thread"):
            held.append(piece(11))
        nvtx.range_end(handle)

    with nvtx.range("main"):
        thread = threading.Thread(target=work, args=[nvtx.range_start("ends elsewhere")])
        held.append(piece(12))
        thread.start()
        thread.join()
    for _ in range(100):
        nvtx.range_push("never popped")
    for _ in range(100):
        nvtx.range_pop()
    held.append(piece(13))
    scopes = ["-", "outer 1 > inner", "outer 1", "-", "first > second", "second", "-", "-", "-", "-", "of a thread",
              "main > ends elsewhere", "-"]
    return {"scopes": {n * 4096: scope for n, scope in enumerate(scopes, 1)}}


class Sized(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n

    def forward(self, x):
        self.kept = piece(self.n)
        return x


class Loaded(nn.Parameter):
    """A parameter that knows how it is loaded, as vLLM's do."""

    def __new__(cls, data, loader=None):
        return super().__new__(cls, data, requires_grad=False)

    def __init__(self, data, loader=None):
        self.loader = loader


class Projection(nn.Module):
    def __init__(self, width, n):
        super().__init__()
        self.register_parameter("weight", Loaded(torch.empty(n * width, width), loader=print))

    def quantize(self):
        """After it was loaded."""
        self.weight = nn.Parameter(self.weight.data.to(torch.float8_e4m3fn).t(), requires_grad=False)
        self.weight_scale = nn.Parameter(torch.ones(len(self.weight), device="cuda"), requires_grad=False)


class BaseModelLoader:
    """vLLM's: on the card, in fused layers, whose weights are replaced after they were loaded."""

    def load_model(self, vllm_config, model_config, prefix=""):
        with torch.device("cuda"):
            layers = [nn.ModuleDict({"self_attn": nn.ModuleDict({"qkv_proj": Projection(WIDTH, 3 + i)})}) for i in range(2)]
        for layer in layers:
            layer["self_attn"]["qkv_proj"].quantize()
        return nn.ModuleDict({"model": nn.ModuleDict({"layers": nn.ModuleList(layers)})})


def served():
    """A model that vLLM loads, and that ends before its first request."""
    package = types.ModuleType("vllm.model_executor.model_loader.base_loader")
    package.BaseModelLoader = BaseModelLoader
    sys.modules[package.__name__] = package
    torch.cuda.init()  # a worker does it before it loads
    model = package.BaseModelLoader().load_model(None, None)
    held = torch.empty(1 << 24, device="cuda")
    names = {f"model.layers.{i}.self_attn.qkv_proj.{key}": ["parameter", n] for i in range(2)
             for key, n in (("weight", (3 + i) * WIDTH * WIDTH), ("weight_scale", WIDTH * 4))}
    return {"parameter": of(model), "names": names} if held is not None else {}


def nvtx_in_training():
    """A range around each iteration, whose phases have ranges of their own."""
    nvtx = torch.cuda.nvtx
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), Sized(1)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.register_step_pre_hook(lambda *_: held.append(piece(5)))
    held = []
    for i in range(3):
        with nvtx.range("iteration"):
            x = batch()
            with nvtx.range("scores"):
                y = model(x)
            with nvtx.range("loss"):
                held.append(piece(2))
                loss = y.square().mean()
            optimizer.zero_grad()
            with nvtx.range("gradients"):
                loss.backward()
                held.append(piece(3))
            held.append(piece(4))
            with nvtx.range("update"):
                optimizer.step()
        held.append(piece(31 + i))
    scopes = {1: "forward > iteration > scores > 1", 2: "forward > iteration > loss", 3: "iteration > gradients",
              4: "iteration", 5: "optimizer > iteration > update", 31: "forward", 32: "forward", 33: "-"}
    return {"parameter": of(model), "scopes": {n * 4096: scope for n, scope in scopes.items()}}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]]()))
