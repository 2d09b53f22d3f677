"""Functions with which a recorded program describes itself to tidemark.

    import tidemark

    for batch in batches:
        with tidemark.scope("forward"):
            loss = model(batch)
        loss.backward()
        optimizer.step()
        tidemark.step()

    tidemark.category(cache, "kv cache")
    tidemark.snapshot("now.json.gz")

These functions do nothing if the program is not recorded, and they never raise an exception, so they may
stay in a program. Importing this package imports neither PyTorch nor any other large module.

tidemark.huggingface, tidemark.lightning and tidemark.accelerate call step() for their trainers and log the
memory of each step, and `%load_ext tidemark` adds `%%tidemark` to Jupyter.

The package has a second use: `tidemark run` loads a copy of it, under another name, into the interpreter
of a recorded program, and calls _start().
"""
import sys

from . import settings
from .marking import category, scope, snapshot, step

__all__ = ["category", "scope", "snapshot", "step"]


def load_ipython_extension(ipython):
    """Called by `%load_ext tidemark`."""
    from . import jupyter

    jupyter.load(ipython)


def _start():
    """Prepares the recording by PyTorch's history. A preloaded library calls it at the first CUDA call
    of the process, in the main thread.

    Returns False while PyTorch is not imported: call it again.
    """
    if "jax" in sys.modules and settings.get("TIDEMARK_RUN_FOLDER") is not None:
        from .serving import xla

        xla.watch()
    cuda = sys.modules.get("torch.cuda")
    if not hasattr(cuda, "_lazy_call") or not hasattr(sys.modules["torch"], "Tensor"):
        return False
    if settings.get("TIDEMARK_RUN_FOLDER") is None:
        if settings.get("TIDEMARK_BLACK_BOX"):
            from . import black_box

            black_box.prepare(cuda)
        return True
    from . import recording

    recording.prepare(cuda)
    return True


def _start_changes(torch):
    """Applies changes of `tidemark plan`: torch was just imported (attach/sitecustomize.py)."""
    from . import changes

    changes.start(torch)


def _start_when_ready():
    """The same if no library is preloaded (attach/sitecustomize.py): torch.cuda was just imported, but
    PyTorch itself is not complete yet."""
    cuda = sys.modules["torch.cuda"]
    cuda._queued_calls.append((_start, []))
