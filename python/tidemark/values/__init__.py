"""The values that a program reads from a card that computes nothing.

    program -- operator --> replaced kernel (kernels.py) --> the real kernel, on the virtual card
                                |
                                +-- a large float of which nothing is known: leaves at once
                                +-- else a node: the operator and its arguments, with nothing computed (nodes.py)
                                +-- a read: the nodes that it needs run on the CPU (evaluation.py), what is
                                    unknown is drawn (draws.py), and the line is named (assumed.py)

What the host gave is known, and so is what is computed from it; it needs no word in the answer. `--values zero` switches all
of this off.
"""
import contextlib
import sys
import types

from .. import card, settings, telling

_replaced = []  # PyTorch's registrations, which end with these objects
_state = {}  # "engine", "sites" of this process


def start(wanted="native"):
    """Begins when CUDA is initialised, unless `--values zero` was given. wanted: "python" for the engine in Python, which
    otherwise serves only where the other cannot be built."""
    if settings.get("TIDEMARK_VALUES") == "zero" or not card.is_virtual() or _state:
        return
    from . import assumed, checked, collectives, generation, kernels, native, overflow, rows, unseen
    from .engine import Engine

    try:
        sites = assumed.Sites()
        engine = (native.engine() if wanted == "native" else None) or Engine()
        engine.unseen = unseen.Unseen(engine)
        _replaced.append(kernels.replace(engine, sites))
        _replaced.append(overflow.watch(engine, kernels.original))
        _replaced.append(collectives.watch(engine, kernels.original))
        rows.watch_vision(engine, sites, _replaced)
        engine.unseen.watch_graphs()
        generation.watch(engine)
        checked.watch(sites)
        _skip_in_compiler()
        _state.update(engine=engine, sites=sites)
    except Exception as error:  # the program must not see it
        _replaced.clear()
        telling.tell(f"values of the card read as zeros: {type(error).__name__}: {error}")


def _skip_in_compiler():
    """torch.compile looks at each Python function that runs below a graph break: not at ours."""
    import torch

    compiler = torch._C._dynamo.eval_frame
    skipped = compiler._FrameExecStrategy(compiler._FrameAction.SKIP, compiler._FrameAction.SKIP)

    def skip(code):
        compiler.set_code_exec_strategy(code, skipped)
        for inner in code.co_consts:
            if isinstance(inner, types.CodeType):
                skip(inner)

    for name, module in list(sys.modules.items()):
        if name.startswith(__package__ + "."):
            for found in list(vars(module).values()):
                functions = vars(found).values() if isinstance(found, type) else [found]
                for function in functions:
                    if isinstance(function, types.FunctionType) and function.__module__ == name:
                        skip(function.__code__)


def finish():
    """The process ends, or a request has failed: the card gets the last figures."""
    if _state:
        _state["sites"].finish()


def end_step():
    """The program has ended a step: a loop that reads values has not waited for one."""
    if _state:
        _state["sites"].n_steps += 1


def sending_objects():
    """Within `with`, this process sends objects to other ranks."""
    if not _state:
        return contextlib.nullcontext()
    from .collectives import Objects

    return Objects()
