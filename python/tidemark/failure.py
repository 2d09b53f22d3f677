"""What a process finds out at its first failed request for memory: the other processes on the card; and on a virtual card, what
garbage collection frees, and who holds the largest tensors.

The program must continue unchanged: PyTorch would have raised, and nothing else. So the last two are
asked in a copy of the process (programs/live/copy.c), which can collect garbage, compute and answer, and ends. Only the
thread of the request exists in it. A copy that waits for a lock of another thread is ended after a time; what it did not
answer by then is unknown.
"""
import ctypes
import gc
import json
import sys
import time
import weakref

from . import card, card_processes, holders, settings

MOST_MS = 5000  # for the copy
HOLDERS_SECONDS = 2  # of it, for the search of holders
_QUIET_SECONDS = 0.2  # in which the copy is made
_ROOM = 1 << 16  # bytes of its answer
_library = ctypes.CDLL(None)  # everything that the process has loaded


class Failure:
    """The answers about the first failed request; empty before it."""

    def __init__(self):
        self.known = {}
        self.is_over = False

    def look(self, device):
        """A request failed on the device. Never raises: what cannot be found out is unknown."""
        if self.is_over:
            return
        self.is_over = True
        try:
            self._find_out(device)
        except Exception:
            pass

    def _find_out(self, device):
        try:
            processes = card_processes.others(device)
        except (AttributeError, OSError):
            processes = []  # no NVML, or an older one
        if processes:
            self.known = {"device": device, "processes": processes}
        if card.is_virtual() and settings.get("TIDEMARK_AT_FAILURE") and hasattr(_library, "tidemark_live_copy"):
            for line in _ask(lambda say: _answer(device, say)):
                self.known.update(line)


def _ask(answer):
    """Calls answer(say) in a copy of the process, and returns what it said: a list of dictionaries."""
    make, wait = ctypes.PyDLL(None).tidemark_live_copy, _library.tidemark_live_copy_wait
    wait.restype = ctypes.c_size_t
    wait.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int)
    room = ctypes.create_string_buffer(_ROOM)
    fd = ctypes.c_int(-1)
    pid = _without_requests(lambda: make(ctypes.byref(fd)))
    if pid == 0:
        try:
            answer(lambda said: _write(fd.value, (json.dumps(said) + "\n").encode()))
        finally:
            _library.tidemark_live_copy_end()
    if pid < 0:
        return []
    n_bytes = wait(pid, fd, room, _ROOM, MOST_MS)
    whole, _, _ = room.raw[:n_bytes].rpartition(b"\n")
    return [json.loads(line) for line in whole.splitlines()]


def _write(fd, line):
    """Keeps the interpreter's lock, unlike os.write: other threads may have waited for it, and are not in the copy."""
    ctypes.PyDLL(None).write(fd, line, ctypes.c_size_t(len(line)))


def _without_requests(act):
    """Calls act() when no thread waits for the interpreter's lock and has asked for it: a copy made then would hand the lock over to
    that thread, which it does not have, and wait forever. Threads ask after the switch interval, so they run first."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(_QUIET_SECONDS)
    try:
        time.sleep(0)
        return act()
    finally:
        sys.setswitchinterval(interval)


def _answer(device, say):
    """In the copy. What was said before it is ended counts."""
    import torch

    before = allocated(device)
    say({"device": device, "allocated": before})
    if is_collected():
        say({"collected": before - allocated(device)})
    rows, n_unseen = holders.find(torch, before, holders.Clock(HOLDERS_SECONDS))
    say({"holders": rows, "not_asked": n_unseen})


def allocated(device):
    """Bytes that PyTorch counts. torch.cuda.memory_stats refuses to answer after a fork."""
    import torch

    return torch._C._cuda_memoryStats(device)["allocated_bytes"]["all"]["current"]


class _Cycle:
    pass


def is_collected():
    """Collects garbage. False if that did nothing: a collection calls this."""
    cycle = _Cycle()
    cycle.itself = cycle
    seen = weakref.ref(cycle)
    del cycle
    gc.collect()
    return seen() is None
