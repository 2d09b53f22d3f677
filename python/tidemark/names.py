"""Names the tensors that modules and optimizers hold, by the addresses of their memory.

A row says: at this place in the history (see steps.py), the block at this address was this tensor.
It is exact, because the address is read from the tensor itself.
"""
import gc
import os

from . import card


class Names:
    """Rows [device, place, address, category, name]; a tensor has one for each block it had."""

    def __init__(self, marks):
        self.marks = marks
        self.rows = []
        self.seen = {}  # (name, category, device) -> address of the last row
        self.name_of = {}  # id of a parameter -> its name in its module
        self.n_named = -1  # parameters of the optimizers when the modules were searched

    def look(self):
        """Rows for the parameters, buffers and gradients of every module, and for optimizers."""
        import torch

        self._look_at_modules(alive(torch.nn.Module))
        for optimizer in alive(torch.optim.Optimizer):
            self.marks.has_optimizer = True
            self.look_at_optimizer(optimizer)
        self.look_at_workspaces()

    def look_at_workspaces(self):
        """Rows for what PyTorch has lent to cuBLAS. Addresses of different devices differ."""
        import torch

        counts = self.marks.here()
        for address in card.workspaces(keeps_workspaces()):
            for device, count in enumerate(counts):
                self._add_address([device, count, address, "workspace", "workspace of cuBLAS"])

    def forget_workspaces(self):
        """The program is about to free them."""
        self.look_at_workspaces()
        card.forget_workspaces()

    def look_at_optimizer(self, optimizer, has_stepped=False):
        """Rows for its parameters, their gradients, and its state, before a step of it and after that."""
        counts = self.marks.here()
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        self._search_names(parameters)
        for i, parameter in enumerate(parameters):
            name = self.name_of.get(id(parameter), f"parameter {i}")
            self._add(counts, parameter, "parameter", name)
            self._add(counts, parameter.grad, "gradient", name + ".grad")
            state = optimizer.state.get(parameter)
            for key, value in state.items() if isinstance(state, dict) else ():
                self._add(counts, value, "optimizer_state", f"{name}.{key}")

    def _search_names(self, parameters):
        """Names are searched again when an optimizer has parameters that have none."""
        if all(id(p) in self.name_of for p in parameters) or self.n_named == len(parameters):
            return
        import torch

        self.n_named = len(parameters)
        for module in outermost(alive(torch.nn.Module)):
            for name, parameter in named(lambda: module.named_parameters()):
                self.name_of.setdefault(id(parameter), name)

    def _look_at_modules(self, modules):
        counts = self.marks.here()
        for module in outermost(modules):
            for name, parameter in named(lambda: module.named_parameters()):
                self.name_of.setdefault(id(parameter), name)
                self._add(counts, parameter, "parameter", name)
                self._add(counts, parameter.grad, "gradient", name + ".grad")
            for name, buffer in named(lambda: module.named_buffers()):
                self._add(counts, buffer, "buffer", name)

    def add_own(self, device, address, category, name):
        """What the program itself says; another block may have been at the address before."""
        self.rows.append([device, self.marks.here()[device], address, category, name])

    def _add(self, counts, tensor, category, name):
        import torch

        if not isinstance(tensor, torch.Tensor) or not tensor.is_cuda:
            return
        try:
            address = tensor.untyped_storage().data_ptr()
        except (RuntimeError, NotImplementedError):
            return  # a subclass without memory of its own
        device = tensor.device.index
        if address != 0:
            self._add_address([device, counts[device], address, category, name])

    def _add_address(self, row):
        device, _, address, category, name = row
        if category == "workspace":
            name = (name, address)  # they have one name
        if self.seen.get((name, category, device)) != address:
            self.seen[name, category, device] = address
            self.rows.append(row)



_told = []  # whether the sentence about modules without names was said


def tell(text):
    """A line on the process's own stderr: the program may have put something of its own into sys.stderr."""
    try:
        os.write(2, f"tidemark: {text}\n".encode(errors="backslashreplace"))
    except OSError:
        pass  # it is closed


def tell_nameless(error):
    """A class of the program's may do anything when it is asked for its names; the recording goes on."""
    if not _told:
        _told.append(True)
        tell(f"some modules have no names: {type(error).__name__}: {error}")


def named(function):
    """The pairs that a module gives, named_parameters() for one; none where it raises."""
    try:
        return list(function())
    except Exception as error:
        tell_nameless(error)
        return []


def keeps_workspaces():
    """Whether products of cuBLASLt get the workspace that cuBLAS has, as from PyTorch 2.11 on. Before, each
    had one of its own, and freed it."""
    import torch

    is_unified = os.environ.get("TORCH_CUBLASLT_UNIFIED_WORKSPACE", "1") == "1"
    return is_unified and tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 11)


def alive(kind):
    """The program's objects of a class. isinstance would wake objects that pretend to be others."""
    return [found for found in gc.get_objects() if issubclass(type(found), kind)]


def outermost(modules):
    inner = {id(child) for module in modules for child in module._modules.values()}
    return [module for module in modules if id(module) not in inner]
