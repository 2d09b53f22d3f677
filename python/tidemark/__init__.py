"""The part of tidemark that lives in the interpreter of a recorded PyTorch program.

`tidemark run` preloads a library. At the first CUDA call of a process, that library imports this
package and calls _start() in the main thread. The package then lets PyTorch record its history,
marks steps and phases in it, names the tensors of models and optimizers, and writes everything
into the folder of the run when the process ends.

Nothing here changes what the program computes or allocates. Whatever goes wrong here is told in one
line on stderr, and the program goes on.
"""
import os
import sys

__all__ = []


def _start():
    """Prepares the recording. Returns False as long as PyTorch is not imported: ask again."""
    cuda = sys.modules.get("torch.cuda")
    if not hasattr(cuda, "_lazy_call") or not hasattr(sys.modules["torch"], "Tensor"):
        return False
    if "TIDEMARK_RUN_FOLDER" not in os.environ:
        return True
    from . import recording

    recording.prepare(cuda)
    return True
