"""Names the tensors that modules and optimizers hold, for the library that records the process.

As in names.py, the address is read from the tensor itself. The library is told in which place of its log
that was. So a gradient, which is a new block in each step, is named in each step.
"""
import operator
import weakref

from . import card, names


class LiveNames:
    """Tells the library what the blocks at addresses are."""

    def __init__(self, marks):
        self.marks = marks
        self.live = marks.live
        self.rows = []  # of PID.json: all is in the log
        self.name_of = _NamesOf()  # parameters -> their names in their modules
        self.n_named = -1  # parameters of the optimizers when the modules were searched
        self.optimizers = {}  # id of an optimizer -> what is known of it

    def look(self):
        """Names the parameters, buffers and gradients of every module, and what optimizers hold."""
        import torch

        for module in names.outermost(names.alive(torch.nn.Module)):
            for name, parameter in names.named(lambda: module.named_parameters()):
                self.name_of.add(parameter, name)
                self._name(parameter, "parameter", name)
                self._name(parameter.grad, "gradient", name + ".grad")
            for name, buffer in names.named(lambda: module.named_buffers()):
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
        if known is None or not known.is_of(optimizer, parameters):
            self._search_names(parameters)
            known = self.optimizers[id(optimizer)] = _Optimizer(self, optimizer, parameters)
        if has_stepped:
            known.look_at_state(optimizer, parameters)
        else:
            known.look_at_gradients(parameters)

    def add_own(self, device, address, category, name):
        """What the program itself says."""
        self.live.label(address, category, name)

    def _search_names(self, parameters):
        """Names are searched again when an optimizer has parameters that have none."""
        if all(map(self.name_of.get, parameters)) or self.n_named == len(parameters):
            return
        import torch

        self.n_named = len(parameters)
        for module in names.outermost(names.alive(torch.nn.Module)):
            for name, parameter in names.named(lambda: module.named_parameters()):
                self.name_of.add(parameter, name)

    def _name(self, tensor, category, name):
        address = address_of(tensor)
        if address != 0:
            self.live.label(address, category, name)


class _NamesOf:
    """Names of tensors, which it does not keep alive: another one may get the id of one that is gone."""

    def __init__(self):
        self.entries = {}  # id of a tensor -> a weak reference to it, and its name

    def add(self, tensor, name):
        """The first name of a tensor counts."""
        if self.get(tensor) is None:
            self.entries[id(tensor)] = weakref.ref(tensor), name

    def get(self, tensor):
        reference, name = self.entries.get(id(tensor), (None, None))
        return name if reference is not None and reference() is tensor else None


class _Optimizer:
    """What was told of an optimizer's tensors. It keeps none of them alive."""

    def __init__(self, owner, optimizer, parameters):
        self.live = owner.live
        self.optimizer = weakref.ref(optimizer)
        self.parameters = [weakref.ref(p) for p in parameters]
        self.names = [owner.name_of.get(p) or f"parameter {i}" for i, p in enumerate(parameters)]
        self.of_parameters = self.live.texts(self.names)
        self.of_gradients = self.live.texts(name + ".grad" for name in self.names)
        self.was = []  # addresses of the parameters
        self.state_ids = []  # of the values of its state, by parameter
        self.n_states = 0  # parameters that had one then
        self.n_steps = 0

    def is_of(self, optimizer, parameters):
        """Whether it is about this optimizer, with these parameters."""
        known = [reference() for reference in self.parameters]
        return self.optimizer() is optimizer and len(known) == len(parameters) and all(map(operator.is_, known, parameters))

    def look_at_gradients(self, parameters):
        """Gradients are new blocks in each step."""
        here = addresses_of(parameters)
        if here != self.was:
            self.was = here
            self.live.name(here, self.of_parameters, "parameter")
        self.live.name(addresses_of(list(map(_gradient, parameters))), self.of_gradients, "gradient")

    def look_at_state(self, optimizer, parameters):
        """A tensor of the state stays where it is; another one may come in its place. An optimizer that makes new ones
        makes them for all parameters: so in each step the first is looked at, and one in eight of the others."""
        self.n_steps += 1
        some = [0, *range(self.n_steps % SHARE, len(parameters), SHARE)] if self.state_ids else []
        is_new = not some or len(optimizer.state) != self.n_states
        if is_new or any(_ids_of(optimizer, parameters[i]) != self.state_ids[i] for i in some):
            self.state_ids = [_ids_of(optimizer, p) for p in parameters]
            self.n_states = len(optimizer.state)
            found = [optimizer.state.get(p) for p in parameters]
            states = [state if isinstance(state, dict) else {} for state in found]
            named = [(value, f"{name}.{key}") for name, state in zip(self.names, states)
                     for key, value in state.items()]
            here = addresses_of([value for value, _ in named])
            self.live.name(here, self.live.texts(name for _, name in named), "optimizer_state")


SHARE = 8  # of an optimizer's state that is looked at in a step


def _ids_of(optimizer, parameter):
    """Of the values of the parameter's state; None: it has none."""
    state = optimizer.state.get(parameter)
    return list(map(id, state.values())) if isinstance(state, dict) else None


_is_cuda = operator.attrgetter("is_cuda")
_gradient = operator.attrgetter("grad")


def addresses_of(values):
    """Where the blocks of tensors begin; 0: it is no tensor on a card, or has no memory of its own."""
    import torch

    try:  # the common case first, without a loop in Python: this is done in each step
        if not any(map(torch.Tensor.storage_offset, values)) and all(map(_is_cuda, values)):
            return list(map(torch.Tensor.data_ptr, values))
    except (AttributeError, RuntimeError, TypeError, NotImplementedError):
        pass  # there is something else among them, such as None
    return [0 if value is None else address_of(value) for value in values]


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
