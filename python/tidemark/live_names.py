"""Names the tensors that modules and optimizers hold, for the library that records the process.

As in names.py, the address is read from the tensor itself. The library also gets the place in its log. So a gradient,
which is a new block in each step, is named in each step.
"""
import operator
import weakref

from . import card, names, tensors
from .telling import quietly


CUT = (
    "the graph of a backward pass was too large to be read whole: some of the tensors that it keeps have no name"
)


class LiveNames(names.Reader):
    """Labels the blocks at addresses in the library's log."""

    def __init__(self, marks):
        super().__init__(marks)
        self.live = marks.live
        self.rows = []  # of PID.json: everything is in the log
        self.optimizers = {}  # id of an optimizer -> its known state

    def look_at_workspaces(self):
        """Names the memory that PyTorch has lent to cuBLAS, if the card reports it."""
        for address in card.workspaces(names.keeps_workspaces()):
            self.live.label(address, "workspace", "workspace of cuBLAS")

    @quietly
    def look_at_optimizer(self, optimizer, has_stepped=False):
        """Names an optimizer's parameters and gradients before its step, and its state after that."""
        self.modules.look_at_new()
        known = self.optimizers.get(id(optimizer))
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        if known is None or not known.is_of(optimizer, parameters, self.modules.n_changes):
            known = self.optimizers[id(optimizer)] = _Optimizer(self, optimizer, parameters)
        if has_stepped:
            known.look_at_state(optimizer, parameters)
        else:
            known.look_at_gradients(parameters)

    @quietly
    def look_at_call(self, module, arguments=()):
        """Names the module's tensors, then the tensors that were passed to it."""
        super().look_at_call(module)
        found = [part for name, value in arguments for part in tensors.parts(name, value)]
        for address, (name, _) in zip(tensors.addresses_of([tensor for _, tensor in found]), found):
            if address != 0:
                self.live.label_argument(address, name)

    def add_own(self, device, address, category, name):
        """A label by the program itself."""
        self.live.label(address, category, name)

    def _tell_kept(self, address, device, name):
        self.live.name_unnamed(address, name)

    def _tell_cut(self):
        self.live.describe("live.names", CUT)

    def _tell(self, named_values, category):
        found = [part for name, value in named_values for part in tensors.parts(name, value)]
        here = tensors.addresses_of([tensor for _, tensor in found])
        if any(here):
            self.live.name(here, self.live.texts(name for name, _ in found), category)


class _Optimizer:
    """The reported tensors of an optimizer. It keeps none of them alive."""

    def __init__(self, owner, optimizer, parameters):
        self.live = owner.live
        self.tell = owner._tell
        self.optimizer = weakref.ref(optimizer)
        self.ids = list(map(id, parameters))
        self.n_changes = owner.modules.n_changes
        self.names = [owner.modules.name_of(p) or f"parameter {i}" for i, p in enumerate(parameters)]
        self.of_parameters = self.live.texts(self.names)
        self.of_gradients = self.live.texts(name + ".grad" for name in self.names)
        self.was = []  # addresses of the parameters
        self.state_ids = []  # of the values of its state, by parameter
        self.n_states = 0  # parameters that had one then
        self.n_steps = 0

    def is_of(self, optimizer, parameters, n_changes):
        """Whether it belongs to this optimizer, with these parameters under these names."""
        return self.optimizer() is optimizer and self.n_changes == n_changes and self.ids == list(map(id, parameters))

    def look_at_gradients(self, parameters):
        """Gradients are new blocks in each step."""
        here = tensors.addresses_of(parameters)
        if here != self.was:
            self.was = here
            self.live.name(here, self.of_parameters, "parameter")
            self._tell_others(here, self.names, parameters, "parameter")
        gradients = list(map(_gradient, parameters))
        here = tensors.addresses_of(gradients)
        self.live.name(here, self.of_gradients, "gradient")
        self._tell_others(here, [name + ".grad" for name in self.names] if 0 in here else (), gradients, "gradient")

    def _tell_others(self, here, called, values, category):
        """Names the parts of tensors without memory of their own."""
        if 0 in here:
            self.tell([(name, value) for at, name, value in zip(here, called, values) if at == 0 and value is not None],
                      category)

    def look_at_state(self, optimizer, parameters):
        """A tensor of the state keeps its memory, but another tensor may replace it. An optimizer that makes new ones
        makes them for all parameters, so each step checks the first and one in eight of the others."""
        self.n_steps += 1
        some = [0, *range(self.n_steps % SHARE, len(parameters), SHARE)] if self.state_ids else []
        is_new = not some or len(optimizer.state) != self.n_states
        if is_new or any(_ids_of(optimizer, parameters[i]) != self.state_ids[i] for i in some):
            self.state_ids = [_ids_of(optimizer, p) for p in parameters]
            self.n_states = len(optimizer.state)
            self.tell([(f"{name}.{key}", value) for name, p in zip(self.names, parameters)
                       for key, value in _state_of(optimizer, p).items()], "optimizer_state")


SHARE = 8  # of an optimizer's state that is checked in a step
_gradient = operator.attrgetter("grad")


def _state_of(optimizer, parameter):
    state = optimizer.state.get(parameter)
    return state if isinstance(state, dict) else {}


def _ids_of(optimizer, parameter):
    """The ids of the values of the parameter's state; None if it has none."""
    state = optimizer.state.get(parameter)
    return list(map(id, state.values())) if isinstance(state, dict) else None
