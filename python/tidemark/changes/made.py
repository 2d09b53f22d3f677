"""The moment when an optimizer is made: its models are complete, and their structure can be changed."""
import sys
import weakref

from . import models, observe, places, table


class Made:
    """An optimizer, the modules that it trains, and where the program makes both."""

    def __init__(self, now, optimizer, parameters):
        self.optimizer = weakref.ref(optimizer)
        self.kind = type(optimizer).__name__
        self.parameters = parameters  # of the call, while the optimizer is being made
        frame = places.own_frame()
        self.place = places.of_frame(frame)
        roots = models.roots_of(now.seen, flat(parameters))
        self.roots = [weakref.ref(root) for root in roots]
        self.names = {id(root): frame and places.name_of(frame, root) for root in roots}
        self.holders = holders()
        self.defaults = {}

    def models(self):
        return [root for root in (reference() for reference in self.roots) if root is not None]

    def name_of(self, root):
        return self.names.get(id(root)) or "model"

    def optimizer_name(self):
        return places.assigned(self.place) if self.place is not None else None

    def __str__(self):
        return f"{self.kind} {self.place or '?'}"


def holders():
    """The libraries whose loop the optimizer is made in, by name."""
    found = set()
    at = sys._getframe()
    while at is not None:
        file = at.f_code.co_filename
        for part, name in (("/transformers/trainer", "Trainer"), ("/lightning/", "Lightning"),
                           ("/pytorch_lightning/", "Lightning"), ("/deepspeed/", "DeepSpeed")):
            if part in file:
                found.add(name)
        at = at.f_back
    state = sys.modules.get("accelerate.state")
    if state is not None and state.AcceleratorState._shared_state and not found:
        found.add("Accelerate")
    return found


def flat(parameters):
    """The parameters of a list of parameters, of pairs with names, or of groups."""
    found = []
    for item in parameters:
        if isinstance(item, dict):
            found += flat(item["params"])
        else:
            found.append(item[1] if isinstance(item, tuple) else item)
    return found


def listed(parameters):
    """The parameters of an optimizer's constructor, where generators are lists."""
    import torch

    if isinstance(parameters, torch.Tensor):
        return parameters  # PyTorch raises an error
    items = list(parameters)
    for i, item in enumerate(items):
        if isinstance(item, dict):
            inner = item["params"]
            if not isinstance(inner, list):  # otherwise the program's own group stays that of the optimizer
                items[i] = dict(item, params=[inner] if isinstance(inner, torch.Tensor) else list(inner))
    return items


def watch(torch, now):
    from torch.optim import optimizer as optimizers

    def make(base):
        def init(self, params, defaults):
            if now.is_inner or isinstance(params, torch.Tensor):
                return base(self, params, defaults)
            items = listed(params)
            made = Made(now, self, items)
            made.defaults = dict(defaults)
            new = [root for root in made.models() if not any(root in known.models() for known in now.seen.optimizers)]
            for root in new:
                observe.watch_root(torch, now.seen, root)
            now.seen.optimizers.append(made)
            table.apply(now, made, new, is_made=False)
            try:
                base(self, made.parameters, defaults)
            except BaseException:  # the program may make another one
                now.seen.optimizers.remove(made)
                raise
            finally:
                made.parameters = None
            made.new = new
            if not now.is_swapped:
                table.apply(now, made, new, is_made=True)

        return init

    observe.replace(optimizers.Optimizer, "__init__", make)
    _watch_steps(now, optimizers)


def made_by(now, kind, optimizer, arguments, named):
    """Makes an optimizer whose place another one will take (states.py)."""
    now.is_swapped = True
    try:
        kind.__init__(optimizer, *arguments, **named)
    finally:
        now.is_swapped = False
    return now.seen.optimizers[-1]


def _watch_steps(now, optimizers):

    def before(optimizer, arguments, named):
        closure = named.get("closure", arguments[1] if len(arguments) > 1 else None)  # the first is the optimizer
        if callable(closure):
            now.seen.closes = now.seen.closes or places.here() or "a library"

    def after(optimizer, arguments, named):
        known = now.seen.optimizers
        if known and known[0].optimizer() is optimizer:
            step_ended(now)

    optimizers.register_optimizer_step_pre_hook(before)
    optimizers.register_optimizer_step_post_hook(after)


def step_ended(now):
    """The first optimizer has stepped."""
    from . import facts

    now.seen.n_steps += 1
    if now.seen.n_steps <= 2:
        facts.write(now)
