"""Names the results of all operators, for `tidemark run --names all`: operators.cpp, which built.py builds for the
program's PyTorch at the first use.

Each block gets the name of the operator that made it as that operator ends, in the backward pass, too. Without a
compiler one line says so, and the graph of autograd still gives names (graph.py).
"""
import ctypes
import os

from . import built, settings, telling


def start(torch, live):
    """Whether operators are named from now on. Not if `--names all` was not asked for."""
    if settings.get("TIDEMARK_NAMES") != "all":
        return False
    try:
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "operators.cpp")
        library = built.load(torch, "operators", [source], needed_for="--names all")
        functions = [ctypes.cast(live.library[name], ctypes.c_void_p) for name in ("tidemark_live_label", "tidemark_live_n_rows")]
        library.tidemark_operators_start(*functions)
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        telling.tell(f"--names all does not work here, and fewer tensors have names: {reason}")
        return False
    return True
