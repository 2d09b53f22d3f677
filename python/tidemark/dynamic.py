"""Runs an operator on the card and, with what is known, on the CPU too (see shadow.py)."""
import torch

from . import card, schema

FAILED = object()  # in the place of a result


def _all(values):
    return [values.numel()]


def _first_of_tuple(values):
    return [values[0].shape[0] if values[0].dim() > 0 else values[0].numel()]


def _unique_dim(values, args):
    return [values[0].shape[args[1] if len(args) > 1 else 0]]


def _bincount(args):
    values = args[0]
    return [int(values.min()), int(values.max())] if values.numel() > 0 else []


# The numbers that an operator reads within itself: of its arguments and its result on the CPU.
NUMBERS = {
    "nonzero": lambda args, values: [values.shape[0]],
    "masked_select": lambda args, values: _all(values),
    "_unique": lambda args, values: _first_of_tuple(values),
    "_unique2": lambda args, values: _first_of_tuple(values),
    "unique_dim": lambda args, values: _unique_dim(values, args),
    "unique_consecutive": lambda args, values: _first_of_tuple(values),
    "unique_dim_consecutive": lambda args, values: _unique_dim(values, args),
    "repeat_interleave": lambda args, values: _all(values),
    "_to_sparse": lambda args, values: [values._nnz()],
    "bincount": lambda args, values: _bincount(args),
}


# Of these, one known operand may decide the result whatever the other is.
DECIDED_BY_ZEROS = {"bitwise_and", "logical_and"}
DECIDED_BY_TRUE = {"bitwise_or", "logical_or"}


def is_mask(value):
    return isinstance(value, torch.Tensor) and value.dtype in (torch.bool, torch.uint8)


def masks_of(plan, args):
    """The masks that say which elements are taken or written."""
    if plan.name == "masked_select":
        return [args[1]]
    return [t for t in args[1] if is_mask(t)] if plan.name in schema.INDEXED else []


def run_unknown_rows(shadows, func, plan, args, kwargs):
    """Something that it reads is unknown or large. Where only masks count, they may be known; of
    what an operator checks, the answer is yes."""
    if not plan.has_rows:
        with card.Answers():
            return shadows.run_unknown(func, plan, args, kwargs)
    masks = masks_of(plan, args)
    known = [shadows.find(mask) if mask.is_cuda else None for mask in masks]
    if not masks and plan.name in schema.INDEXED:
        return shadows.run_unknown(func, plan, args, kwargs)
    if masks and all(known) and not any(shadow.is_assumed for shadow in known):
        with card.Answers([_count(shadow_view(s, m), args) for s, m in zip(known, masks)]):
            return shadows.run_unknown(func, plan, args, kwargs)
    _name_unknown(plan, args)
    with card.Answers() if plan.is_checked else card.Quiet():
        return shadows.run_unknown(func, plan, args, kwargs)


def _count(mask, args):
    """Elements that the mask takes; masked_select takes it as wide as its first argument."""
    if isinstance(args[1], torch.Tensor):
        mask = mask.expand(torch.broadcast_shapes(mask.shape, args[0].shape))
    return int(mask.count_nonzero())


def _name_unknown(plan, args):
    """The number of rows is not known: 0 are given. The bound is as if all were found."""
    tensor = args[0]
    if not tensor.is_cuda or not schema.is_plain(tensor):
        return
    n_bytes = tensor.numel() * tensor.itemsize
    if plan.name in ("nonzero", "_to_sparse"):
        n_bytes = tensor.numel() * max(tensor.dim(), 1) * 8
    if plan.name in ("repeat_interleave", "bincount"):
        n_bytes = 0  # without a bound: the values may be of any size
    card.inexact(plan.name, "the number of rows is computed on the card; 0 rows are assumed", n_bytes)


def run(shadows, func, plan, args, kwargs, reads):
    """`reads`: the shadows of the tensors that it reads; of None only the shape counts."""
    if plan.name == "_local_scalar_dense":
        return _read_number(shadows, func, args, reads)
    is_assumed = any(shadow is not None and shadow.is_assumed for shadow in reads.values())
    on_host, host_kwargs = _to_cpu(shadows, args, kwargs, reads)
    if plan.name in NUMBERS or masks_of(plan, args):
        return _run_dynamic(shadows, func, plan, (args, kwargs), (on_host, host_kwargs), is_assumed)
    is_assumed = is_assumed and not _is_decided(plan, args, on_host, reads)
    context = card.Answers() if plan.is_checked else card.Quiet()
    with context:
        result = func(*args, **kwargs)
    return _work_out(shadows, func, plan, (args, kwargs), (on_host, host_kwargs), (result, is_assumed))


def _is_decided(plan, args, on_host, reads):
    """Whether a known operand alone makes the result: x & 0 is 0 for any x. So a text that has reached its
    greatest length ends, whatever became of the rest of what decides."""
    if plan.name not in DECIDED_BY_ZEROS and plan.name not in DECIDED_BY_TRUE:
        return False
    for given, values in zip(args, on_host):
        shadow = reads.get(id(given))
        if shadow is not None and shadow.is_assumed:
            continue
        values = torch.as_tensor(values)
        if plan.name in DECIDED_BY_ZEROS and not values.any():
            return True
        if plan.name in DECIDED_BY_TRUE and values.dtype == torch.bool and values.all():
            return True
    return False


