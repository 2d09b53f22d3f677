"""Names the steps of Lightning's Trainer.

    from tidemark.lightning import StepCallback

    trainer = Trainer(callbacks=[StepCallback()], ...)

Lightning may be installed as `lightning` or as `pytorch_lightning`; the one that the program has
imported is used.
"""
import importlib
import sys

from .marking import step

__all__ = ["StepCallback"]


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
            step()
