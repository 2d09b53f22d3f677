"""Finds the memory of tensors: where it begins, and which tensors a tensor of a subclass holds."""
import functools
import operator

_is_cuda = operator.attrgetter("is_cuda")
MAX_DEPTH = 4  # of subclasses, lists and dictionaries within each other


def addresses_of(values):
    """Returns the addresses of the blocks of tensors; 0 if a value is not a tensor on a card."""
    import torch

    try:  # the common case first, without a loop in Python: this is done in each step
        if not any(map(torch.Tensor.storage_offset, values)) and all(map(_is_cuda, values)):
            return list(map(torch.Tensor.data_ptr, values))
    except (AttributeError, RuntimeError, TypeError, ValueError, NotImplementedError):
        pass  # another value is among them, such as None
    return [0 if value is None else address_of(value) for value in values]


def address_of(value):
    """Returns the address of the block of a tensor; 0 if it is not a tensor on a card, or has no memory of its
    own."""
    try:
        return value.untyped_storage().data_ptr() if value.is_cuda else 0
    except (AttributeError, RuntimeError, ValueError, NotImplementedError):
        return 0


def parts(name, value, depth=0):
    """Returns the pairs of name and plain tensor of which a value consists.

    A quantized weight consists of its data and its scales, a DTensor of its local tensor, and the state of an
    optimizer may be a list. A single part has the name of the whole.
    """
    if value is None or depth > MAX_DEPTH:
        return []
    if isinstance(value, (list, tuple)):
        inner = [(str(i), item) for i, item in enumerate(value)]
    elif isinstance(value, dict):
        inner = [(str(key), item) for key, item in value.items()]
    elif hasattr(value, "untyped_storage"):
        inner = _held(value)
        if inner is None:
            return [(name, value)]
    else:
        return []
    is_alone = len(inner) == 1
    found = []
    for key, item in inner:
        found += parts(name if is_alone else f"{name}.{key}", item, depth + 1)
    return found


def _held(value):
    """Returns the pairs of a key and a tensor that a tensor holds; None if it has memory of its own."""
    if hasattr(type(value), "__tensor_flatten__"):
        try:
            inner = [(key, getattr(value, key)) for key in value.__tensor_flatten__()[0]]
            return [(key, item) for key, item in inner if hasattr(item, "untyped_storage")]
        except Exception:  # a class of the program may do anything
            return None
    keys = _sparse().get(getattr(value, "layout", None))
    if keys is None:
        return None
    try:
        return [(key.strip("_"), getattr(value, key)()) for key in keys]
    except RuntimeError:
        return None


@functools.lru_cache
def _sparse():
    """Layouts of sparse tensors, and the methods that return their parts."""
    import torch

    rows = ("crow_indices", "col_indices", "values")
    columns = ("ccol_indices", "row_indices", "values")
    return {
        torch.sparse_coo: ("_indices", "_values"),
        torch.sparse_csr: rows,
        torch.sparse_bsr: rows,
        torch.sparse_csc: columns,
        torch.sparse_bsc: columns,
    }