def _work_out(shadows, func, plan, on_card, on_host, made):
    """Runs the operator on the CPU, and keeps what it makes."""
    result, is_assumed = made
    results = schema.tensors_of(result)
    written = plan.written(*on_card)
    if not all(map(schema.is_plain, results)) or _card_bytes(results) > shadows.limit_bytes:
        values = FAILED
    else:
        values = _compute(func, on_host)
    if values is FAILED:
        for tensor in written:
            shadows.forget(tensor)
        return result
    shadows.n_worked_out += 1
    if plan.returns_tensors or written:
        _keep(shadows, results, schema.tensors_of(values), written, is_assumed)
        for tensor in written if is_assumed else ():
            _mark_assumed(shadows, tensor)
        return result
    return values  # a number or a truth value


def _card_bytes(results):
    return sum(t.numel() * t.itemsize for t in results if t.is_cuda)


def _compute(func, on_host):
    """FAILED: the CPU cannot. The program's random numbers are not used up: see schema.Plan."""
    args, kwargs = on_host
    try:
        return func(*args, **kwargs)
    except Exception:  # of an operator that the CPU has not, or has not for this type
        return FAILED


def _keep(shadows, results, values, written, is_assumed):
    own = {id(t) for t in written}
    for tensor, value in zip(results, values):
        if not schema.is_plain(tensor) or tensor.shape != value.shape:
            continue
        if not tensor.is_cuda:
            if tensor is not value:
                tensor.copy_(value)  # the program reads the card: these are the true values
            if is_assumed and tensor.dtype == torch.bool and tensor.numel() == 1 and not card.is_checking():
                tensor.zero_()  # as _read_number
        elif id(tensor) not in own:
            shadows.keep(tensor, value, is_assumed)


def _mark_assumed(shadows, tensor):
    shadow = shadows.find(tensor) if tensor.is_cuda else None
    if shadow is not None:
        shadow.is_assumed = True


def _read_number(shadows, func, args, reads):
    """A truth value that the card computes reads as false, as the answer says: what zeros in the place of
    unknown numbers would give (`x.max() == 0`) is no better."""
    shadow = reads[id(args[0])]
    with torch.no_grad():
        value = func(shadow_view(shadow, args[0]))
    if shadow.is_assumed and value is True and not card.is_checking():
        value = False
    if shadow.is_assumed or torch.cuda.is_current_stream_capturing():
        func(*args)  # the card notices a loop that waits for it, and refuses it in a capture
    return value


def _run_dynamic(shadows, func, plan, on_card, on_host, is_assumed):
    values = _compute(func, on_host)
    if values is FAILED:
        return shadows.run_unknown(func, plan, *on_card)
    args, kwargs = on_card
    if plan.name in schema.INDEXED:
        numbers = [int(mask.count_nonzero()) for mask in masks_of(plan, on_host[0])]
    else:
        numbers = NUMBERS[plan.name](on_host[0], values)
    with card.Answers(numbers):
        result = func(*args, **kwargs)
    results, exact = schema.tensors_of(result), schema.tensors_of(values)
    if any(schema.is_plain(t) and t.shape != v.shape for t, v in zip(results, exact)):
        result = _bring(values, args)
        results = schema.tensors_of(result)
    if is_assumed:
        card.inexact(
            plan.name,
            "the number of rows depends on values that the card computes; those are taken to be 0",
        )
    shadows.n_worked_out += 1
    _keep(shadows, results, exact, plan.written(*on_card), is_assumed)
    return result


def _bring(values, args):
    """The CPU's result as tensors of the card."""
    device = schema.tensors_of(args)[0].device
    if isinstance(values, torch.Tensor):
        return values.to(device)
    return tuple(v.to(device) if isinstance(v, torch.Tensor) else v for v in values)


def shadow_view(shadow, tensor):
    from . import shadow as module

    return module.on_cpu(shadow, tensor)


def _to_cpu(shadows, args, kwargs, reads):
    """The arguments, with shadows in the place of the card's tensors."""

    def change(value):
        if isinstance(value, torch.Tensor):
            if id(value) not in reads:
                return value
            shadow = reads[id(value)]
            if shadow is None:
                return torch.empty_strided(value.size(), value.stride(), dtype=value.dtype)
            return shadow_view(shadow, value)
        if isinstance(value, (list, tuple)):
            return type(value)(change(inner) for inner in value)
        if isinstance(value, torch.device):
            return torch.device("cpu")
        return value

    changed = {name: change(value) for name, value in kwargs.items()}
    if changed.get("device") is not None:
        changed["device"] = torch.device("cpu")
    if changed.get("pin_memory"):
        changed["pin_memory"] = False
    return change(args), changed
