"""Names the tensors that modules and optimizers hold, for the library that records the process.

As in names.py, the address is read from the tensor itself. The library is told in which place of its log
that was. So a gradient, which is a new block in each step, is named in each step.
"""
from . import card, names


class LiveNames:
    """Tells the library what the blocks at addresses are."""

    def __init__(self, marks):
        self.marks = marks
        self.live = marks.live
        self.rows = []  # of PID.json: all is in the log
        self.name_of = {}  # id of a parameter -> its name in its module
        self.n_named = -1  # parameters of the optimizers when the modules were searched
        self.optimizers = {}  # id of an optimizer -> what is known of it

    def look(self):
        """Names the parameters, buffers and gradients of every module, and what optimizers hold."""
        import torch

        for module in names.outermost(names.alive(torch.nn.Module)):
            for name, parameter in module.named_parameters():
                self.name_of.setdefault(id(parameter), name)
                self._name(parameter, "parameter", name)
                self._name(parameter.grad, "gradient", name + ".grad")
            for name, buffer in module.named_buffers():
                self._name(buffer, "buffer", name)
        for optimizer in names.alive(torch.optim.Optimizer):
            self.marks.has_optimizer = True
            self.look_at_optimizer(optimizer)
            self.look_at_optimizer(optimizer, has_stepped=True)
        self.look_at_workspaces()

    def look_at_workspaces(self):
        """Names what PyTorch has lent to cuBLAS, as far as the card says it."""
        for address in card.workspaces(names.keeps_workspaces()):
            self.live.label(address, "workspace", "workspace of cuBLAS")

    def forget_workspaces(self):
        self.look_at_workspaces()
        card.forget_workspaces()

    def look_at_optimizer(self, optimizer, has_stepped=False):
        """Names its parameters and their gradients before a step of it, and its state after that."""
        known = self.optimizers.get(id(optimizer))
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        ids = [id(p) for p in parameters]
        if known is None or known.ids != ids:
            self._search_names(parameters)
            known = self.optimizers[id(optimizer)] = _Optimizer(self, optimizer, parameters, ids)
        if has_stepped:
            known.look_at_state()
        else:
            known.look_at_gradients()

    def add_own(self, device, address, category, name):
        """What the program itself says."""
        self.live.label(address, category, name)

    def _search_names(self, parameters):
        """Names are searched again when an optimizer has parameters that have none."""
        if all(id(p) in self.name_of for p in parameters) or self.n_named == len(parameters):
            return
        import torch

        self.n_named = len(parameters)
        for module in names.outermost(names.alive(torch.nn.Module)):
            for name, parameter in module.named_parameters():
                self.name_of.setdefault(id(parameter), name)

    def _name(self, tensor, category, name):
        address = address_of(tensor)
        if address != 0:
            self.live.label(address, category, name)


class _Optimizer:
    """An optimizer's tensors, and where they were when they were named."""

    def __init__(self, owner, optimizer, parameters, ids):
        self.live = owner.live
        self.parameters = parameters
        self.ids = ids
        self.optimizer = optimizer
        self.names = [owner.name_of.get(id(p), f"parameter {i}") for i, p in enumerate(parameters)]
        self.of_parameters = self.live.texts(self.names)
        self.of_gradients = self.live.texts(name + ".grad" for name in self.names)
        self.was = []  # addresses of the parameters
        self.state_ids = None  # of all values of its state

    def look_at_gradients(self):
        """Gradients are new blocks in each step."""
        here = addresses_of(self.parameters)
        if here != self.was:
            self.was = here
            self.live.name(here, self.of_parameters, "parameter")
        self.live.name(addresses_of([p.grad for p in self.parameters]), self.of_gradients, "gradient")

    def look_at_state(self):
        """A tensor of the state stays where it is; another one may come in its place."""
        found = [self.optimizer.state.get(p) for p in self.parameters]
        states = [state if isinstance(state, dict) else {} for state in found]
        ids = [id(value) for state in states for value in state.values()]
        if ids != self.state_ids:
            self.state_ids = ids
            named = [(value, f"{name}.{key}") for name, state in zip(self.names, states)
                     for key, value in state.items()]
            here = addresses_of([value for value, _ in named])
            self.live.name(here, self.live.texts(name for _, name in named), "optimizer_state")


def addresses_of(values):
    """Where the blocks of tensors begin; 0: it is no tensor on a card, or has no memory of its own."""
    try:  # the common case first: this is done in each step
        if not any(value.storage_offset() for value in values if value is not None):
            return [0 if value is None or not value.is_cuda else value.data_ptr() for value in values]
        return [address_of(value) for value in values]
    except (AttributeError, RuntimeError, NotImplementedError):
        return [address_of(value) for value in values]


def address_of(value):
    """Where the block of a tensor begins; 0: it is no tensor on a card, or has no memory of its own."""
    try:
        if not value.is_cuda:
            return 0
        if value.storage_offset() == 0:
            return value.data_ptr()
        return value.untyped_storage().data_ptr()
    except (AttributeError, RuntimeError, NotImplementedError):
        local = getattr(value, "_local_tensor", None)  # a part of a tensor that several ranks share
        return address_of(local) if local is not None else 0
