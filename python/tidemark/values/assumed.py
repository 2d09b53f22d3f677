"""The reads that rest on an assumption, by the program's line.

A read of something known says nothing. Of the others the answer names the line, what was given of how much was possible,
and what all rows would take. A loop that reads such a value again and again, with no step of an optimizer and nothing new from the
host in between, is named once on stderr: it may wait for a value that never comes.
"""
import functools
import os
import sys
import threading
import time

import torch

from .. import card, telling
from ..program import LIBRARIES
from . import rows
from .printed import is_printed

MANY_READS, LONG_S = 1000, 10  # from which on a loop may be waiting
_PYTORCH = os.path.dirname(torch.__file__)


class Shares:
    """Whether the reads of a line share the rows out, as a router gives each token to its experts: the rows of so many reads
    add up to all, or twice as many, again and again. Then one read may get more only at the cost of others."""

    MOST = 64  # numbers of possible rows that are looked at: one for each mask of the line and length of a batch

    def __init__(self):
        self.groups = {}  # rows that were possible -> Group

    @property
    def is_found(self):
        groups = self.groups.values()
        return any(group.is_found for group in groups) and not any(group.is_refuted for group in groups)

    def add(self, n, possible):
        if possible in self.groups or len(self.groups) < self.MOST:
            self.groups.setdefault(possible, Group(possible)).add(n)


class Group:
    """Reads that had so many possible rows."""

    LEAST_READS, LEAST_POSSIBLE, LEAST_TIMES = 3, 64, 2  # fewer may add up by chance

    def __init__(self, possible):
        self.possible = possible
        self.ratio = 0  # how often the rows of the reads are all rows; 0: not known yet
        self.n, self.sum, self.n_times = 0, 0, 0
        self.is_refuted = possible < self.LEAST_POSSIBLE

    @property
    def is_found(self):
        return self.n_times >= self.LEAST_TIMES and not self.is_refuted

    def add(self, n):
        self.n, self.sum = self.n + 1, self.sum + n
        if self.ratio == 0 and self.n >= self.LEAST_READS and self.sum > 0 and self.sum % self.possible == 0:
            self.ratio = self.sum // self.possible
        if self.ratio and self.sum >= self.ratio * self.possible:
            self.is_refuted = self.is_refuted or self.sum > self.ratio * self.possible
            self.n_times += 1
            self.n = self.sum = 0


class Site:
    """One line, and what it reads."""

    def __init__(self, place, what):
        self.place, self.what = place, what
        self.n_times = 0
        self.least, self.most, self.possible = None, 0, 0  # rows
        self.shares = Shares()
        self.step, self.n_in_step, self.began = -1, 0, 0.0  # the step of the last read, its reads here, its first one

    def add(self, n, possible, step=0):
        self.n_times += 1
        if self.step != step:
            self.step, self.n_in_step, self.began = step, 0, time.monotonic()
        self.n_in_step += 1
        self.least = n if self.least is None else min(self.least, n)
        self.most = max(self.most, n)
        self.possible = max(self.possible, possible)
        if possible > 0:
            self.shares.add(n, possible)


def _unseen(function):
    """The program never sees what fails here."""

    @functools.wraps(function)
    def call(sites, *args):
        try:
            function(sites, *args)
        except Exception as error:
            sites.errors.append(f"{type(error).__name__}: {error}")

    return call


class _Depth(threading.local):
    """Of each thread: one may save a file while another one trains."""

    depth = 0


