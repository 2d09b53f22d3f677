"""Callbacks of Lightning's Trainer: names its steps, and logs their memory.

    from tidemark.lightning import MemoryCallback

    trainer = Trainer(callbacks=[MemoryCallback()], ...)  # or StepCallback(), which only names

Lightning may be installed as `lightning` or as `pytorch_lightning`; the one that the program has
imported is used.
"""
import importlib
import sys

from .marking import step
from .step_memory import StepMemory

__all__ = ["MemoryCallback", "StepCallback"]


def _find_callback():
    names = ("lightning.pytorch", "pytorch_lightning")
    for name in sorted(names, key=lambda name: name not in sys.modules):
        try:
            return importlib.import_module(name + ".callbacks").Callback
        except ImportError as error:
            missing = error
    raise missing


class StepCallback(_find_callback()):
    """Ends a step of the recording after each batch with which an optimizer has stepped. It does nothing
    else, and nothing if the program is not recorded."""

    def __init__(self):
        super().__init__()
        self.n_steps = 0  # of the optimizers, when the last step ended

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        """Called by the Trainer."""
        if trainer.global_step != self.n_steps:
            self.n_steps = trainer.global_step
            self.end_step(pl_module)

    def end_step(self, pl_module):
        """Called after each batch with which an optimizer has stepped."""
        step()


class MemoryCallback(StepCallback):
    """Does what StepCallback does, and logs the memory of each step with pl_module.log_dict(), whether the program is
    recorded or not: in GiB (2^30 bytes), `tidemark/step_peak_allocated_gib` and `tidemark/step_peak_reserved_gib` of
    the current device.

    A step begins with its first batch: validation is not part of one. Lightning writes every
    log_every_n_steps-th step to its loggers. PyTorch's peak statistics are reset at the beginning of each step. Without
    CUDA it logs nothing.
    """

    def __init__(self):
        super().__init__()
        self.memory = StepMemory()

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        """Called by the Trainer."""
        self.memory.begin()

    def end_step(self, pl_module):
        """Called after each batch with which an optimizer has stepped."""
        super().end_step(pl_module)
        peaks = self.memory.end()
        if peaks:
            pl_module.log_dict(peaks, on_step=True, on_epoch=False, batch_size=1)
