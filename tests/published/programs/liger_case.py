"""What a benchmark of Liger-Kernel measures."""
import torch


class Case:
    """forward: without arguments. cleared: tensors whose gradient do_bench drops before each repetition.

    given: gradients made before; "new": a random one for each pass; "ones"; None: the result is a loss.
    retain: the graph is kept after a backward pass. kept: what the script holds besides, for its memory.
    """

    def __init__(self, forward, given=None, cleared=(), retain=True, kept=(), wanted=None, backward_with_forward=False):
        self.forward, self.given, self.cleared, self.retain, self.kept = forward, given, cleared, retain, kept
        self.wanted = wanted  # tensors of torch.autograd.grad, in place of .backward()
        self.backward_with_forward = backward_with_forward

    def gradient(self, result):
        if self.given == "new":
            return torch.randn_like(result)
        if self.given == "ones":
            return torch.ones_like(result)
        return self.given

    def backward(self, result, gradient=None):
        gradient = self.gradient(result) if gradient is None else gradient
        if self.wanted is not None:
            return torch.autograd.grad(result, self.wanted, gradient, allow_unused=True, retain_graph=self.retain)
        if isinstance(result, tuple):
            return torch.autograd.backward(result, gradient, retain_graph=self.retain)
        return result.backward(gradient, retain_graph=self.retain)


def random(*shape, dtype=torch.float32, grad=True):
    return torch.randn(*shape, dtype=dtype, device="cuda", requires_grad=grad)
