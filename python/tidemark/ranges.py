"""Makes scopes of the recording from the program's NVTX ranges.

The functions of torch.cuda.nvtx call NVTX as before. Each open range is also a scope of the thread that opened it,
with the text of the range. A range may span several phases of a step: it is then a scope in each of them.
"""
import itertools
import threading

from . import telling

MAX_DEPTH = 64  # open ranges of a thread that are scopes: a program may forget to pop
_PUSHED = "pushed"  # the key of ranges without a handle


def watch(torch, live):
    """Wraps the functions that open and close ranges. Returns the keeper of the ranges."""
    ranges = Ranges(live.begin_scope, live.end_scope)
    nvtx = torch.cuda.nvtx
    if hasattr(nvtx, "_nvtx"):
        nvtx._nvtx = _Nvtx(nvtx._nvtx, ranges)  # its functions look this name up at each call
    return ranges


class _Range:
    __slots__ = ("key", "text", "scope")

    def __init__(self, key, text, scope):
        self.key = key  # _PUSHED, or the handle of a range that any thread may end
        self.text = text
        self.scope = scope  # None: too deep


class _Thread(threading.local):
    def __init__(self):
        self.opened = []  # innermost last


class Ranges:
    """The open ranges of each thread.

    begin: opens a scope with a name in this thread, and returns its number. end: closes that scope and those
    inside it.
    """

    def __init__(self, begin, end):
        self._begin = begin
        self._end = end
        self._thread = _Thread()
        self._started = set()  # handles of open ranges that any thread may end
        self._over = set()  # of these, ranges that another thread has ended; their own thread closes their scopes

    def push(self, key, text):
        try:
            opened = self._thread.opened
            if self._over:
                self._close_ended(opened)
            opened.append(_Range(key, text, self._begin(text) if len(opened) < MAX_DEPTH else None))
        except Exception as error:
            _tell(error)

    def pop(self, key):
        """Closes the innermost range with the key, if there is one."""
        try:
            opened = self._thread.opened
            if self._over:
                self._close_ended(opened)
            self._close(opened, key)
        except Exception as error:
            _tell(error)

    def start(self, handle, text):
        self._started.add(handle)
        self.push(handle, text)

    def end(self, handle):
        if handle in self._started:
            self._started.discard(handle)
            if any(found.key == handle for found in self._thread.opened):
                self.pop(handle)
            else:
                self._over.add(handle)

    def reopen(self):
        """Called when a phase begins or ends: the open ranges of this thread begin again after it."""
        try:
            opened = self._thread.opened
            if self._over:
                self._close_ended(opened)
            if opened:
                self._end(opened[0].scope)
                self._open_again(opened[:MAX_DEPTH])
        except Exception as error:
            _tell(error)

    def _close(self, opened, key):
        at = len(opened) - 1
        while at >= 0 and opened[at].key != key:
            at -= 1
        if at < 0:
            return
        closed = opened.pop(at)
        if closed.scope is not None:
            self._end(closed.scope)
            self._open_again(opened[at:MAX_DEPTH])  # they began inside it, and continue

    def _open_again(self, inner):
        for found in inner:
            found.scope = self._begin(found.text)

    def _close_ended(self, opened):
        for key in [found.key for found in opened if found.key in self._over]:
            self._over.discard(key)
            self._close(opened, key)


class _Nvtx:
    """Replaces the module torch._C._nvtx within torch.cuda.nvtx."""

    def __init__(self, real, ranges):
        self._real = real
        self._ranges = ranges
        self._handles = itertools.count(1)

    def __getattr__(self, name):
        return getattr(self._real, name)

    def rangePushA(self, text):
        depth = self._real.rangePushA(text)
        self._ranges.push(_PUSHED, text)
        return depth

    def rangePop(self):
        depth = self._real.rangePop()
        self._ranges.pop(_PUSHED)
        return depth

    def rangeStartA(self, text):
        handle = self._real.rangeStartA(text) or next(self._handles)  # 0: no profiler listens, so any number works
        self._ranges.start(handle, text)
        return handle

    def rangeEnd(self, handle):
        self._real.rangeEnd(handle)
        self._ranges.end(handle)


_told = []


def _tell(error):
    """The program does not see the failure; it is printed once."""
    if not _told:
        _told.append(True)
        telling.tell(f"some NVTX ranges are no scopes: {type(error).__name__}: {error}")