class Sites:
    """All of them. `rows` counts what depends on their numbers of rows."""

    def __init__(self):
        self.by_place = {}
        self.rows = rows.Watched()
        self.quiet = _Depth()  # of functions whose reads decide nothing
        self.is_waiting = False  # a loop that may wait was named
        self.n_steps = 0  # of the program's optimizers, and copies of the host's: what a loop that waits does not have
        self.n_inputs = lambda: 0  # the engine in C++ counts copies of the host's itself
        self.errors = []  # for tests

    @_unseen
    def number(self, value):
        """A number or a truth value was read."""
        what = "truth value" if type(value) is bool else "number"
        site = self._site(what)
        if site is not None:
            site.add(int(value) if type(value) in (bool, int) else 0, 0, self.n_steps + self.n_inputs())
            if site.n_in_step >= MANY_READS and site.n_in_step % 16 == 0:
                self._look_for_wait(site)
            self._give(site, site.n_times == 1)

    @_unseen
    def copied(self):
        """Values were copied to the host."""
        site = self._site("values copied to the host")
        if site is not None:
            site.add(0, 0)
            self._give(site, site.n_times == 1)

    @_unseen
    def rows_of(self, what, n, possible):
        """An operator found n rows of those that were possible."""
        site = self._site(what)
        if site is None:
            return
        before = (site.least, site.most, site.possible)
        site.add(n, possible)
        self.rows.watch((site.place, what), n, possible)
        self._give(site, before != (site.least, site.most, site.possible))

    def finish(self):
        """Gives the card the last figures of all."""
        for site in list(self.by_place.values()):
            self._give(site, True)

    def _site(self, what):
        own, library = _reader()
        if self.quiet.depth or (library is None and own is not None and is_printed(own.f_code.co_filename, own.f_lineno)):
            return None
        key = (_place(own, library), what)
        site = self.by_place.get(key)
        if site is None:
            site = self.by_place[key] = Site(*key)
        return site

    def _give(self, site, is_news):
        if is_news:
            card.assumed(site.place, site.what, site.least or 0, site.most, site.possible, site.n_times,
                         *self.rows.bytes_of((site.place, site.what), site.shares.is_found))

    def _look_for_wait(self, site):
        if self.is_waiting or time.monotonic() - site.began < LONG_S:
            return
        self.is_waiting = True
        text = (f" has read a value {site.n_in_step} times that the card would compute, and got a typical one. A loop that waits "
                "for a certain value may never end: `--steps N` or `--calls N` ends the program early")
        telling.tell(f"{site.place}{text}.")
        card.inexact("values", f"the program{text}")


class Quietly:
    """Within `with`, what is read decides nothing, such as the text of a tensor that is printed."""

    def __init__(self, sites):
        self.sites = sites

    def __enter__(self):
        self.sites.quiet.depth += 1

    def __exit__(self, *_):
        self.sites.quiet.depth -= 1


def _reader():
    """The innermost frame of the program, and that of a library that reads for it; None if there is none."""
    frame, own, library = sys._getframe(1), None, None
    while frame is not None:
        code = frame.f_code
        whose = _whose.get(id(code))
        if whose is None:
            whose = _whose[id(code)] = (_owner(code.co_filename), code)  # the code is held: its id is a key
        if whose[0] == _PROGRAM:
            own = frame
            break
        if whose[0] == _LIBRARY and library is None:
            library = frame
        frame = frame.f_back
    return own, library


def _place(own, library):
    """"train.py:31", or with the line of the library "train.py:31 (modeling_mixtral.py:105)"."""
    if own is None and library is None:
        return "the backward pass" if _is_foreign(threading.current_thread()) else "a library"
    key = tuple(part for frame in (own, library) for part in ((id(frame.f_code), frame.f_lasti) if frame is not None else ()))
    found = _places.get((own is None, key))
    if found is None:
        lines = [f"{os.path.basename(f.f_code.co_filename)}:{f.f_lineno}" for f in (own, library) if f is not None]
        found = _places[own is None, key] = lines[0] if len(lines) == 1 else f"{lines[0]} ({lines[1]})"
    return found


def _is_foreign(thread):
    """Whether Python did not start the thread, as with the threads of autograd."""
    return isinstance(thread, threading._DummyThread)


_OURS = os.path.dirname(os.path.dirname(__file__))
_PROGRAM, _LIBRARY, _OTHER = range(3)
_whose = {}  # id of a code object -> one of these, the object
_places = {}  # instructions of the program's and of a library's -> "train.py:31"


def _owner(name):
    if name.startswith("<"):
        return _OTHER
    if not any(part in name for part in LIBRARIES):
        return _PROGRAM
    return _LIBRARY if "-packages" in name and not name.startswith((_PYTORCH, _OURS)) else _OTHER
