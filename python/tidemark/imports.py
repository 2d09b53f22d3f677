"""Changes modules that the program has already imported, or imports later."""
import importlib.abc
import importlib.machinery
import sys


class _WhenImported(importlib.abc.MetaPathFinder):
    """Calls `then` with each named module once it has been executed."""

    def __init__(self, then):
        self.then = then  # name -> function
        self.is_asking = False

    def find_spec(self, name, path=None, target=None):
        if name not in self.then or self.is_asking:
            return None
        self.is_asking = True
        try:
            spec = importlib.machinery.PathFinder.find_spec(name, path)
        finally:
            self.is_asking = False
        if spec is None or spec.loader is None:
            return None
        execute, then = spec.loader.exec_module, self.then.pop(name)

        def exec_module(module):
            execute(module)
            then(module)

        spec.loader.exec_module = exec_module
        return spec


def when_imported(then):
    """Calls each function with its module, now or when the module is imported.

    then: name of a module -> function of the module.
    """
    then = dict(then)
    for name in list(then):
        if name in sys.modules:
            then.pop(name)(sys.modules[name])
    if then:
        sys.meta_path.insert(0, _WhenImported(then))
