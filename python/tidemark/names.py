"""Names the tensors that modules and optimizers hold, by the addresses of their memory.

A row means: at this place in the history (see steps.py), the block at this address was this tensor. It is exact,
because the address is read from the tensor itself.
"""
import gc
import os

from . import card, graph, modules, tensors
from .telling import quietly


class Reader:
    """Reads the tensors that modules and optimizers hold, for any consumer of the rows (`_tell` of the classes
    below it)."""

    def __init__(self, marks):
        self.marks = marks
        self.modules = modules.Modules(self._tell)
        self.walks = graph.Walks(self._tell_kept, self._tell_cut)

    def look(self):
        """Names the tensors of every module and optimizer that is alive, and the memory that PyTorch has lent to
        cuBLAS."""
        import torch

        self.modules.look_at_new()
        for module in outermost(alive(torch.nn.Module)):
            self.modules.look_at(module)
        for optimizer in alive(torch.optim.Optimizer):
            self.marks.has_optimizer = True
            self.look_at_optimizer(optimizer)
            self.look_at_optimizer(optimizer, has_stepped=True)
        self.look_at_workspaces()

    def tell_values(self, named_values, category):
        """Names the tensors that something other than a module or an optimizer holds."""
        self._tell(named_values, category)

    @quietly
    def look_at_call(self, module, arguments=()):
        """A module that is in no other was called, if known for the first time."""
        self.modules.look_at_new()
        self.modules.look_at(module)

    @quietly
    def begin_backward(self, roots):
        """A backward pass may free the tensors of new modules, and frees those that autograd keeps."""
        self.walks.n_running += 1
        self.modules.look_at_new()
        self.walks.begin_backward(roots)

    @quietly
    def end_backward(self):
        """Names the gradients, unless a step of an optimizer will do it."""
        self.walks.n_running -= 1
        self.modules.look_at_new()
        if not self.marks.has_optimizer or self.modules.has_new_gradients:
            self.modules.look_at_gradients()

    @quietly
    def look_at_failure(self):
        """A request failed: names what autograd keeps, too."""
        self.look()
        self.walks.fail()

    def forget_workspaces(self):
        """The program is about to free them."""
        self.look_at_workspaces()
        card.forget_workspaces()


class Names(Reader):
    """Rows [device, place, address, category, name]; a tensor has one for each block it had."""

    def __init__(self, marks):
        super().__init__(marks)
        self.rows = []
        self.seen = {}  # (name, category, device) -> address of the last row

    def look_at_workspaces(self):
        """Rows for the memory that PyTorch has lent to cuBLAS. Addresses of different devices differ."""
        counts = self.marks.here()
        for address in card.workspaces(keeps_workspaces()):
            for device, count in enumerate(counts):
                self._add([device, count, address, "workspace", "workspace of cuBLAS"])

    @quietly
    def look_at_optimizer(self, optimizer, has_stepped=False):
        """Rows for an optimizer's parameters, gradients and state, before its step and after it."""
        self.modules.look_at_new()
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        called = [self.modules.name_of(p) or f"parameter {i}" for i, p in enumerate(parameters)]
        self._tell(zip(called, parameters), "parameter")
        self._tell([(name + ".grad", p.grad) for name, p in zip(called, parameters)], "gradient")
        self._tell([(name, optimizer.state.get(p)) for name, p in zip(called, parameters)], "optimizer_state")

    def add_own(self, device, address, category, name):
        """A label by the program itself; another block may have been at the address before."""
        self.rows.append([device, self.marks.here()[device], address, category, name])

    def _tell_kept(self, address, device, name):
        """A name for a block that has none. It leaves the category as it is."""
        self._add([device, self.marks.of_device(device), address, "", name])

    def _tell_cut(self):
        """PyTorch's history has no place for it."""

    def _tell(self, named_values, category):
        counts = self.marks.here()
        for name, tensor in [part for name, value in named_values for part in tensors.parts(name, value)]:
            address = tensors.address_of(tensor)
            if address != 0:
                device = tensor.device.index
                self._add([device, counts[device], address, category, name])

    def _add(self, row):
        device, _, address, category, name = row
        if category == "workspace":
            name = (name, address)  # several have one name
        if category == "" or self.seen.get((name, category, device)) != address:
            self.seen[name, category, device] = address
            self.rows.append(row)


def keeps_workspaces():
    """Whether products of cuBLASLt share cuBLAS' workspace, as from PyTorch 2.11 on. Before, each had its own
    and freed it."""
    import torch

    is_unified = os.environ.get("TORCH_CUBLASLT_UNIFIED_WORKSPACE", "1") == "1"
    return is_unified and tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 11)


def alive(kind):
    """The program's objects of a class. isinstance would wake objects that pretend to be others."""
    return [found for found in gc.get_objects() if issubclass(type(found), kind)]


def outermost(modules):
    inner = {id(child) for module in modules for child in module._modules.values()}
    return [module for module in modules if id(module) not in inner]
