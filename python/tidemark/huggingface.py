"""Callbacks of Hugging Face's Trainer: names its steps, and logs their memory.

    from tidemark.huggingface import MemoryCallback, StepCallback

    trainer = Trainer(model, arguments, callbacks=[StepCallback()], ...)
    trainer.add_callback(MemoryCallback(trainer))
"""
from transformers import TrainerCallback

from .marking import step
from .step_memory import StepMemory

__all__ = ["MemoryCallback", "StepCallback"]


class StepCallback(TrainerCallback):
    """Ends a step of the recording with each step of the Trainer, which is one of its optimizer: several
    batches if gradients are accumulated. It does nothing else, and nothing if the program is not
    recorded."""

    def on_step_end(self, args, state, control, **kwargs):
        """Called by the Trainer."""
        step()


class MemoryCallback(StepCallback):
    """Does what StepCallback does, and logs the memory of the steps with Trainer.log(), whether the program is
    recorded or not: in GiB (2^30 bytes), `tidemark/step_peak_allocated_gib` and `tidemark/step_peak_reserved_gib` of
    the current device.

    It logs when the Trainer does (logging_strategy, logging_steps): the highest of the steps since the last time. Pass
    the trainer, because the Trainer's callbacks do not get it. PyTorch's peak statistics are reset at the beginning
    of each step. Without CUDA it logs nothing.
    """

    def __init__(self, trainer):
        self.trainer = trainer
        self.memory = StepMemory()
        self.peaks = {}  # since the last log

    def on_step_begin(self, args, state, control, **kwargs):
        """Called by the Trainer."""
        self.memory.begin()

    def on_step_end(self, args, state, control, **kwargs):
        """Called by the Trainer."""
        super().on_step_end(args, state, control, **kwargs)
        for name, gib in self.memory.end().items():
            self.peaks[name] = max(gib, self.peaks.get(name, gib))
        if control.should_log:
            self._log()

    def on_epoch_end(self, args, state, control, **kwargs):
        """Called by the Trainer."""
        if control.should_log:
            self._log()

    def on_train_end(self, args, state, control, **kwargs):
        """Called by the Trainer: logs the remaining steps."""
        self._log()

    def _log(self):
        if self.peaks:
            self.trainer.log(self.peaks)
            self.peaks = {}
