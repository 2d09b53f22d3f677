"""The data on the process besides PyTorch's snapshot: versions, marks, names and how it ended."""
import os
import platform
import resource
import sys
import traceback

from . import card, groups, settings

# Frames of these files are not the program's own.
LIBRARIES = ("site-packages", "dist-packages", "/lib/python", os.path.dirname(__file__), "<frozen",
             "/torch_geometric.")  # the last: modules that it writes for its layers


def describe(torch, recording):
    """The content of PID.json; programs/launch/left/left.h has its keys."""
    devices = range(torch.cuda.device_count())
    return {
        "pid": os.getpid(),
        "rank": _integer(os.environ.get("RANK", "-1")),
        "local_rank": _integer(os.environ.get("LOCAL_RANK", "-1")),
        "world_size": _integer(os.environ.get("WORLD_SIZE", "-1")),
        "node": _integer(settings.get("TIDEMARK_NODE", "0")),
        "groups": groups.described(_integer(os.environ.get("RANK", "-1"))),
        "ended_unix_us": card.real_unix_us(),
        "command": getattr(sys, "orig_argv", sys.argv),
        "torch": str(torch.__version__),
        "cuda": str(torch.version.cuda),
        "python": platform.python_version(),
        "backend": torch.cuda.get_allocator_backend(),
        "has_history": recording.has_history,
        "is_live": recording.marks.live is not None,
        "peaks": [_peaks(torch, device) for device in devices],
        "n_rows": recording.marks.here(),
        "n_steps": recording.marks.n_steps,
        "n_calls": recording.marks.n_calls,
        "ended_early": recording.marks.ended_early,
        "exception": _exception(),
        "failing_line": _failing_line(),
        "is_out_of_memory": _is_out_of_memory(torch),
        "host_peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "marks": recording.marks.valid(),
        "names": recording.names.rows,
        "at_failure": recording.failure.known,
    }


def tell(torch, live):
    """Writes the data known at the start to the log: a process that is killed leaves nothing else."""
    live.describe("run.command", " ".join(getattr(sys, "orig_argv", sys.argv)))
    live.describe("software.torch", torch.__version__)
    live.describe("software.cuda", torch.version.cuda)
    live.describe("software.python", platform.python_version())
    for device in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(device)
        live.describe(f"device.{device}.kind", "virtual" if card.is_virtual() else "cuda")
        live.describe(f"device.{device}.name", properties.name)
        live.describe(f"device.{device}.total_bytes", properties.total_memory)
        live.describe(f"device.{device}.compute_capability", 10 * properties.major + properties.minor)


def _peaks(torch, device):
    try:
        stats = torch.cuda.memory_stats(device)
    except RuntimeError:  # a pluggable allocator keeps none: the recording has the peaks
        stats = {}
    properties = torch.cuda.get_device_properties(device)
    return {
        "allocated": stats.get("allocated_bytes.all.peak", 0),
        "reserved": stats.get("reserved_bytes.all.peak", 0),
        "retries": stats.get("num_alloc_retries", 0),
        "out_of_memory": stats.get("num_ooms", 0),
        "name": properties.name,
        "total": properties.total_memory,
        "capability": 10 * properties.major + properties.minor,
    }


def _integer(text):
    return int(text) if text.isdigit() else -1


def _last_error():
    """The exception that ends the program; Python keeps it until the interpreter ends."""
    return getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)


def _exception():
    error = _last_error()
    if error is None:
        return ""
    text = str(error)
    return f"{type(error).__name__}: {text.splitlines()[0] if text else ''}"


def _failing_line():
    """The innermost line of the program itself: "main (train.py:58)"; "" if nothing failed."""
    error = _last_error()
    found = ""
    for frame, line in traceback.walk_tb(getattr(error, "__traceback__", None)):
        code = frame.f_code
        if not any(part in code.co_filename for part in LIBRARIES):
            name = getattr(code, "co_qualname", code.co_name)  # like function names in stacks; Python 3.10 has no other
            place = f"{os.path.basename(code.co_filename)}:{line}"
            found = place if name.startswith("<") else f"{name} ({place})"
    return found


def _is_out_of_memory(torch):
    return isinstance(_last_error(), torch.cuda.OutOfMemoryError)
