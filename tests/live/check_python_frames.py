"""The walker of programs/live/ against sys._getframe, in a real interpreter: check_python_frames.py PROBE.so

Every stack is compared frame by frame: the code object, the file, the qualified name (3.10 has only the plain one), the
line, and the first argument. Exits with 0 if all are identical, with 77 if the version is refused and --may-refuse is given.
"""

import asyncio
import contextlib
import ctypes
import functools
import gc
import re
import signal
import sys
import threading
import time
import weakref

MAX = 1024
AT_LEAST = 75


class Frame(ctypes.Structure):
    _fields_ = [("code", ctypes.c_void_p), ("at", ctypes.c_void_p), ("local0", ctypes.c_void_p)]


class Identity(ctypes.Structure):
    _fields_ = [("file", ctypes.c_void_p), ("name", ctypes.c_void_p), ("first_line", ctypes.c_uint64)]


def opened(loader, path):
    lib = loader(path)
    lib.probe_begin.restype = ctypes.c_char_p  # None: it can be read
    lib.probe_walk.restype = ctypes.c_size_t
    lib.probe_walk.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    lib.probe_top.restype = ctypes.c_void_p
    lib.probe_describe.argtypes = [ctypes.c_void_p] + [ctypes.c_char_p, ctypes.c_size_t] * 2
    lib.probe_identify.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    lib.probe_n_refused.restype = ctypes.c_uint64
    lib.probe_walk_elsewhere.restype = ctypes.c_size_t
    lib.probe_time_walks.restype = ctypes.c_double
    lib.probe_time_walks.argtypes = [ctypes.c_size_t]
    return lib


free = opened(ctypes.CDLL, sys.argv[1])  # gives the interpreter's lock back during a call
held = opened(ctypes.PyDLL, sys.argv[1])  # keeps it

lock = threading.RLock()  # the garbage collector calls back anywhere
n_identical = n_different = n_frames = n_arguments = 0
deepest = 0


def as_shown(text):
    """The walker's form of a name."""
    return "".join("\ufffd" if c == "\0" or "\ud800" <= c < "\ue000" else c for c in text)


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def first_argument(frame):
    """The address of the first argument, or None if Python keeps something else or does not show it."""
    code = frame.f_code
    if code.co_argcount == 0:
        return 0
    name = code.co_varnames[0]
    if name.startswith(".") or name in code.co_cellvars or not code.co_flags & 1:
        return None
    return id(frame.f_locals[name]) if name in frame.f_locals else 0


def expected(frame, line):
    stack = []
    while frame is not None:
        code = frame.f_code
        shown = (id(code), as_shown(code.co_filename), as_shown(name_of(code)), (line or frame.f_lineno) or 0)
        stack.append((shown, first_argument(frame)))
        frame, line = frame.f_back, None
    return stack


def walked(lib, frames, n):
    stack = []
    for i in range(n):
        file, function = ctypes.create_string_buffer(500), ctypes.create_string_buffer(500)
        line = lib.probe_describe(ctypes.byref(frames, i * ctypes.sizeof(Frame)), file, 500, function, 500)
        identity = Identity()
        lib.probe_identify(frames[i].code, ctypes.byref(identity))
        code = ctypes.cast(frames[i].code, ctypes.py_object).value
        known = (id(code.co_filename), code.co_firstlineno) == (identity.file, identity.first_line)
        shown = (frames[i].code, file.value.decode(), function.value.decode(), line)
        stack.append((shown if known else None, frames[i].local0 or 0))
    return stack


