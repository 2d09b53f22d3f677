"""Packages that a program imports and that no size or time of its training depends on, such as those that download data."""
import importlib.machinery
import sys
import types


class Unused(types.ModuleType):
    """Has every name: each is an empty class."""
    __path__: list = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (), {})
        setattr(self, name, made)
        return made


def pretend(*names: str) -> None:
    """Puts modules of these names in place of the packages."""
    for name in names:
        module = Unused(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
        sys.modules[name] = module
        parent, _, leaf = name.rpartition(".")
        if parent in sys.modules:
            setattr(sys.modules[parent], leaf, module)
