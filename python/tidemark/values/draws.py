"""Typical values for what cannot be known, drawn deterministically.

A draw is a function of its seed, and never uses the program's random numbers. Which draw an operator's result gets is in
one table, DRAWS: so routers balance, masks are mixed, losses are positive, numbers are finite, indices are in range and
solvers report success.
"""
import torch

# Of floats.
NORMAL = "normal"  # N(0, 1); a single one in [0.5, 1.5], which keeps log(loss), 1 / scale and exp(loss) alive
ABS = "abs"  # |N(0, 1)|
NEGATIVE = "negative"  # -|N(0, 1)|
UNIT = "unit"  # in [0, 1)
SIGNED_UNIT = "signed_unit"  # in [-1, 1)
ZERO = "zero"
# Of truth values. A single one that is not known is true.
FAIR, FALSE, TRUE = "fair", "false", "true"
# Of integers: below the size of the dimension in which the operator looks.
IN_RANGE = "in_range"

DRAWS = {
    # what an operator's floats may be
    "sigmoid": UNIT, "_softmax": UNIT, "hardsigmoid": UNIT, "uniform_": UNIT, "rand": UNIT, "special_ndtr": UNIT,
    "_log_softmax": NEGATIVE, "log_sigmoid_forward": NEGATIVE, "logsigmoid": NEGATIVE,
    "tanh": SIGNED_UNIT, "sin": SIGNED_UNIT, "cos": SIGNED_UNIT, "erf": SIGNED_UNIT, "hardtanh": SIGNED_UNIT, "sign": SIGNED_UNIT,
    "relu": ABS, "relu_": ABS, "abs": ABS, "abs_": ABS, "exp": ABS, "exp_": ABS, "square": ABS, "sqrt": ABS, "sqrt_": ABS,
    "rsqrt": ABS, "norm": ABS, "linalg_vector_norm": ABS, "pow": ABS, "softplus": ABS, "std": ABS, "var": ABS, "cosh": ABS,
    "_cdist_forward": ABS, "nll_loss_forward": ABS, "mse_loss": ABS, "smooth_l1_loss": ABS, "huber_loss": ABS,
    "binary_cross_entropy": ABS, "binary_cross_entropy_with_logits": ABS, "exponential_": ABS,
    # what a check finds in a healthy run
    "eq": FALSE, "ne": TRUE, "isnan": FALSE, "isinf": FALSE, "isposinf": FALSE, "isneginf": FALSE, "isfinite": TRUE, "all": TRUE,
    # indices
    "argmax": IN_RANGE, "argmin": IN_RANGE, "topk": IN_RANGE, "sort": IN_RANGE, "argsort": IN_RANGE, "multinomial": IN_RANGE,
    "max": IN_RANGE, "min": IN_RANGE, "mode": IN_RANGE, "median": IN_RANGE, "kthvalue": IN_RANGE, "cummax": IN_RANGE,
    "cummin": IN_RANGE, "randperm": IN_RANGE,
}

_BLOCK = 1 << 21  # floats that are drawn once; longer draws repeat them
_blocks = {}


def kind_of(name):
    """The draw of an operator's results."""
    return DRAWS.get(name, NORMAL)


def draw(kind, n, dtype, seed, high=0, start=0):
    """Elements `start` to `start` + n of the draw with this seed, as a tensor of the host's. `high`: integers are below it."""
    if dtype == torch.bool:
        return _truth_values(kind, n, seed, start)
    if dtype.is_floating_point or dtype.is_complex:
        return _floats(kind, n, dtype, seed, start)
    return _integers(kind, n, dtype, seed, high, start)


def _floats(kind, n, dtype, seed, start):
    if n == 1 and start == 0:
        if kind == ZERO:
            return torch.zeros(1, dtype=dtype, device="cpu")
        one = 0.5 + _fraction(seed)
        return torch.full((1,), {NEGATIVE: -one, UNIT: one / 2, SIGNED_UNIT: one / 2}.get(kind, one), dtype=dtype, device="cpu")
    if kind == ZERO:
        return torch.zeros(n, dtype=dtype, device="cpu")
    made = _repeated("uniform" if kind in (UNIT, SIGNED_UNIT) else "normal", n, seed, start)
    if kind == ABS:
        made = made.abs()
    elif kind == NEGATIVE:
        made = made.abs().neg_()
    elif kind == SIGNED_UNIT:
        made = made * 2 - 1
    return _cast(made, dtype)


def _cast(made, dtype):
    """In the type; zeros where the CPU cannot convert to it, such as to types of 4 bits."""
    try:
        return made.to(dtype)
    except (RuntimeError, NotImplementedError):
        return torch.zeros(made.numel() * dtype.itemsize, dtype=torch.uint8, device="cpu").view(dtype)


def _truth_values(kind, n, seed, start):
    if kind in (TRUE, FALSE):
        return torch.full((n,), kind == TRUE, dtype=torch.bool, device="cpu")
    if n == 1 and start == 0:
        return torch.ones(1, dtype=torch.bool, device="cpu")
    return _repeated("uniform", n, seed, start).lt_(0.5).to(torch.bool)


def _integers(kind, n, dtype, seed, high, start):
    if kind == ZERO:
        return _cast(torch.zeros(n, dtype=torch.int64, device="cpu"), dtype)
    high = high or (2 if n > 1 or start else 0)
    if high == 0:
        return _cast(torch.ones(n, dtype=torch.int64, device="cpu"), dtype)
    return _cast(_repeated("uniform", n, seed, start).mul_(high).floor_().to(torch.int64).clamp_(max=high - 1), dtype)


def _fraction(seed):
    """In [0, 1), a function of the seed."""
    return (seed * 2654435761 % (1 << 32)) / (1 << 32)


def _repeated(law, n, seed, start):
    """A part of a block of numbers, which is drawn once. Each seed begins at another place."""
    block = _blocks.get(law)
    if block is None:
        generator = torch.Generator().manual_seed(len(law))
        block = torch.empty(_BLOCK, device="cpu")
        _blocks[law] = block = block.normal_(generator=generator) if law == "normal" else block.uniform_(generator=generator)
    first = (int(_fraction(seed) * _BLOCK) + start) % _BLOCK
    if first + n <= _BLOCK:
        return block[first : first + n].clone()
    made = torch.empty(n, device="cpu")
    at = 0
    while at < n:
        m = min(n - at, _BLOCK - first)
        made[at : at + m] = block[first : first + m]
        at, first = at + m, 0
    return made


def fill(to, seed):
    """Fills a tensor of the host's with a draw, without memory of its own."""
    if not to.is_contiguous():
        to.copy_(draw(NORMAL, to.numel(), to.dtype, seed).view(to.shape))
        return
    flat = to.view(-1)
    for start in range(0, flat.numel(), _BLOCK):
        part = flat[start : start + _BLOCK]
        made = draw(NORMAL, part.numel(), to.dtype, seed, 0, start)
        part.view(torch.uint8).copy_(made.view(torch.uint8))