def check(value=None):
    """Compares the stack of its caller, and its own."""
    global n_identical, n_different, n_frames, n_arguments, deepest
    for lib in (free, held):
        frames = (Frame * MAX)()
        # One line, so that both see the same line in this frame.
        n, own, line = lib.probe_walk(frames, MAX), sys._getframe(), sys._getframe().f_lineno
        want, got = expected(own, line), walked(lib, frames, n)
        same = [w[0] for w in want] == [g[0] for g in got]
        arguments = [(w[1], g[1]) for w, g in zip(want, got) if w[1] is not None]
        same = same and all(w == g for w, g in arguments)
        with lock:
            n_identical, n_different = n_identical + same, n_different + (not same)
            n_frames, n_arguments = n_frames + n, n_arguments + len(arguments)
            deepest = max(deepest, n)
        if not same:
            at = next((i for i, (w, g) in enumerate(zip(want, got)) if w != g), min(len(want), len(got)))
            print("different at frame", at, "of", len(want), "walked", len(got))
            print("  want", want[at:at + 2])
            print("  got ", got[at:at + 2])
    return value


# ---- makers of stacks


def generator():
    try:
        yield check()
        yield from (check() for _ in range(2))
        received = yield 1
        check(received)
    except ValueError:
        yield check()
    finally:
        check()


def generators():
    list(generator())
    thrown = generator()
    next(thrown)
    thrown.throw(ValueError())
    closed = generator()
    next(closed)
    closed.close()
    dropped = generator()
    next(dropped)
    del dropped
    sum(check(1) for _ in range(2))


class Meta(type):
    def __new__(cls, name, bases, body):
        body["held"] and check()
        return super().__new__(cls, name, bases, body)


class Things(metaclass=Meta):
    held = None

    def __init__(self, deeper=0):
        self.inner = Things(deeper - 1) if deeper else check()

    def method(self, n):
        return check() if n == 0 else self.method(n - 1)

    @property
    def attribute(self):
        return check()

    @staticmethod
    def static(*arguments, **named):
        return check()

    @classmethod
    def of_class(cls):
        return check()

    def __call__(self, *arguments):
        return check()

    def __getattr__(self, name):
        check()
        raise AttributeError(name)

    def __lt__(self, other):
        check()
        return False

    def __del__(self):
        check()


class Plain:
    """The interpreter may take its short cut for creating one, which has its own frame."""

    def __init__(self, deeper):
        self.inner = Plain(deeper - 1) if deeper else check()


def classes():
    for _ in range(40):
        Plain(2)
    class Body(metaclass=Meta):
        held = [check()]

    for _ in range(40):  # hot: the interpreter specialises the calls, __init__ among them
        things = Things(2)
    things.method(20)
    things.attribute
    things.static(1, 2, a=3)
    things.of_class()
    things(1)
    getattr(things, "absent", None)
    sorted([Things(), Things()])


def callbacks():
    sorted([2, 1], key=lambda v: check(v))
    list(map(lambda v: check(v), [1]))
    list(filter(check, [0, 1]))
    functools.reduce(lambda a, b: check(a), [1, 2, 3])
    re.sub("a", lambda found: check("b"), "aa")
    functools.partial(check, 1)()
    max([1, 2], key=check)
    sorted([2, 1], key=lambda v: sorted([1], key=lambda w: list(map(lambda x: check(x), [1]))) and v)

    class Referred:
        pass

    referred = Referred()
    kept = weakref.ref(referred, lambda reference: check())
    del referred
    del kept
    previous = signal.signal(signal.SIGUSR1, lambda number, frame: check())
    if threading.current_thread() is threading.main_thread():
        signal.raise_signal(signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, previous)


def in_main_thread_only():
    sys.setprofile(lambda frame, event, argument: None)
    check()
    sys.setprofile(None)
    sys.settrace(lambda frame, event, argument: None)
    check()
    sys.settrace(None)


class Name(str):
    """A class that derives from str is allowed as the name of a file."""


def compiled():
    space = {"check": check}
    exec("check()", space)
    exec("\n" * 400 + "check()\ndef f():\n" + "\n" * 200 + "    check()\n" + "\n" * 3 + "f(\n)", space)
    eval("check()", space)
    for file in ("été.py", "日本.py", "😀.py", "lone\udc80.py", "", Name("derived.py")):
        exec(compile("def größe日本():\n  check()\ngröße日本()", file, "exec"), space)
    # Longer than what 16 bits can number, with jumps in lines that need several entries of the table.
    long = "def long():\n" + "    a = b = c = 1\n" * 9000 + "\n" * 3000 + "    check()\n" + "    a = 2\n" * 9
    exec(long + "    check(); check()\nlong()", space)
    # Two code objects with the same bytes.
    exec("def one():\n  check()\none()", space)
    one = space["one"]
    one.__code__ = one.__code__.replace(co_filename="other.py", co_firstlineno=90)
    one()


