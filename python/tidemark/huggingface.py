"""Names the steps of Hugging Face's Trainer.

    from tidemark.huggingface import StepCallback

    trainer = Trainer(model, arguments, callbacks=[StepCallback()], ...)
"""
from transformers import TrainerCallback

from .marking import step

__all__ = ["StepCallback"]


class StepCallback(TrainerCallback):
    """Ends a step of the recording with each step of the Trainer, which is one of its optimizer: several
    batches if gradients are accumulated. It does nothing else, and nothing if the program is not
    recorded."""

    def on_step_end(self, args, state, control, **kwargs):
        """Called by the Trainer."""
        step()
