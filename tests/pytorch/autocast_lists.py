"""PyTorch's autocast on CUDA chooses the same types for float16 as for bfloat16; run with the virtual card preloaded.

The operators and their arguments are those of PyTorch's own tests. Each runs under autocast to either type, and the types
of its results must correspond: the type of autocast, or float32.
"""
import collections
import importlib
import sys
import types as modules
import warnings

import torch

# The lists want two names of this module, which itself wants packages that are not installed.
sys.modules["torch.testing._internal.common_utils"] = modules.SimpleNamespace(TEST_WITH_ROCM=False, TestCase=object)
from torch.testing._internal.autocast_test_lists import AutocastTestLists  # noqa: E402

# Lists of AutocastTestLists, and where their operators are.
LISTS = {
    "torch_fp16": "torch", "torch_fp32": "torch", "torch_need_autocast_promote": "torch", "torch_expect_builtin_promote": "torch",
    "nn_fp16": "torch._C._nn", "nn_fp32": "torch._C._nn", "linalg_fp16": "torch._C._linalg", "methods_fp16": None, "methods_fp32": None,
    "methods_expect_builtin_promote": None,
}


def types(value):
    if isinstance(value, torch.Tensor):
        return [value.dtype]
    return [t for part in value for t in types(part)] if isinstance(value, (list, tuple)) else [type(value)]


def chosen(name, place, arguments, keywords, dtype):
    """The types of the results; "lower" is autocast's own. Arguments of the other 16-bit type are made this one's."""
    def made(value):
        if isinstance(value, torch.Tensor):
            return value.to(dtype) if value.dtype in (torch.float16, torch.bfloat16) else value
        return type(value)(map(made, value)) if isinstance(value, (list, tuple)) else value

    function = getattr(arguments[0], name) if place is None else getattr(importlib.import_module(place), name)
    given = [made(value) for value in arguments]
    if place is None:
        function, given = getattr(given[0], name), given[1:]
    with torch.autocast("cuda", dtype=dtype):
        return ["lower" if t == dtype else str(t) for t in types(function(*given, **keywords))]


def main():
    warnings.simplefilter("ignore")
    lists = AutocastTestLists(torch.device("cuda:0"))
    counts, different = collections.Counter(), []
    for title, place in LISTS.items():
        for name, arguments, *more in getattr(lists, title):
            if name == "einsum":  # has an equation whose operands do not fit; check_forecast.py runs einsum
                continue
            keywords = next((m for m in more if isinstance(m, dict)), {})
            found = [chosen(name, place, arguments, keywords, dtype) for dtype in (torch.bfloat16, torch.float16)]
            counts["lower precision" if found[0] == ["lower"] else "float32 or the widest"] += 1
            if found[0] != found[1]:
                different.append(f"{title} {name}: under bfloat16 {found[0]}, under float16 {found[1]}")
    print("\n".join(different) or f"{counts.total()} calls choose the same type under float16 as under bfloat16: "
          + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    sys.exit(bool(different) or counts.total() < 100)


main()
