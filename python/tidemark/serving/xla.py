"""Reports XLA's own figures of a JAX program: PID.xla (programs/launch/left/left.h).

The card sees only XLA's pool, most of which holds nothing. What the program uses of it is in `memory_stats()` of a device, and
what a compiled function needs in its `memory_analysis()`.
"""
import atexit
import functools
import os
import re
import sys

from .. import program, settings
from ..imports import when_imported
from ..telling import quietly

_ASKED = re.compile(r"RESOURCE_EXHAUSTED.*?allocate (\d+) bytes|RESOURCE_EXHAUSTED.*?allocate ([\d.]+) ?(B|KiB|MiB|GiB|TiB)", re.S)
_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
MOST_LINES = 3  # of arrays, that are reported
COMPILES = ("backend_compile_and_load", "backend_compile")  # functions of jax._src.compiler, by version
_watched = []
_most = [-1]  # bytes that a compiled function needs


def watch():
    """Notes what is compiled, and reports when the program ends, once. JAX's own functions for the end run later."""
    if not _watched:
        _watched.append(True)
        atexit.register(_report)
        when_imported({"jax._src.compiler": _change})


def _change(compiler):
    for name in COMPILES:
        function = getattr(compiler, name, None)
        if function is not None:
            setattr(compiler, name, _noted(function))


def _noted(function):
    @functools.wraps(function)
    def call(*arguments, **named):
        executable = function(*arguments, **named)
        _note(executable)
        return executable

    return call


@quietly
def _note(executable):
    """What the function needs with its arguments and results: `memory_analysis()`."""
    get = getattr(executable, "get_compiled_memory_stats", None)
    if get is not None and executable.client.platform != "cpu":
        _most[0] = max(_most[0], getattr(get(), "peak_memory_in_bytes", -1))


@quietly
def _report():
    jax = sys.modules.get("jax")
    bridge = sys.modules.get("jax._src.xla_bridge")
    if jax is None or not getattr(bridge, "_backends", None):
        return  # no device was used
    devices = [device for device in jax.local_devices() if device.platform == "gpu"]
    if not devices:
        return
    lines = [_row(device) for device in devices]
    lines += [f"array\t{n_bytes}\t{n}\t{place}" for place, (n_bytes, n) in _arrays(jax)]
    path = os.path.join(settings.get("TIDEMARK_RUN_FOLDER"), f"{os.getpid()}.xla")
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")


def _has(flag, off):
    """1 unless the last value of a flag of XLA switches a feature off, else 0."""
    values = [value for name, _, value in (word.partition("=") for word in os.environ.get("XLA_FLAGS", "").split()) if name == flag]
    return int(values[-1:] != [off])


def _row(device):
    """The figures of a device; -1 if XLA's allocator does not count."""
    stats = device.memory_stats() or {}
    numbers = (device.local_hardware_id or 0, stats.get("peak_bytes_in_use", -1), stats.get("bytes_limit", -1),
               _most[0], asked_bytes(_error()), _has("--xla_gpu_enable_command_buffer", ""), _has("--xla_gpu_autotune_level", "0"))
    return "device\t" + "\t".join(map(str, numbers)) + "\t" + program._failing_line()


def _error():
    error = program._last_error()
    return "" if error is None else str(error)


def asked_bytes(text):
    """The request that found no room, from the message of XLA's exception; -1."""
    found = _ASKED.search(text)
    if found is None:
        return -1
    whole, amount, unit = found.groups()
    return int(whole) if whole else int(float(amount) * _UNITS[unit])


def _arrays(jax):
    """Pairs of a line of the program, and the bytes and the number of arrays that it made and that are alive; the largest first."""
    found = {}
    for array in filter(_is_there, jax.live_arrays()):
        place = _place(getattr(array, "traceback", None))
        n_bytes, n = found.get(place, (0, 0))
        found[place] = n_bytes + array.nbytes, n + 1
    return sorted(found.items(), key=lambda item: -item[1][0])[:MOST_LINES]


def _is_there(array):
    """An array whose computation failed has no memory."""
    try:
        array.block_until_ready()
        return True
    except Exception:
        return False


def _place(trace):
    for frame in getattr(trace, "frames", ()):
        if not any(part in frame.file_name for part in program.LIBRARIES):
            line = f"{os.path.basename(frame.file_name)}:{frame.line_num}"
            return line if frame.function_name.startswith("<") else f"{frame.function_name} ({line})"
    return ""
