"""The peaks of each step of a program, from PyTorch's own statistics."""
import sys

GIB = 1 << 30
ALLOCATED, RESERVED = "tidemark/step_peak_allocated_gib", "tidemark/step_peak_reserved_gib"


class StepMemory:
    """Measures the peaks of steps on the current device of the process.

    It works without `tidemark run`. It resets PyTorch's peak statistics at the beginning of each step:
    torch.cuda.max_memory_allocated() is afterwards the peak of a step.
    """

    def __init__(self):
        self.is_open = False  # a step has begun and not ended

    def begin(self):
        """A step begins here, unless one has begun already."""
        cuda = _cuda()
        if cuda is not None and not self.is_open:
            cuda.reset_peak_memory_stats()
            self.is_open = True

    def end(self):
        """The step ends here. Returns its peaks, name -> GiB (2^30 bytes): ALLOCATED and RESERVED. Empty if no step
        has begun, or the program does not use CUDA."""
        cuda = _cuda()
        if cuda is None or not self.is_open:
            return {}
        self.is_open = False
        return {ALLOCATED: cuda.max_memory_allocated() / GIB, RESERVED: cuda.max_memory_reserved() / GIB}


def _cuda():
    """None if the program has made no context: it is not made for a measurement."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return cuda if cuda is not None and cuda.is_initialized() else None
