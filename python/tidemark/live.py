"""The interface to the preloaded library that records the process (programs/live/exports.h).

The library listens to PyTorch's allocator itself. From here it gets the paths of modules, steps and phases, the labels
of tensors, and how the program ended.
"""
import array
import ctypes
import functools
import inspect
import sys
import weakref

from . import settings, telling

NAME_ONLY, BY_RULE, NAMED = 0, 1, 2  # certainty of a category; named: it was read from the tensor itself
ATTACHED, OTHER_ALLOCATOR = 1, 2  # tide_attach_state (programs/live/attach.h)


class Live:
    """The library's functions, and the names of modules passed to it."""

    def __init__(self, library):
        text, address = ctypes.c_char_p, ctypes.c_uint64
        self.library = library
        self.attach = _typed(library.tidemark_live_attach, [], ctypes.c_int)
        self._mark = _typed(library.tidemark_live_mark, [text], ctypes.c_int)
        self._label = _typed(library.tidemark_live_label, [address, text, text, ctypes.c_int], None)
        self._text = _typed(library.tidemark_live_text, [text], ctypes.c_uint32)
        arrays = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32]
        self._name = _typed(library.tidemark_live_name, arrays, None)
        self._describe = _typed(library.tidemark_live_describe, [text, text], None)
        self._line = _typed(library.tidemark_live_line, [ctypes.c_size_t, ctypes.POINTER(ctypes.c_int)], text)
        self._name_module = _typed(library.tidemark_live_module, [ctypes.c_void_p, text], None)
        self._begin_scope = _typed(library.tidemark_live_scope_begin, [text], ctypes.c_uint32)
        self.end_scope = _typed(library.tidemark_live_scope_end, [ctypes.c_uint32], None)
        self._is_called = _typed(library.tidemark_live_is_called, [ctypes.c_void_p], ctypes.c_int)
        self.close = _typed(library.tidemark_live_finish, [], None)
        self.named_all = _typed(library.tidemark_live_named, [], None)
        self.n_rows = _typed(library.tidemark_live_n_rows, [], ctypes.c_uint64)
        self.named = {}  # id of a module -> weak reference to it
        self.paths = {}  # id of a module -> its path in the recording
        self.resolver = None  # kept alive for the library

    def mark(self, name):
        self._mark(_bytes(name))

    def begin_scope(self, name):
        """Opens a scope in this thread, and returns its number for end_scope()."""
        return self._begin_scope(_bytes(name))

    def label(self, address, category, name):
        self._label(address, _bytes(category), _bytes(name), NAMED)

    def name_unnamed(self, address, name):
        """Names a block that has no name. It leaves the category as it is."""
        self._label(address, b"", _bytes(name), NAME_ONLY)

    def label_argument(self, address, name):
        """Labels a tensor that was passed to a module: if the host has filled it, it is an input."""
        self._label(address, b"input", _bytes(name), BY_RULE)

    def texts(self, texts):
        """The numbers of texts, for name()."""
        return array.array("I", [self._text(_bytes(text)) for text in texts])

    def name(self, addresses, texts, category):
        """Names the blocks at the addresses, one for each of texts(); address 0 is skipped."""
        at = array.array("Q", addresses)
        self._name(at.buffer_info()[0], texts.buffer_info()[0], len(at), self._text(_bytes(category)))

    def describe(self, key, value):
        self._describe(_bytes(key), _bytes(value))

    def line(self, number):
        """The file and the line of a frame in the recorded stacks; None if there are fewer."""
        line = ctypes.c_int(0)
        file = self._line(number, line)
        return None if file is None else (file.decode(errors="surrogateescape"), line.value)

    def watch_modules(self, torch, look_at_call):
        """Lets the library request the path of a module that it does not know.

        look_at_call: called with the outermost module of the current calls, and the arguments of its call, by name.
        """
        call = getattr(torch.nn.Module, "_wrapped_call_impl", None)
        if call is None:
            return

        @ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
        def resolve(module):
            try:  # an exception would surface in the middle of the program
                if self._is_called(module):  # else it may no longer exist, and must not be touched
                    outermost = ctypes.cast(module, ctypes.py_object).value
                    self.name_modules(outermost)
                    look_at_call(outermost, arguments_of(outermost, call.__code__, sys._getframe()))
            except Exception as error:
                telling.tell_nameless(error)
            return 0

        self.resolver = resolve
        self.library.tidemark_live_module_code(ctypes.c_void_p(id(call.__code__)))
        self.library.tidemark_live_resolver(resolve)

    def watch_pools(self, torch):
        """Reports pools that do not split their segments, because no event contains that."""
        pool = getattr(torch.cuda, "MemPool", None)
        make = getattr(pool, "__init__", None)
        try:
            place = list(inspect.signature(make).parameters).index("no_split") - 1  # without self
        except (TypeError, ValueError):
            return  # this PyTorch has no such pools

        @functools.wraps(make)
        def init(made, *arguments, **named):
            make(made, *arguments, **named)
            if named.get("no_split") or (len(arguments) > place and arguments[place]):
                self.describe("pool.{}.{}.no_split".format(*made.id), 1)

        pool.__init__ = init

    def name_modules(self, outermost):
        for path, module in outermost.named_modules():
            key = id(module)
            if self.named.get(key, _nothing)() is not module:
                self.named[key] = weakref.ref(module, self._forget(key))
                self.paths[key] = path or type(module).__name__
                self._name_module(key, _bytes(self.paths[key]))

    def path_of(self, module):
        """The path of a module in the recording; None if it was not called yet."""
        return self.paths.get(id(module)) if self.named.get(id(module), _nothing)() is module else None

    def _forget(self, key):
        def forget(reference):
            if self.named.get(key) is reference:
                del self.named[key], self.paths[key]
                self._name_module(key, None)

        return forget


def arguments_of(module, code, frame):
    """Returns the pairs of a name and an argument of the module call that contains a frame; `code` is the code of that
    call."""
    found = None
    while frame is not None:
        if frame.f_code is code and frame.f_locals.get("self") is module:
            found = frame.f_locals
        frame = frame.f_back
    if found is None:
        return []
    names = getattr(getattr(module.forward, "__code__", None), "co_varnames", ())[1:]
    given = found.get("args", ())
    return [*zip([*names, *map(str, range(len(names), len(given)))], given), *found.get("kwargs", {}).items()]


def _nothing():
    return None


def _bytes(text):
    """Names of a program may be any text; characters that are not Unicode are shown by number."""
    return str(text).encode(errors="backslashreplace")


def _typed(function, arguments, result):
    function.argtypes, function.restype = arguments, result
    return function


def find():
    """The library of this process; None if it is not preloaded, or was not asked to record."""
    library = ctypes.CDLL(None)
    is_wanted = settings.get("TIDEMARK_LIVE") or settings.get("TIDEMARK_BLACK_BOX")
    if not is_wanted or not hasattr(library, "tidemark_live_attach"):
        return None
    return Live(library)