def lines():
    check(
        check(1)
    )
    check(
        [check(i)
         for i in range(2)]
    )
    {check(i): check(i) for i in range(1)}
    {check(i) for i in range(1)}
    (lambda: check())()
    try:
        1 / 0
    except ZeroDivisionError:
        check()
    finally:
        check()
    with contextlib.suppress(ValueError):
        check()
        raise ValueError(check())
    for i in (
        1,
        check(2),
    ): check(i)
    while check(False):
        pass
    assert check() is None, check()
    return (check() or
            check())


def deep(n):
    return check() if n == 0 else deep(n - 1)


def deep_in_c(n):
    return check() if n == 0 else list(map(deep_in_c, [n - 1]))


def with_cells(a, b, c):
    def inner():
        return check(a), b, c
    a = inner()
    return [inner() for _ in range(2)]


def deleted(argument):
    del argument
    check()


@contextlib.contextmanager
def manager():
    check()
    yield check()
    check()


class AsyncManager:
    async def __aenter__(self):
        await asyncio.sleep(0)
        return check()

    async def __aexit__(self, *what):
        check()


async def produce():
    for i in range(2):
        yield check(i)
        await asyncio.sleep(0)


async def consume(n):
    async with AsyncManager():
        async for _ in produce():
            check()
    if n:
        await consume(n - 1)
    return [check(i) async for i in produce()]


async def everything_async():
    await asyncio.gather(consume(2), asyncio.create_task(consume(1)))
    await asyncio.get_running_loop().run_in_executor(None, check)


def collected():
    """The garbage collector may run while a frame is being made, which is no frame yet."""
    gc.callbacks.append(lambda phase, info: check())
    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for i in range(20):
            with_cells(i, [i], {i: i}) if i == 19 else (lambda *a, **k: [a, k, lambda: (a, i)])(i, j=[i])
            list((x, [x]) for x in range(2))
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.pop()


def work():
    check()
    generators()
    classes()
    compiled()
    lines()
    with manager():
        check()
    deep(300)
    deep_in_c(30)
    with_cells(1, 2, 3)
    deleted(1)
    asyncio.run(everything_async())


def main():
    whys = []
    threads = [threading.Thread(target=lambda: whys.append(free.probe_begin())) for _ in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    if any(whys):
        print("refused:", whys[0].decode())
        return 77 if "--may-refuse" in sys.argv else 1
    if free.probe_walk_elsewhere() != 0:
        print("a thread without Python was given frames")
        return 1
    threads = [threading.Thread(target=work) for _ in range(3)]
    [t.start() for t in threads]
    work()
    callbacks()
    in_main_thread_only()
    [t.join() for t in threads]
    collected()
    work()
    print(sys.version.split()[0], "stacks identical", n_identical, "different", n_different, "frames", n_frames,
          "arguments", n_arguments, "deepest", deepest, "refused", free.probe_n_refused())
    for name, depth in ("shallow", 0), ("deep", 30):
        print(name, *timed(depth), sep=" ")
    good = n_different == 0 and n_identical >= AT_LEAST and n_arguments >= AT_LEAST and deepest > 300
    return 0 if good and free.probe_n_refused() == 0 else 1


def timed(depth):
    """Nanoseconds of one walk, best of 5."""
    if depth:
        return timed(depth - 1)
    best = 1e9
    for _ in range(5):
        start = time.perf_counter()
        frames = held.probe_time_walks(20000)
        best = min(best, (time.perf_counter() - start) / 20000 * 1e9)
    return "%.0f frames" % frames, "%.0f ns a walk" % best


if __name__ == "__main__":
    sys.exit(main())
