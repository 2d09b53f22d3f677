"""Starts the recording if no library is preloaded (`tidemark run --method pythonpath` or history), and the
changes of `tidemark plan` (--apply).

Python imports this module when it starts, because its folder comes first in PYTHONPATH. It waits for
torch.cuda or torch, and then runs the sitecustomize that Python would otherwise have found. Interpreters started
with -E, -I or -S ignore PYTHONPATH and are not recorded in this way.
"""
import os
import sys
from importlib.abc import Loader, MetaPathFinder

_HERE = os.path.dirname(os.path.abspath(__file__))


def _load_library():
    """With --method pythonpath: the recording library, which Python opens itself."""
    path = os.environ.get("TIDEMARK_LIVE_LIBRARY")
    if path:
        import ctypes

        ctypes.CDLL(path, ctypes.RTLD_GLOBAL)


def _package():
    """Like programs/wire/python_package.c: under a name that no other module has."""
    import importlib.util

    package = sys.modules.get("_tidemark_recorder")
    if package is None:
        folder = os.path.dirname(_HERE)
        spec = importlib.util.spec_from_file_location(
            "_tidemark_recorder", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
        )
        package = importlib.util.module_from_spec(spec)
        sys.modules["_tidemark_recorder"] = package
        spec.loader.exec_module(package)
    return package


def _start():
    _package()._start_when_ready()


def _change():
    """With changes of `tidemark plan`: before the program's own modules import functions of torch."""
    _package()._start_changes(sys.modules["torch"])


def _watch_trackers():
    """With --log-to: notes which runs of trackers the program makes."""
    import importlib

    importlib.import_module(_package().__name__ + ".trackers.seen").start()


class _After(Loader):
    """Executes a module, and then a function of the recorder."""

    def __init__(self, inner, then):
        self.inner = inner
        self.then = then

    def create_module(self, spec):
        return self.inner.create_module(spec)

    def exec_module(self, module):
        self.inner.exec_module(module)
        module.__loader__ = module.__spec__.loader = self.inner
        _guard(self.then)

    def __getattr__(self, name):
        return getattr(self.inner, name)


class _WaitFor(MetaPathFinder):
    """Waits for a module."""

    def __init__(self, name, then):
        self.name = name
        self.then = then

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        from importlib.util import find_spec

        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _After(spec.loader, self.then)
        return spec


def _guard(act, what="the program is not recorded"):
    """Keeps failures here from the program."""
    try:
        act()
    except Exception as error:
        print(f"tidemark: {what}: {type(error).__name__}: {error}", file=sys.stderr)


def _run_the_other():
    """The user's own sitecustomize, if there is one."""
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or ".") != _HERE]
    me = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
        sys.modules["sitecustomize"] = me  # the current import looks for it


if os.environ.get("TIDEMARK_RUN_FOLDER"):
    _guard(_load_library)
    if "libtidemark_live.so" not in os.environ.get("LD_PRELOAD", ""):  # which starts the recording itself
        sys.meta_path.insert(0, _WaitFor("torch.cuda", _start))
    if os.environ.get("TIDEMARK_CHANGES"):
        sys.meta_path.insert(0, _WaitFor("torch", _change))
    if os.environ.get("TIDEMARK_TRACKERS"):
        _guard(_watch_trackers, "the runs of its trackers stay unknown")
_run_the_other()
