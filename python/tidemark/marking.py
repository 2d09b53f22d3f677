"""The functions that a program calls: steps, scopes, categories and snapshots.

They call the recorder of the process: the functions that a preloaded library exports, or else the
recording by PyTorch's history (recording.py). Whether one exists is known when this module is imported,
because libraries are preloaded when the process starts.
"""
import os
import sys

from . import settings

NAMED = 2  # certainty of a category: it was named (programs/live/record.h)
MAX_CATEGORIES = 64  # of the program's own; a snapshot has room for more, but not for any number
MAX_CATEGORY_BYTES = 127

_categories = set()
_told = set()


class _Live:
    """The functions of the preloaded library."""

    def __init__(self, library, ctypes):
        text, number = ctypes.c_char_p, ctypes.c_uint32
        self.mark = self._function(library.tidemark_live_mark, [text], ctypes.c_int)
        self.begin = self._function(library.tidemark_live_scope_begin, [text], number)
        self.end = self._function(library.tidemark_live_scope_end, [number], None)
        self.label = self._function(
            library.tidemark_live_label, [ctypes.c_uint64, text, text, ctypes.c_int], None
        )
        self.snapshot = self._function(library.tidemark_live_snapshot, [text], ctypes.c_int)

    @staticmethod
    def _function(function, arguments, result):
        function.argtypes, function.restype = arguments, result
        return function


def _find_live():
    """None if the library is not preloaded, or lacks some of the functions."""
    try:
        import ctypes

        return _Live(ctypes.CDLL(None), ctypes)
    except Exception:  # without it, the program is not recorded
        return None


_live = _find_live()
_is_recorded = _live is not None or settings.get("TIDEMARK_RUN_FOLDER") is not None


def _history():
    """The recording by PyTorch's history; None if there is none, or it has not begun."""
    module = sys.modules.get("_tidemark_recorder.recording")
    return module if module is not None and module.is_on() else None


def _is_compiling():
    """Whether torch.compile is tracing the program: it must not meet functions that it cannot
    compile."""
    compiler = getattr(sys.modules.get("torch"), "compiler", None)
    is_compiling = getattr(compiler, "is_compiling", None)
    return is_compiling is not None and is_compiling()


def _tell(function, text):
    """Prints a failure on stderr, once for each function."""
    if function not in _told:
        _told.add(function)
        try:
            print(f"tidemark: {function}(): {text}", file=sys.stderr, flush=True)
        except Exception:
            pass  # stderr is closed


def _do(function, act, *arguments):
    """Calls act; prints an exception instead of raising it."""
    try:
        return act(*arguments)
    except Exception as error:
        _tell(function, f"{type(error).__name__}: {error}")
        return None


def step():
    """Ends a step of the program; the next one begins.

    Call it at the end of each step, from one place. From then on, the steps of the recording are those
    of the program, no longer the calls of the first optimizer. Under torch.compile, call it outside
    compiled functions: within them it does nothing.
    """
    if _is_recorded and not _is_compiling():
        _do("step", _step)


def _step():
    if _history() is not None:
        _history().mark_own_step()
    elif _live is not None:
        _live.mark(b"own step")


class scope:
    """Names a part of the program: `with tidemark.scope("attention"):`.

    Allocations within it belong to the scope. Scopes nest; each thread has its own. The recording has a
    scope only through its allocations: a scope without any does not appear.
    """

    def __init__(self, name):
        self.name = name
        self.open = []  # numbers of the library; several if the object is entered again

    def __enter__(self):
        if _live is not None and not _is_compiling():
            self.open.append(_do("scope", _begin_scope, self.name))
        return self

    def __exit__(self, *_):
        if self.open and not _is_compiling():
            number = self.open.pop()
            if number is not None:
                _do("scope", _live.end, number)
        return False


def _begin_scope(name):
    return _live.begin(str(name).encode())


def category(tensor, category, name=None):
    """Sets the category of a tensor's memory: `tidemark.category(cache, "kv cache")`.

    tensor: a PyTorch tensor on a GPU, an array with __cuda_array_interface__ such as CuPy's, or lists,
    tuples and dictionaries of those; values that are not on a GPU are ignored. category: one of
    tidemark's categories ("activation", "optimizer_state") or one of the program's own, at most 64.
    name: the name of the block, or the prefix of the names of several blocks.

    It applies to the memory that the tensor has now, until that is freed. Views share it.
    """
    if _is_recorded and not _is_compiling():
        _do("category", _categorize, tensor, category, name)


def _categorize(tensor, category, name):
    word = str(category).encode()[:MAX_CATEGORY_BYTES].decode(errors="ignore")
    if word not in _categories and len(_categories) >= MAX_CATEGORIES:
        _tell("category", f"{word!r} is left out: a program may have {MAX_CATEGORIES} categories")
        return
    _categories.add(word)
    history = _history()
    for address, device, own_name in _blocks(tensor, None if name is None else str(name)):
        if history is not None and history.is_by_history():
            if device is not None:
                history.name_own_block(device, address, word, own_name or "")
        elif _live is not None:
            encoded = None if own_name is None else own_name.encode()
            _live.label(address, word.encode(), encoded, NAMED)


def _blocks(value, name):
    """Address, number of the device (None: unknown) and name of each block of memory."""
    if hasattr(value, "untyped_storage"):
        if value.is_cuda:
            yield value.untyped_storage().data_ptr(), value.device.index, name
    elif isinstance(value, (list, tuple, dict)):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in inner:
            yield from _blocks(item, None if name is None else f"{name}.{key}")
    elif hasattr(value, "__cuda_array_interface__"):
        yield value.__cuda_array_interface__["data"][0], None, name
    elif value is not None and not isinstance(value, (int, float, str)):
        raise TypeError(f"{type(value).__name__} is no tensor, and no list or dictionary of tensors")


def snapshot(path):
    """Writes the recording so far to a file for `tidemark summary` and `tidemark view`.

    Returns whether it was written: False if the process is not recorded, or is recorded by PyTorch's
    history, which is read when the program ends.
    """
    if not _is_recorded or _is_compiling():
        return False
    return _do("snapshot", _snapshot, path) is True


def _snapshot(path):
    if _live is None or (_history() is not None and _history().is_by_history()):
        _tell("snapshot", "this recording is read when the program ends; no file is written before")
        return False
    if _history() is not None:
        _history().report_lines()
    if _live.snapshot(os.fsencode(path)) != 0:
        _tell("snapshot", f"{os.fspath(path)} could not be written")
        return False
    return True
