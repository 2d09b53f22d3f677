"""Whether a loss is a sum over its batch: smaller batches would then make smaller losses."""

_SUM = 2  # the reduction of a loss in ATen
_PASSED = ("AddBackward", "SubBackward", "MulBackward", "NegBackward", "ToCopyBackward", "CloneBackward", "ViewBackward",
           "SqueezeBackward", "AliasBackward")
_DEPTH = 64
_NODES = 500


def has_sum(tensors):
    """Whether a tensor on which backward() is called is a sum, or has one as a term. A mean and a division end the
    search: what is divided is taken for a mean."""
    seen = {}  # nodes by id: they are kept, and with them their ids
    found = [(tensor.grad_fn, 0) for tensor in tensors or () if getattr(tensor, "grad_fn", None) is not None and tensor.numel() == 1]
    while found and len(seen) < _NODES:
        node, depth = found.pop()
        if id(node) in seen:
            continue
        seen[id(node)] = node
        name = node.name()
        if name.startswith("SumBackward") or getattr(node, "_saved_reduction", None) == _SUM:
            return True
        if name.startswith(_PASSED) and depth < _DEPTH:
            found += [(inner, depth + 1) for inner, _ in node.next_functions if inner is not None]
    return False
