"""The known bytes of the preloaded virtual card, and its answers (programs/virtual_cuda/values/unknown.h)."""
import ctypes
import threading
import time

_library = ctypes.CDLL(None)  # everything that the process has loaded
_mine = threading.local()
_kept = {}  # texts whose addresses the card keeps


def is_virtual():
    return hasattr(_library, "tidemark_values_read")


_mark = getattr(_library, "tidemark_launches_mark", None)
_kernel = getattr(_library, "tidemark_launches_kernel", None)

_real_unix_us = getattr(_library, "tidemark_real_unix_us", None)
if _real_unix_us is not None:
    _real_unix_us.restype = ctypes.c_int64


def real_unix_us():
    """The date in microseconds since 1970, on the real clock, not the one that the program sees."""
    return _real_unix_us() if _real_unix_us is not None else time.time_ns() // 1000


if is_virtual():
    _read = _library.tidemark_values_read
    _read.argtypes = (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t)
    _answer = _library.tidemark_values_answer
    _answer.argtypes = (ctypes.c_uint64,)
    _no_answers = _library.tidemark_values_no_answers
    _mode = _library.tidemark_values_mode
    _mode.argtypes = (ctypes.c_int, ctypes.c_int)
    n_generated = _library.tidemark_values_generated  # kernels that belong to no operator
    n_generated.restype = ctypes.c_uint64
    _workspace = _library.tidemark_workspace
    _workspace.argtypes, _workspace.restype = (ctypes.c_uint, ctypes.c_int), ctypes.c_uint64
    forget_workspaces = _library.tidemark_workspaces_forget
    _write = _library.tidemark_values_write
    _write.argtypes = (ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t)
    objects = _library.tidemark_values_objects  # 1: this thread sends objects to other ranks; 0: it no longer does
    _settle = _library.tidemark_values_settle
    _settle.argtypes = (ctypes.c_uint64, ctypes.c_size_t)
    _step = _library.tidemark_ranks_step
    _group = _library.tidemark_ranks_group
    _group.argtypes = (ctypes.POINTER(ctypes.c_int64), ctypes.c_size_t, ctypes.c_char_p)
    _inexact = _library.tidemark_values_inexact
    _inexact.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint64)
    _reached = _library.tidemark_values_reached
    _reached.argtypes = (ctypes.c_uint64, ctypes.POINTER(ctypes.c_uint64), ctypes.c_uint64)
    _reached.restype = ctypes.c_uint64
    _assumed = _library.tidemark_values_assumed
    _assumed.argtypes = (ctypes.c_char_p, ctypes.c_char_p) + (ctypes.c_int64,) * 6
    _assumed.restype = None


def read(to, address, n_bytes):
    """Writes the card's bytes to a host address. False if not all of them are known."""
    return _read(to, address, n_bytes) != 0


def write(address, values, n_bytes):
    """Gives the card the bytes that it would have computed: n_bytes at a host address."""
    _write(address, values, n_bytes)


def settle(address, n_bytes):
    """Unknown bytes become zeros, and known."""
    _settle(address, n_bytes)


def announce_group(ranks, name=None):
    """The program makes a process group of these ranks of the world, which has PyTorch's name or none yet."""
    ranks = list(ranks)
    _group((ctypes.c_int64 * len(ranks))(*ranks), len(ranks), str(name).encode() if name is not None else None)


def mark(name):
    """Marks a place in the launch log, such as "step begins"; nothing without a card or a log."""
    if _mark is not None:
        _mark(name.encode())


def announce_kernel(handle, machine_code):
    """Announces a Triton kernel that was loaded from that file, next to its text; nothing without a card or a log."""
    if _kernel is not None:
        _kernel(ctypes.c_void_p(handle), machine_code.encode())


def end_step():
    """Ends a step of the program: work on a virtual card that waits for this continues."""
    if is_virtual():
        _step()


def inexact(call, what, bound_bytes=0):
    """Names a value that the answer cannot know exactly; once for each call."""
    texts = _kept.setdefault((call, what), (call.encode(), what.encode()))
    _inexact(*texts, bound_bytes)


def assumed(place, what, given_least, given_most, possible=0, n_times=1, row_bytes=0, all_bytes=0):
    """Records a value that the program read and that was assumed; a later call for the same place and kind replaces it.

    place: the program's line, "loss.py:31". what: "mask", "nonzero", "unique values", "detections", "number" or "truth
    value". given_least, given_most: the fewest and the most rows of one read, of `possible`; possible 0: the values
    themselves, as integers (a truth value: 0 or 1). row_bytes: each row more takes these; all_bytes: all of them more.
    """
    _assumed(str(place).encode(errors="replace"), what.encode(), int(given_least), int(given_most), int(possible), int(n_times),
             int(row_bytes), int(all_bytes))


_RING = 1 << 16  # programs/virtual_cuda/values/reached.h


def reached_since(start):
    """The device addresses that unseen kernels were given since the number `start`, and the number to ask from next.

    Unseen kernels are those launched by the driver API (only what they store through, if their text is known), and all
    work in captures of graphs. None for the addresses: they may have written anywhere.
    """
    end = _reached(start, None, 0)
    if end == start:
        return (), end
    if end - start > _RING:
        return None, end
    found = (ctypes.c_uint64 * (end - start))()
    if _reached(start, found, end - start) - start > _RING:
        return None, end
    return (None if 0 in found else found[:]), end


def workspaces(by_call):
    """Addresses of the memory that the program has lent to cuBLAS; by_call: also for one product."""
    found = []
    while is_virtual() and (address := _workspace(len(found), by_call)) != 0:
        found.append(address)
    return found


class Answers:
    """Within `with`, reads of unknown bytes by this thread are answered and not reported.

    Reads of 4 or 8 bytes return the numbers, in their order, and then 0; the first n_true truth values are true.
    """

    def __init__(self, numbers=(), n_true=1):
        self.numbers = numbers
        self.n_true = n_true

    def __enter__(self):
        for number in self.numbers:
            _answer(number)
        _mode(self.n_true, 1)
        _mine.n_checks = getattr(_mine, "n_checks", 0) + 1

    def __exit__(self, *_):
        _mine.n_checks -= 1
        _mode(0, 0)
        _no_answers()


def is_checking():
    """Whether this thread is in a function that checks its arguments, which are valid."""
    return getattr(_mine, "n_checks", 0) > 0


class Quiet:
    """Within `with`, reads of unknown bytes are not reported: the values are known in another way."""

    def __enter__(self):
        _mode(0, 1)

    def __exit__(self, *_):
        _mode(0, 0)
