"""The text of the program's lines in recorded stacks, for sentences that quote them.

The library names the files and lines of its stacks. Their text comes from Python's cache of lines, which also has the
cells of a notebook. Lines of PyTorch, of other installed packages, of Python and of this package are left out.
"""
import linecache
import os
import re
import sysconfig

from . import card
from .telling import quietly

MOST_LINES, MOST_BYTES = 2000, 200  # as in snapshot/document/source.h
_PACKAGES = re.compile(r"[/\\](site|dist)-packages[/\\]")
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_begin = card.real_unix_us() / 1e6  # a file that was changed later may have other lines than those that ran


class Source:
    """The lines of a recording. Each is reported once."""

    def __init__(self, live):
        self.live = live
        self.n_frames = 0  # of the library's frames, those that were read
        self.seen = set()  # pairs of file and line
        self.n_told = 0
        self.n_omitted = 0
        self.texts = {}  # file -> its lines

    @quietly
    def tell(self):
        """Reports the lines that are new since the last call."""
        while True:
            frame = self.live.line(self.n_frames)
            if frame is None:
                break
            self.n_frames += 1
            if frame not in self.seen:
                self.seen.add(frame)
                self._tell_line(*frame)
        if self.n_omitted > 0:
            self.live.describe("source.omitted", self.n_omitted)

    def _tell_line(self, file, line):
        if file not in self.texts:
            self.texts[file] = lines_of(file)
        lines = self.texts[file]
        text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
        if text == "":
            return
        if self.n_told == MOST_LINES:
            self.n_omitted += 1
            return
        self.n_told += 1
        kept = cut(text, MOST_BYTES)
        self.live.describe(f"source.{'whole' if kept == text else 'cut'}.{line}.{file}", kept)


def cut(text, most_bytes):
    """As many characters as fit."""
    return text.encode(errors="backslashreplace")[:most_bytes].decode(errors="ignore")


def lines_of(file):
    """The lines of a file of the program as they ran; none if they are unknown."""
    if file == "<stdin>":
        return linecache.getlines(file) or _input()
    if not _is_of_program(file):
        return []
    try:
        if os.stat(file).st_mtime > _begin:
            return []
    except (OSError, ValueError):
        pass  # a cell of a notebook is only in the cache
    return linecache.getlines(file)


def _is_of_program(file):
    library = sysconfig.get_paths()["stdlib"] + os.sep
    return not (_PACKAGES.search(file) or file.startswith((library, _HERE)))


def _input():
    """The program on stdin, if that is a file: it is read again, and its position does not move."""
    try:
        text = os.pread(0, os.fstat(0).st_size, 0) if os.path.isfile("/proc/self/fd/0") else b""
    except OSError:
        return []
    return text.decode(errors="replace").splitlines()
