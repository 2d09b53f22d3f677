"""Records one process from PyTorch's initialisation of CUDA to its end.

A preloaded library listens to PyTorch's allocator and writes a log (live.py). If it is missing or cannot
listen, PyTorch keeps the history itself: this module then switches it on before the first allocation, and
writes PyTorch's snapshot, PID.pickle, into the folder of the run when the process ends. PID.json, which is
written in both cases, has the data that fits in neither (see programs/launch/left/left.h).
"""
import atexit
import json
import os
import pickle
import signal
import sys
import threading

from . import (
    failure, generated, graph, groups, live, live_names, modules, names, operators, own_history, program, ranges, ranks, saving,
    settings, source, steps, telling, types_held
)
from .serving import caches, pools, weights

MAX_ENTRIES = 1_000_000  # events that PyTorch keeps; older ones are dropped and counted in the answer


class Recording:
    """The known data of this process."""

    def __init__(self, folder):
        self.folder = folder
        self.has_history = False  # False: another allocator than PyTorch's own is in use
        self.look = None  # returns PyTorch's snapshot
        self.is_over = False  # the files are written
        self.lock = threading.Lock()
        self.failure = failure.Failure()
        self.live = live.find()
        self.marks = steps.Marks(self.live)
        self.source = source.Source(self.live)
        self.types = types_held.Types(self.live)
        self.names = names.Names(self.marks) if self.live is None else live_names.LiveNames(self.marks)


_recording = None


def prepare(cuda):
    """Queues the start of the recording after PyTorch's initialisation of CUDA, once: several libraries may
    request it."""
    global _recording
    if _recording is not None:
        return
    _recording = Recording(settings.get("TIDEMARK_RUN_FOLDER"))
    os.register_at_fork(after_in_child=_forget_parent)
    atexit.register(_finish)
    _wrap_exit()
    _hide_our_frames()
    saving.keep_in_view()
    ranks.watch()
    groups.watch()
    generated.watch()
    pools.watch()
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _end_by_signal)
    if cuda.is_initialized():
        _begin()
    else:  # cuda._lazy_call would wait for a lock that this thread may hold
        cuda._queued_calls.append((_begin, []))


def is_on():
    """Whether the program's own marks can be recorded: PyTorch counts its allocations."""
    torch = sys.modules.get("torch")
    return _recording is not None and torch is not None and torch.cuda.is_initialized()


def is_by_history():
    """Whether the recording is PyTorch's history instead of the preloaded library's log."""
    return is_on() and _recording.marks.live is None


def report_lines():
    """The program writes a snapshot now (marking.py)."""
    if is_on() and not is_by_history():
        _recording.source.tell()


def mark_own_step():
    """The program ends a step (marking.py)."""
    steps.mark_own(_recording.marks, end_now)


def name_own_block(device, address, category, name):
    """The program labels the block at the address."""
    _recording.names.add_own(device, address, category, name)


def _begin():
    """CUDA is initialised, and nothing has been allocated yet."""
    import torch

    try:
        state = _recording.live.attach() if _recording.live is not None else None
        if state in (live.ATTACHED, live.OTHER_ALLOCATOR):
            _recording.live.watch_modules(torch, _recording.names.look_at_call)
            _recording.live.watch_pools(torch)
            _recording.marks.ranges = ranges.watch(torch, _recording.live)
            program.tell(torch, _recording.live)
            if state == live.ATTACHED and operators.start(torch, _recording.live):
                _recording.names.walks = graph.NoWalks()
                _recording.live.describe("live.operators", "all")
            if state == live.ATTACHED:
                torch._C._cuda_attach_out_of_memory_observer(_at_out_of_memory)
        else:
            _recording.marks.live = None
            _recording.names = names.Names(_recording.marks)
        if _recording.marks.live is None and torch.cuda.get_allocator_backend() == "native":
            _recording.look = own_history.share(torch, _switch_on)
            torch._C._cuda_attach_out_of_memory_observer(_at_out_of_memory)
            _recording.has_history = True
        modules.watch(_recording.names.modules)
        steps.watch(_recording.marks, _recording.names, end_now)
        _watch_workspaces(torch)
        caches.watch(_name_caches)
        weights.watch(_name_model)
        _begin_values()
    except Exception as error:  # the program must not see it
        _tell(f"the program is not recorded: {type(error).__name__}: {error}")


