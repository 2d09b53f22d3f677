"""Data from the schema of an operator: the tensors that it writes, and whether its result can be
known."""
import torch

# Their results are the former contents of the memory.
EMPTY = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided"}
# Their results depend only on the shape of the first tensor.
SHAPE_ONLY = {
    "zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full", "fill",
}
WHOLE = {"zero_", "fill_"}  # they overwrite the first tensor without reading it
COPIES = {"copy_", "_to_copy", "copy"}
# Their results have as many rows as they find values.
INDEXED = {"index", "index_put_", "index_put", "_index_put_impl_", "_unsafe_index"}
ROWS = INDEXED | {
    "nonzero", "masked_select", "_unique", "_unique2", "unique_dim", "unique_consecutive",
    "unique_dim_consecutive", "repeat_interleave", "_to_sparse", "bincount",
}
# They check their arguments internally by a truth value, and fail if it is false.
CHECKED = {"linalg_eig", "_linalg_eigvals", "linalg_eigvals", "segment_reduce", "repeat_interleave"}
# Operators of large neural networks that are not worth the time on the CPU, however small.
HEAVY = ("convolution", "cudnn", "miopen", "attention", "native_dropout", "_fft", "rnn")


class Plan:
    """The known properties of an operator; made once."""

    def __init__(self, func):
        schema = func._schema
        self.name = schema.name.split("::")[1]
        returns = [r.alias_info for r in schema.returns]
        self.is_view = any(alias is not None and not alias.is_write for alias in returns)
        self.returns_tensors = any("Tensor" in str(r.type) for r in schema.returns)
        self.is_random = (
            self.name in EMPTY
            or torch.Tag.nondeterministic_seeded in func.tags
            or any(word in self.name for word in HEAVY)
            or schema.name.split("::")[0] != "aten"
        )
        self.is_collective = schema.name.startswith("c10d::")
        self.needs_shape_only = self.name in SHAPE_ONLY
        self.is_whole = self.name in WHOLE
        self.is_copy = self.name in COPIES
        self.is_checked = self.name in CHECKED
        self.has_rows = self.name in ROWS
        self.is_new_copy = self.name == "lift_fresh"  # torch.tensor(values, device=...) made it
        self.is_usual = not (self.needs_shape_only or self.has_rows or self.is_checked)
        self.reads_only_known = self.name == "_local_scalar_dense"
        self.places = [
            (i, a.name)
            for i, a in enumerate(schema.arguments)
            if a.alias_info is not None and a.alias_info.is_write
        ]

    def written(self, args, kwargs):
        """The tensors to which the operator writes."""
        found = []
        for i, name in self.places:
            value = args[i] if i < len(args) else kwargs.get(name)
            if isinstance(value, torch.Tensor):
                found.append(value)
            elif isinstance(value, (list, tuple)):
                found += [t for t in value if isinstance(t, torch.Tensor)]
        return found


_plans = {}


def plan_of(func):
    plan = _plans.get(func)
    if plan is None:
        plan = _plans[func] = Plan(func)
    return plan


def tensors_of(*values):
    """The tensors among arguments, also in lists."""
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            for inner in value:
                if isinstance(inner, torch.Tensor):
                    found.append(inner)
                elif isinstance(inner, (list, tuple)):
                    found += tensors_of(inner)
        elif isinstance(value, dict) and value:
            found += tensors_of(*value.values())
    return found


def is_plain(tensor):
    """Whether its elements are in one storage."""
    return tensor.layout is torch.strided and not tensor.is_nested


def is_for_card(kwargs):
    device = kwargs.get("device")
    return device is not None and torch.device(device).type == "cuda"


def is_result_small(plan, args, kwargs, limit_bytes):
    """For an operator that needs only the shape of the first tensor."""
    if plan.name in ("new_zeros", "new_ones", "new_full"):
        n = 1
        for length in args[1]:
            n *= length
    else:
        n = args[0].numel()
    return n * (kwargs.get("dtype") or args[0].dtype).itemsize <= limit_bytes
