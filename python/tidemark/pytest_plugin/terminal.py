"""The terminal of the session, for a debugger in the process of a test; and the files of its captured output."""
import contextlib
import os
import sys

_STREAMS = ("stdout", "stderr")


@contextlib.contextmanager
def lend(config):
    """Yields whether the process of a test can use stdin and stdout of the session: for --pdb and --trace, and on a
    terminal, where a test may call breakpoint(). pytest's capturing is suspended that long."""
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.suspend_global_capture(in_=True)
    try:
        yield config.getoption("usepdb", False) or config.getoption("trace", False) or _is_terminal()
    finally:
        if capture is not None:
            capture.resume_global_capture()


def _is_terminal():
    try:
        return os.isatty(0) and os.isatty(1) and sys.stdin is not None
    except OSError:
        return False


def open_captured(folder):
    """The files in which the test's process captures output, which survive its crash."""
    return [open(os.path.join(folder, f"captured-{name}"), "w+b", buffering=0) for name in _STREAMS]


def read_captured(folder):
    """The sections of a report: what was captured since the last report."""
    sections = []
    for name in _STREAMS:
        with open(os.path.join(folder, f"captured-{name}"), encoding="utf-8", errors="replace") as file:
            text = file.read()
        if text:
            sections.append((f"Captured {name} call", text))
    return sections