def _watch_workspaces(torch):
    clear = torch._C._cuda_clearCublasWorkspaces

    def name_and_clear():
        _recording.names.forget_workspaces()
        clear()

    torch._C._cuda_clearCublasWorkspaces = name_and_clear


def _name_caches(named_values, category):
    """Looked up at each call: a forked child has names of its own."""
    _recording.names.tell_values(named_values, category)


def _name_model(module):
    """As _name_caches."""
    _recording.names.modules.look_at_moved(module)


def _begin_values():
    """Prepares the values that the program reads from a virtual card."""
    from . import values

    values.start()


def _finish_values():
    """Gives the card what was assumed so far."""
    from . import values

    values.finish()


def _switch_on(switch, stacks="python"):
    switch(enabled="all", context="all", stacks=stacks, max_entries=MAX_ENTRIES)


def _at_out_of_memory(device, asked, total, free):
    _finish_values()
    _recording.names.look_at_failure()
    if _recording.marks.live is not None:
        _recording.types.tell()
        _recording.source.tell()
        _recording.live.named_all()  # a black box makes its snapshot
    _recording.failure.look(device)


def _forget_parent():
    """A forked child has a history of its own, if it may use CUDA at all."""
    global _recording
    _recording = Recording(_recording.folder)


def _finish():
    """Writes the two files, once."""
    recording = _recording
    with recording.lock:
        if recording.is_over:
            return
        recording.is_over = True
    try:
        _write(recording)
    except Exception as error:
        _tell(f"the history could not be written: {type(error).__name__}: {error}")


def _write(recording):
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return
    _finish_values()
    if recording.marks.live is not None:
        recording.marks.add("program ends")
        _name_all(recording)
        recording.types.tell()
        recording.source.tell()
        _report_changes()
    elif recording.has_history:
        recording.marks.add("program ends")
        _name_all(recording)
        snapshot = recording.look()
        _replace(recording.folder, "pickle", lambda file: pickle.dump(snapshot, file, protocol=4))
    text = json.dumps(program.describe(torch, recording)).encode()
    _replace(recording.folder, "json", lambda file: file.write(text))


def _report_changes():
    """With --apply: what was observed and changed."""
    changes = sys.modules.get(__package__ + ".changes")
    if changes is not None:
        changes.report()


def _name_all(recording):
    """Names all tensors; if that fails, the recording continues without names."""
    try:
        recording.names.look()
    except Exception as error:
        telling.tell_nameless(error)


def _replace(folder, ending, write):
    path = os.path.join(folder, f"{os.getpid()}.{ending}")
    with open(path + ".part", "wb") as file:
        write(file)
    os.replace(path + ".part", path)


def end_now():
    """Ends the process with status 0, after the steps or calls that --steps or --calls requested."""
    _recording.marks.ended_early = True
    _finish()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass  # closed, or not a stream: nothing to flush
    workers = sys.modules.get("multiprocessing")
    for worker in workers.active_children() if workers is not None else ():
        worker.terminate()
    _close_log()
    _real_exit(0)


def _close_log():
    """Marks the log as complete: the process ends now, without the library's destructor."""
    if _recording.marks.live is not None:
        _recording.marks.live.close()


def _end_by_signal(number, frame):
    """The default action of a signal, after the files have been written."""
    _finish()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


_real_exit = os._exit


def _wrap_exit():
    """os._exit skips atexit; workers of multiprocessing end with it."""

    def _exit(status):
        _finish()
        _close_log()
        _real_exit(status)

    os._exit = _exit


def _hide_our_frames():
    """A traceback of the program shows its own calls, and not that a backward pass went through steps.py."""
    show = sys.excepthook
    ours = os.path.dirname(__file__)

    def excepthook(kind, error, trace):
        at = trace
        while at is not None and at.tb_next is not None:
            if os.path.dirname(at.tb_next.tb_frame.f_code.co_filename) == ours:
                at.tb_next = at.tb_next.tb_next
            else:
                at = at.tb_next
        show(kind, error, trace)

    sys.excepthook = excepthook


def _tell(text):
    telling.tell(text)
