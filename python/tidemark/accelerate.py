"""Names the steps of a loop with Hugging Face's Accelerate, and logs their memory to its trackers.

    from tidemark.accelerate import MemoryLogger

    accelerator = Accelerator(log_with="tensorboard", project_dir="logs")
    accelerator.init_trackers("mine")
    memory = MemoryLogger(accelerator)
    for batch in loader:
        with memory.batch(), accelerator.accumulate(model):
            accelerator.backward(model(batch))
            optimizer.step()
            optimizer.zero_grad()
"""
import contextlib

from .marking import step
from .step_memory import StepMemory

__all__ = ["MemoryLogger"]


class MemoryLogger:
    """Logs the memory of each step with accelerator.log(), which writes it to every tracker of the Accelerator, and ends
    a step of the recording if the program is recorded.

    The values are in GiB (2^30 bytes): `tidemark/step_peak_allocated_gib` and `tidemark/step_peak_reserved_gib` of the
    current device; Accelerate logs those of the main process. PyTorch's peak statistics are reset at the beginning of
    each step. Without CUDA it logs nothing.

    n_steps: steps so far, and the `step` of the next values. Set it when you resume a training.
    """

    def __init__(self, accelerator, n_steps=0):
        self.accelerator = accelerator
        self.n_steps = n_steps
        self.memory = StepMemory()

    @contextlib.contextmanager
    def batch(self):
        """Around the work of a batch. A step begins with its first batch and ends with the batch that synchronizes the
        gradients (accelerator.sync_gradients): several batches make one step if gradients are accumulated. A batch
        that raises an exception ends no step."""
        self.memory.begin()
        yield
        if self.accelerator.sync_gradients:
            step()
            peaks = self.memory.end()
            if peaks:
                self.accelerator.log(peaks, step=self.n_steps)
            self.n_steps += 1
