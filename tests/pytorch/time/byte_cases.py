"""Operations for check_bytes.py, each with the bytes that its kernels of one family must move, from the sizes of tensors.

It runs on a virtual card. Marks of the launch log are around each operation: "case" before it, and "between" after it. It
prints the expectations as JSON.
"""
import json

import torch
import torch.nn.functional as F
from tidemark import card

SECTOR = 32  # bytes that a card reads at least
TYPES = [torch.float32, torch.bfloat16, torch.float16]
cases = []


def size(*tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def case(name, family, expected, call):
    """Runs `call`; the kernels of the family in it move `expected` bytes, a number or a function of its result."""
    card.mark("case")
    result = call()
    card.mark("between")
    cases.append({"name": name, "family": family, "bytes": expected(result) if callable(expected) else expected})


def tensor(*shape, dtype=torch.float32, grad=False):
    return torch.empty(*shape, dtype=dtype, device="cuda", requires_grad=grad)


def backward(output, *inputs):
    """A function that runs the backward pass with a gradient that exists already."""
    gradient = torch.empty_like(output)
    return lambda: torch.autograd.grad(output, inputs, gradient, retain_graph=True)


def softmaxes(dtype):
    for rows, columns in [(64, 128), (33, 77), (7, 1), (16, 1024), (5, 1025), (9, 4096), (3, 50257), (2, 151936)]:
        x = tensor(rows, columns, dtype=dtype, grad=True)
        for function in (F.softmax, F.log_softmax):
            name = f"{function.__name__} {rows}x{columns} {dtype}"
            case(name, "softmax", 2 * size(x), lambda: function(x, -1))
            case(name + " backward", "softmax", 3 * size(x), backward(function(x, -1), x))
    x = tensor(6, 50, 30, dtype=dtype, grad=True)
    case(f"softmax over a middle dimension {dtype}", "softmax", 2 * size(x), lambda: F.softmax(x, 1))
    case(f"softmax over a middle dimension {dtype} backward", "softmax", 3 * size(x), backward(F.softmax(x, 1), x))


def layer_norms(dtype):
    for rows, columns in [(64, 768), (33, 77), (8, 1024), (5, 4099), (4096, 64), (70000, 32)]:
        x = tensor(rows, columns, dtype=dtype, grad=True)
        weight = tensor(columns, dtype=dtype, grad=True)
        bias = tensor(columns, dtype=dtype, grad=True)
        statistics = 8 * rows  # a mean and a reciprocal deviation, fp32
        name = f"layer_norm {rows}x{columns} {dtype}"
        # Rows that are not read 4 elements at once are gone through twice: once for the statistics.
        times = 2 if columns % 4 == 0 else 3
        case(name, "norm", times * size(x) + size(weight, bias) + statistics * (times - 1),
             lambda: F.layer_norm(x, (columns,), weight, bias))
        case(name + " without parameters", "norm", times * size(x) + statistics * (times - 1),
             lambda: F.layer_norm(x, (columns,)))
        y = F.layer_norm(x, (columns,), weight, bias)
        case(name + " backward of the input", "norm", 3 * size(x) + size(weight) + statistics, backward(y, x))
        if rows < 65536:
            case(name + " backward", "norm", 5 * size(x) + size(weight) + 2 * statistics + size(weight, bias),
                 backward(y, x, weight, bias))
        case(f"rms_norm {rows}x{columns} {dtype}", "norm", times * size(x) + size(weight) + 4 * rows * (times - 1),
             lambda: F.rms_norm(x, (columns,), weight))
        y = F.rms_norm(x, (columns,), weight)
        case(f"rms_norm {rows}x{columns} {dtype} backward of the input", "norm",
             3 * size(x) + size(weight) + statistics // 2, backward(y, x))
        if rows < 65536:
            case(f"rms_norm {rows}x{columns} {dtype} backward", "norm",
                 5 * size(x) + size(weight) + statistics + size(weight), backward(y, x, weight))


def other_norms(dtype):
    x = tensor(4, 32, 9, 11, dtype=dtype, grad=True)
    weight, bias = tensor(32, dtype=dtype, grad=True), tensor(32, dtype=dtype, grad=True)
    group = 8 * 4  # groups and images
    e = x.element_size()
    case(f"group_norm {dtype}", "norm", size(x) + (2 * e + 8) * group, lambda: F.group_norm(x, 8))
    with torch.backends.cudnn.flags(enabled=False):
        for kind, y in [("", x), (" channels last", x.detach().to(memory_format=torch.channels_last).requires_grad_())]:
            w, b = tensor(32, grad=True), tensor(32, grad=True)
            case(f"batch_norm{kind} {dtype}", "norm", 3 * size(y) + 4 * size(w) + size(w, b),
                 lambda: F.batch_norm(y, None, None, w, b, training=True))
            out = F.batch_norm(y, None, None, w, b, training=True)
            case(f"batch_norm{kind} {dtype} backward", "norm",
                 3 * size(y) + 5 * size(w) if not kind else 5 * size(y) + 11 * size(w), backward(out, y, w, b))


def losses(dtype):
    for rows, classes in [(512, 1000), (33, 50257), (1, 10)]:
        logits = tensor(rows, classes, dtype=dtype, grad=True)
        target = torch.zeros(rows, dtype=torch.int64, device="cuda")
        name = f"nll_loss {rows}x{classes} {dtype}"
        scalar = logits.element_size()
        case(name, "loss", SECTOR * rows + 2 * scalar + size(target), lambda: F.nll_loss(logits, target))
        case(name + " backward", "loss", SECTOR * rows + 2 * scalar + size(target),
             backward(F.nll_loss(logits, target), logits))
        case(name + " each", "loss", SECTOR * rows + scalar * rows + size(target),
             lambda: F.nll_loss(logits, target, reduction="none"))
        case(name + " each backward", "loss", SECTOR * rows + scalar * rows + size(target),
             backward(F.nll_loss(logits, target, reduction="none"), logits))


def dropouts(dtype):
    for shape in [(64, 768), (33, 77), (1,)]:
        x = tensor(*shape, dtype=dtype, grad=True)
        mask = x.numel()
        case(f"dropout {shape} {dtype}", "dropout", 2 * size(x) + mask, lambda: F.dropout(x, 0.1))
        case(f"dropout {shape} {dtype} backward", "vectorised", 2 * size(x) + mask, backward(F.dropout(x, 0.1), x))
        x = x.detach()
        for name in ("normal_", "uniform_", "bernoulli_", "exponential_"):
            case(f"{name} {shape} {dtype}", "dropout", size(x), getattr(x, name))
    weight = tensor(50, 60, dtype=dtype).t()[::2]
    case(f"normal_ with strides {dtype}", "dropout", size(weight), weight.normal_)
    x = tensor(77, dtype=torch.int64)
    case("randint", "dropout", size(x), lambda: x.random_(0, 5))


def gathers(dtype):
    for n, vocabulary, channels in [(512, 50304, 768), (33, 100, 77), (9, 5, 64), (4096, 32000, 128), (64, 1000, 1)]:
        table = tensor(vocabulary, channels, dtype=dtype, grad=True)
        index = torch.zeros(n, dtype=torch.int64, device="cuda")
        values = tensor(n, channels, dtype=dtype)
        rows = min(n, vocabulary) * channels * table.element_size() if channels > 1 else n * SECTOR
        read = rows + n * channels * table.element_size() + size(index)
        name = f"{n} of {vocabulary}x{channels} {dtype}"
        case(f"embedding {name}", "gather", read, lambda: F.embedding(index, table))
        case(f"index_select {name}", "gather", read, lambda: torch.index_select(table, 0, index))
        if n <= 3072:
            case(f"embedding {name} backward", "scatter",
                 size(index) + n * channels * table.element_size() * 3, backward(F.embedding(index, table), table))
        case(f"index_put {name}", "scatter", 2 * size(values) + size(index) if channels > 1 else None, lambda: table.detach().index_put_((index,), values))
        case(f"index_add {name}", "scatter", 3 * size(values) + size(index) if channels > 1 else None,
             lambda: table.detach().index_add_(0, index, values))
    x = tensor(64, 1000, dtype=dtype)
    index = torch.zeros(64, 1, dtype=torch.int64, device="cuda")
    case(f"gather one of a row {dtype}", "gather", lambda r: size(index, r) + 64 * SECTOR, lambda: x.gather(1, index))
    case(f"scatter one of a row {dtype}", "scatter", None, lambda: x.scatter_(1, index, tensor(64, 1, dtype=dtype)))
    mask = torch.zeros(64, 1000, dtype=torch.bool, device="cuda")
    case(f"masked_fill {dtype}", "vectorised", 2 * size(x) + size(mask), lambda: x.masked_fill(mask, 0.0))
    case(f"where {dtype}", "vectorised", 2 * size(x) + size(mask), lambda: torch.where(mask, x, x))
    grid = tensor(49, 12, dtype=dtype)
    picks = torch.zeros(100, dtype=torch.int64, device="cuda")
    case(f"index {dtype}", "gather", lambda r: 100 * SECTOR + size(picks, r), lambda: grid[picks, picks])
    case(f"flip {dtype}", "strided", 2 * size(x), lambda: x.flip(1))


def copies(dtype):
    a, b = tensor(33, 77, dtype=dtype), tensor(33, 5, dtype=dtype)
    case(f"cat of columns {dtype}", "vectorised", 2 * size(a, b), lambda: torch.cat([a, b], 1))
    c = tensor(64, 128, dtype=dtype)
    case(f"cat of rows {dtype}", "vectorised", 4 * size(c), lambda: torch.cat([c, c]))
    case(f"cat of the last dimension {dtype}", "vectorised", 4 * size(c), lambda: torch.cat([c, c], -1))
    case(f"cat of parts {dtype}", "vectorised", 2 * size(c), lambda: torch.cat([c[:, 64:], c[:, :64]], -1))
    case(f"stack of many {dtype}", "vectorised", 2 * 200 * size(b), lambda: torch.stack([b] * 200))
    case(f"transpose copy {dtype}", "strided", 2 * size(c), lambda: c.t().contiguous())
    case(f"tril {dtype}", "strided", 2 * size(c), lambda: c.tril())
    case(f"roll {dtype}", "strided", 2 * size(c), lambda: c.roll(3, 1))
    case(f"pow {dtype}", "vectorised", 2 * size(c), lambda: c.pow(2))
    case(f"argmax {dtype}", "reduction", lambda r: size(c, r), lambda: c.argmax(-1))
    case(f"norm {dtype}", "reduction", lambda r: size(c, r), lambda: c.norm(dim=-1))
    case(f"max {dtype}", "reduction", lambda r: size(c, *r), lambda: c.max(-1))
    for kind in (dtype, torch.int64, torch.int32):
        case(f"arange {kind}", "vectorised", size, lambda: torch.arange(77, dtype=kind, device="cuda"))
    case(f"linspace {dtype}", "vectorised", size, lambda: torch.linspace(0, 1, 77, dtype=dtype, device="cuda"))


def lists(dtype):
    tensors = [tensor(n, dtype=dtype) for n in (1, 77, 65536, 65537, 200001)] * 40
    others = [torch.empty_like(t) for t in tensors]
    one = size(*tensors)
    case(f"foreach mul {dtype}", "multi-tensor", 2 * one, lambda: torch._foreach_mul_(tensors, 2.0))
    case(f"foreach add {dtype}", "multi-tensor", 3 * one, lambda: torch._foreach_add(tensors, others))
    case(f"foreach add of scalars {dtype}", "multi-tensor", 2 * one,
         lambda: torch._foreach_add_(tensors, [1.0] * len(tensors)))
    case(f"foreach lerp {dtype}", "multi-tensor", 3 * one, lambda: torch._foreach_lerp_(tensors, others, 0.5))
    case(f"foreach addcmul {dtype}", "multi-tensor", 4 * one,
         lambda: torch._foreach_addcmul_(tensors, others, others, 0.5))
    case(f"foreach addcdiv of scalars {dtype}", "multi-tensor", 4 * one,
         lambda: torch._foreach_addcdiv_(tensors, others, others, [0.5] * len(tensors)))
    case(f"foreach sqrt {dtype}", "multi-tensor", 2 * one, lambda: torch._foreach_sqrt(tensors))
    case(f"foreach zero {dtype}", "multi-tensor", one, lambda: torch._foreach_zero_(tensors))
    halves = [t.to(torch.bfloat16 if dtype == torch.float32 else torch.float32) for t in tensors]
    case(f"foreach copy {dtype}", "multi-tensor", one + size(*halves), lambda: torch._foreach_copy_(halves, tensors))
    case(f"foreach norm {dtype}", "multi-tensor", None, lambda: torch._foreach_norm(tensors))
    scale, infinite = tensor(1), tensor(1)
    if dtype != torch.bfloat16:
        case(f"unscale {dtype}", "multi-tensor", 2 * one,
             lambda: torch._amp_foreach_non_finite_check_and_unscale_(tensors, infinite, scale))
    for made, states in ((lambda p: torch.optim.AdamW(p, fused=True), 7), (lambda p: torch.optim.Adam(p, fused=True, amsgrad=True), 9),
                         (lambda p: torch.optim.SGD(p, lr=0.1, fused=True), 3),
                         (lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, fused=True), 5),
                         (lambda p: torch.optim.AdamW(p, foreach=True), None)):
        parameters = [torch.nn.Parameter(t) for t in tensors]
        for p in parameters:
            p.grad = torch.empty_like(p)
        optimizer = made(parameters)
        optimizer.step()
        steps = 8 * len(tensors) if states in (7, 9) else 0  # a step of 4 bytes is counted up for each tensor
        case(f"{type(optimizer).__name__} {states} {dtype}", "multi-tensor", None if states is None else states * one + steps,
             optimizer.step)


def pictures(dtype):
    for kind in (torch.contiguous_format, torch.channels_last):
        x = tensor(2, 16, 14, 18, dtype=dtype).to(memory_format=kind).requires_grad_()
        name = f"{dtype} {kind}"
        case(f"max_pool2d {name}", "gather", lambda r: size(x, r) + 8 * r.numel(), lambda: F.max_pool2d(x, 2))
        y = F.max_pool2d(x, 2)
        case(f"max_pool2d backward {name}", "gather", size(x, y) + 8 * y.numel(), backward(y, x))
        case(f"avg_pool2d {name}", "gather", lambda r: size(x, r), lambda: F.avg_pool2d(x, 2))
        y = F.avg_pool2d(x, 2)
        case(f"avg_pool2d backward {name}", "gather", size(x, y), backward(y, x))
        case(f"adaptive_avg_pool2d {name}", "gather", lambda r: size(x, r), lambda: F.adaptive_avg_pool2d(x, 7))
        case(f"interpolate {name}", "gather", lambda r: size(x, r), lambda: F.interpolate(x, scale_factor=2))
    x = tensor(2, 16, 14, 18, dtype=dtype, grad=True)
    case(f"interpolate bilinear {dtype}", "gather", lambda r: size(x, r),
         lambda: F.interpolate(x, scale_factor=2, mode="bilinear"))
    y = F.interpolate(x, scale_factor=2, mode="bilinear")
    case(f"interpolate bilinear backward {dtype}", "scatter", 2 * size(x) + size(y), backward(y, x))


def others(dtype):
    x = tensor(2, 8, 12, 14, dtype=dtype, grad=True)
    case(f"reflection padding {dtype}", "gather", None, lambda: F.pad(x, (2, 2, 1, 1), "reflect"))
    case(f"replication padding {dtype}", "gather", lambda r: size(x, r), lambda: F.pad(x, (2, 2, 1, 1), "replicate"))
    weight = tensor(8, dtype=dtype, grad=True)
    case(f"prelu backward {dtype}", "casting", 5 * size(x), backward(F.prelu(x, weight), x, weight))
    thin = tensor(8, 1, 3, 3, dtype=dtype, grad=True)
    with torch.backends.cudnn.flags(enabled=False):
        y = F.conv2d(x, thin, padding=1, groups=8)
        case(f"depthwise convolution {dtype}", "depthwise", 2 * size(x) + size(thin),
             lambda: F.conv2d(x, thin, padding=1, groups=8))
        case(f"depthwise convolution {dtype} backward", "depthwise", 4 * size(x) + 2 * size(thin), backward(y, x, thin))
    sides = tensor(2, 12, 14, 2, dtype=dtype)
    case(f"grid_sample {dtype}", "gather", lambda r: size(x, sides, r), lambda: F.grid_sample(x, sides, align_corners=False))
    table, index = tensor(100, 64, dtype=dtype), torch.zeros(30, dtype=torch.int64, device="cuda")
    begins = torch.arange(0, 30, 5, device="cuda")
    case(f"embedding_bag {dtype}", "gather", lambda r: size(index, begins, index, r) + 30 * 64 * table.element_size(),
         lambda: F.embedding_bag(index, table, begins, mode="sum"))
    edges, values = tensor(50), tensor(1000)
    case("searchsorted", "gather", lambda r: size(edges, values, r), lambda: torch.searchsorted(edges, values))
    chances = tensor(40, 50)
    case(f"bernoulli of chances {dtype}", "dropout", lambda r: size(chances, r), lambda: torch.bernoulli(chances))
    case("rand", "dropout", 5 * 4, lambda: torch.rand(5, device="cuda"))


def by_value(dtype):
    """What these move depends on values: the indices, or how many there are of what is asked for."""
    x, index = tensor(1000, 64, dtype=dtype), torch.zeros(5000, dtype=torch.int64, device="cuda")
    values = tensor(5000, 64, dtype=dtype)
    table = tensor(1000, 64, dtype=dtype, grad=True)
    wide = torch.zeros(1000, 64, dtype=torch.int64, device="cuda")
    for name, family, call in [
        ("index_put that adds", "scatter", lambda: x.index_put_((index,), values, accumulate=True)),
        ("index_put in two dimensions", "scatter", lambda: x.index_put_((index, index), values[:, 0])),
        ("index_copy", "scatter", lambda: x.index_copy_(0, index, values)),
        ("index_fill", "scatter", lambda: x.index_fill_(0, index, 1.0)),
        ("scatter of one value", "scatter", lambda: x.scatter_(0, wide, 1.0)),
        ("scatter_add", "scatter", lambda: x.scatter_add_(0, wide, x.clone())),
        ("take", "gather", lambda: x.take(index)),
        ("put", "scatter", lambda: x.put_(index, values[:, 0].contiguous())),
        ("take_along_dim", "gather", lambda: x.take_along_dim(wide, 0)),
        ("embedding backward of many", "scatter", backward(F.embedding(index, table), table)),
        ("index of rows and columns", "gather", lambda: x[index][:, :3]),
        ("repeat_interleave", "gather", lambda: x.repeat_interleave(2, 0)),
        ("cumsum", "scan", lambda: x.cumsum(1)), ("topk", "sort", lambda: x.topk(3)),
    ]:
        case(f"{name} {dtype}", family, None, call)


def transforms():
    """cuFFT: a pass for each dimension, in which all values are read and written."""
    line, picture = tensor(64, 1000, dtype=torch.complex64), tensor(8, 96, 160)
    half = torch.fft.rfft2(picture)
    case("fft", "fourier", 2 * size(line), lambda: torch.fft.fft(line))
    case("fft of 2^20", "fourier", 4 * (8 << 20), lambda: torch.fft.fft(tensor(1 << 20, dtype=torch.complex64)))
    case("rfft2", "fourier", size(picture) + 3 * size(half), lambda: torch.fft.rfft2(picture))
    case("irfft2", "fourier", size(picture) + 3 * size(half), lambda: torch.fft.irfft2(half, s=(96, 160)))
    case("stft", "fourier", 2 * 98 * (400 * 4 + 201 * 8),
         lambda: torch.stft(tensor(2, 16000), 400, 160, window=tensor(400), center=False, return_complex=True))


transforms()
for dtype in TYPES:
    for part in (softmaxes, layer_norms, other_norms, losses, dropouts, gathers, copies, lists, pictures, others, by_value):
        part(dtype)
print(json.dumps(cases))
