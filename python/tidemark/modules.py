"""Reads the names of the tensors that modules hold, while the modules are alive.

A model may be a local variable that no longer exists at the program's end, and a frozen model or a copy for an
average may never be called. So modules are read at their first call, when they have been moved (`.to()`,
`.cuda()`), copied or loaded, and before and after a backward pass if modules or parameters were made on a card
since. Each read gives the tensors that the modules hold at that moment.

Tensors are not kept alive, and have no weak references to them: PyTorch refuses to swap such tensors.
"""
import sys
import threading
import weakref

from .telling import named, quietly


class Modules:
    """The known modules of the program."""

    def __init__(self, tell):
        self.tell = tell  # takes tensors, their names, and their category
        self.roots = {}  # id of a module that is in no other -> weak reference to it
        self.paths = {}  # id of a module -> weak reference to it, and its path
        self.new = {}  # id of a module that was made or changed since the last look -> weak reference to it
        self.owners = {}  # id of a parameter -> weak reference to its module, its key there, its name
        self.n_changes = 0  # of the names of parameters, so far
        self.has_new_gradients = True  # of modules whose gradients were not read yet

    def note(self, module):
        """A module was made or changed: it is read at the next look."""
        self.new[id(module)] = weakref.ref(module)

    def look_at_new(self):
        """Reads the modules that were made or changed. A module comes after those in it."""
        if not self.new:
            return
        noted = [reference() for reference in list(self.new.values())]
        self.new.clear()
        seen = set()
        for module in reversed(noted):
            if module is not None and id(module) not in seen:
                seen.update(id(inner) for _, inner in self.look_at(module))

    def look_at(self, module):
        """Reads a module and all modules in it, and returns these, each with its path."""
        self.has_new_gradients = True
        prefix = self.path_of(module)
        found = [((prefix + path).rstrip("."), inner) for path, inner in modules_in(module)]
        for path, inner in found:
            self._know(path, inner)
        if not prefix:
            self.roots[id(module)] = weakref.ref(module, self._forget(self.roots, id(module)))
        self._tell(found)
        return found

    @quietly
    def look_at_moved(self, module):
        """Reads a module that was just moved."""
        self.look_at(module)

    def path_of(self, module):
        """Returns the path of a module within the module in which it was read, with a dot; "" if it is
        outermost."""
        reference, path = self.paths.get(id(module), (None, ""))
        return path + "." if path and reference() is module else ""

    def name_of(self, parameter):
        """Returns the name of a parameter that a module still holds; None if it is unknown."""
        reference, key, name = self.owners.get(id(parameter), (None, None, None))
        module = reference() if reference is not None else None
        return name if module is not None and module._parameters.get(key) is parameter else None

    def look_at_gradients(self):
        """Reads the gradients of all parameters that are known."""
        self.has_new_gradients = False
        for reference in list(self.roots.values()):
            module = reference()
            if module is not None:
                self._tell_gradients([(self.name_of(p), p) for _, inner in modules_in(module)
                                      for p in inner._parameters.values() if self.name_of(p)])

    def _know(self, path, module):
        key = id(module)
        if path:
            self.roots.pop(key, None)
        if self.paths.get(key, (_nothing, ""))[0]() is not module:
            self.paths[key] = weakref.ref(module, self._forget(self.paths, key)), path
        elif path:
            self.paths[key] = self.paths[key][0], path

    def _forget(self, table, key):
        def forget(reference):
            known = table.get(key)
            if known is reference or (isinstance(known, tuple) and known[0] is reference):
                del table[key]

        return forget

    def _tell(self, found):
        parameters, buffers, seen = [], [], set()
        for path, module in found:
            reference = self.paths[id(module)][0]
            for key, value in module._parameters.items():
                if value is not None and id(value) not in seen:
                    seen.add(id(value))
                    name = _plain(f"{path}.{key}" if path else key)
                    self.n_changes += self.name_of(value) != name
                    self.owners[id(value)] = reference, key, name
                    parameters.append((name, value))
            for key, value in module._buffers.items():
                if value is not None and id(value) not in seen:
                    seen.add(id(value))
                    buffers.append((_plain(f"{path}.{key}" if path else key), value))
        self.tell(parameters, "parameter")
        self.tell(buffers, "buffer")
        self._tell_gradients(parameters)

    def _tell_gradients(self, parameters):
        self.tell([(name + ".grad", value.grad) for name, value in parameters
                   if value.is_leaf and value.grad is not None], "gradient")


def _nothing():
    return None


def modules_in(module):
    """Returns the pairs of path and module for the modules in a module, itself with the path ""."""
    return named(lambda: module.named_modules()) or [("", module)]


_WRAPPERS = ("_fsdp_wrapped_module.", "_checkpoint_wrapped_module.")


def _plain(name):
    """PyTorch omits its wrapper modules from names."""
    for wrapper in _WRAPPERS:
        name = name.replace(wrapper, "")
    return name


class _Moves:
    """Replaces Module._apply, which moves modules, and sees the outermost module that is moved.

    Only the call of the outermost module passes through our function; those within it do not.
    """

    def __init__(self, function, then):
        self.function = function
        self.then = then
        self.inside = threading.local()

    def __get__(self, module, kind=None):
        bound = self.function.__get__(module, kind)
        if module is None or getattr(self.inside, "is_moving", False):
            return bound

        def _apply(*arguments, **named):
            if getattr(self.inside, "is_moving", False):
                return bound(*arguments, **named)
            self.inside.is_moving = True
            try:
                return bound(*arguments, **named)
            finally:
                self.inside.is_moving = False
                self.then(module)

        return _apply


def watch(modules):
    """Notes modules that are made, copied, loaded or changed, and reads those that are moved."""
    import torch
    from torch.nn.modules import module as module_file

    kind = torch.nn.Module
    _note_moving(modules, kind._apply.__code__)
    kind._apply = _Moves(kind._apply, modules.look_at_moved)
    _watch_registrations(modules.note, torch, module_file)
    set_state = kind.__setstate__

    def __setstate__(module, state):
        set_state(module, state)
        modules.note(module)

    kind.__setstate__ = __setstate__


def _note_moving(modules, code):
    """Notes a module that is being moved, because the program's first CUDA call may come from it."""
    moving = None
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code is code:
            moving = frame.f_locals.get("self")
        frame = frame.f_back
    if moving is not None:
        modules.note(moving)


def _watch_registrations(then, torch, module_file):
    def has_tensor(module, name, value):
        if isinstance(value, torch.Tensor) and value.is_cuda:
            then(module)

    def has_module(module, name, value):
        then(module)

    for hook, added in (("parameter", has_tensor), ("buffer", has_tensor), ("module", has_module)):
        register = getattr(module_file, f"register_module_{hook}_registration_hook", None)
        if register is not None:  # as of PyTorch 2.0
            register(added)
