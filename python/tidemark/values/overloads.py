"""The operators of PyTorch whose kernels are replaced at the dispatch key CUDA, and the facts of their schemas.

An overload has one of these roles:

  READ  gives the host what is on the card: a number, a truth value, a copy
  ROWS  has as many rows as it finds values
  NOTED computes something that may be read later
  SEEN  hot, from large floats to large floats, or of lists: what it makes is unknown, and only its shapes count

Views, and operators that are made of others, are not replaced: their parts are seen.
"""
import torch

KEY = "CUDA" if hasattr(torch.library, "get_kernel") else "BackendSelect"  # see kernels.py
READ, ROWS, NOTED, SEEN = "read", "rows", "noted", "seen"

READS = {"_local_scalar_dense", "equal", "copy_"}
FOUND = {"nonzero", "_unique", "_unique2", "unique_dim", "unique_consecutive", "unique_dim_consecutive"}

# Parts of the names of operators whose results a program does not decide by.
_SEEN_PARTS = (
    "convolution", "cudnn", "miopen", "attention", "layer_norm", "batch_norm", "group_norm", "rms_norm", "_thnn",
    "native_dropout", "lstm", "gru", "_fft", "_scaled", "rrelu", "_weight_norm", "_ctc", "mkldnn", "_foreach", "_fused",
)
# What makes no values, and what has no plain storage; overflow.py has the check for infinities.
_LEFT_OUT_PARTS = (
    "quantize", "sparse", "empty", "resize", "set_", "record_stream", "pin_memory", "_cufft", "_cslt", "_amp_foreach", "record",
    "is_pinned", "_nested", "_jagged", "_padded", "_copy_from",
)
_LEFT_OUT = {"_values", "_indices"}
# Kernels without an argument of the card's; others that make tensors of nothing fill what they have allocated. At
# BackendSelect, PyTorch's own kernel finds the device.
_MAKERS = {"triu_indices", "tril_indices"} if KEY == "CUDA" else set()
# PyTorch calls it with a number of the host's in the place of a tensor, which it cannot hand to Python.
_UNSEEABLE = {"aten::pow.Tensor_Tensor_out"}

_PRODUCTS = {
    "mm", "bmm", "addmm", "baddbmm", "addbmm", "addmv", "mv", "dot", "vdot", "addr", "_addmm_activation", "linear", "matmul",
}
_SOLVERS = {"cholesky", "lu_solve", "triangular_solve", "ormqr", "geqrf", "cholesky_inverse"}
_WHOLE = {
    "copy_", "zero_", "fill_", "random_", "uniform_", "normal_", "bernoulli_", "exponential_", "log_normal_", "cauchy_", "geometric_",
}
_RANDOM = {
    "random_", "uniform_", "normal_", "bernoulli_", "bernoulli", "exponential_", "log_normal_", "cauchy_", "geometric_",
    "multinomial", "randperm", "normal", "poisson", "_standard_gamma", "binomial", "_sample_dirichlet", "randint",
}
# Of all elements together: on a window of the elements they are computed and scaled (windows.py).
_REDUCTIONS = {"sum", "mean", "dot", "vdot", "norm", "linalg_vector_norm", "max", "min", "amax", "amin", "any", "all"}
_NUMBERS = {int, float, bool, complex}


class Plan:
    """What is known of an overload; made once."""

    def __init__(self, base, schema, func):
        self.name = base
        self.func = func
        self.full = full_name(schema)
        self.role = role_of(base)
        arguments = list(enumerate(schema.arguments))
        self.writes = [(i, a.name) for i, a in arguments if a.alias_info is not None and a.alias_info.is_write]
        self.outs = [a.name for _, a in arguments if a.is_out]
        self.tensor_places = tuple(i for i, a in arguments if str(a.type) == "Tensor" and not a.kwarg_only)
        self.generator = next((a.name for _, a in arguments if a.name == "generator"), None)
        self.is_random = base in _RANDOM
        self.is_whole = base in _WHOLE  # overwrites the first argument without reading it
        self.is_product = base in _PRODUCTS
        self.is_solver = "linalg" in base and "norm" not in base or base in _SOLVERS
        self.is_pointwise = torch.Tag.pointwise in func.tags or base in ("copy_", "fill_", "zero_")
        self.is_reduction = base in _REDUCTIONS
        self.is_sum_of_rows = self.full in ("aten::sum.dim_IntList", "aten::mean.dim")

    def written(self, args, kwargs):
        """The tensors that a call writes to, in the order of the schema."""
        for i, name in self.writes:
            yield from tensors(args[i] if i < len(args) else kwargs.get(name))

    def with_numbers(self, args):
        """The arguments, with each number in the place of a tensor (`x * 7`) as a tensor of the host's that counts as a
        number in the promotion of types: kernels take nothing else."""
        if not any(i < len(args) and type(args[i]) in _NUMBERS for i in self.tensor_places):
            return args
        given = [a for a in args if isinstance(a, torch.Tensor)]
        other = next((a for a in given if a.dtype is not torch.bool), given[0])
        return tuple(
            torch.scalar_tensor(a, dtype=torch.result_type(other, a), device="cpu") if i in self.tensor_places and type(a) in _NUMBERS else a
            for i, a in enumerate(args)
        )


def full_name(schema):
    return schema.name + ("." + schema.overload_name if schema.overload_name else "")


def role_of(base):
    if base in READS:
        return READ
    if base in FOUND:
        return ROWS
    return SEEN if any(part in base for part in _SEEN_PARTS) else NOTED


def tensors(*values):
    """The tensors among values and in lists of them."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors(*value)


def plans():
    """The Plan of each overload that is replaced."""
    for schema in torch._C._jit_get_all_schemas():
        if schema.name.startswith("aten::") and _is_kernel_of_card(schema):
            base = schema.name[len("aten::"):]
            func = getattr(getattr(torch.ops.aten, base, None), schema.overload_name or "default", None)
            if func is not None:
                yield Plan(base, schema, func)


def _is_kernel_of_card(schema):
    base, full = schema.name[len("aten::"):], full_name(schema)
    if any(part in base for part in _LEFT_OUT_PARTS) or base in _LEFT_OUT or full in _UNSEEABLE:
        return False
    if any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns):
        return False  # a view
    if base not in _MAKERS and not any("Tensor" in str(a.type) for a in schema.arguments):
        return False
    has, has_any = torch._C._dispatch_has_kernel_for_dispatch_key, torch._C._dispatch_has_computed_kernel_for_dispatch_key
    try:
        if has(full, "CompositeImplicitAutograd") or not has_any(full, "CUDA"):
            return False
        return has(full, "CUDA") or base == "copy_"  # its kernel is composite, and it is the way to the host and back
    except RuntimeError:
        return False  # a schema without an operator
