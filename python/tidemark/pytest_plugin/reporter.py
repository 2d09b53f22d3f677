"""Keeps one test of a session, and sends its reports to the process that started the session."""
import json
import os

import pytest
from _pytest.config import create_terminal_writer

from . import warned


class Reporter:
    """Writes one JSON text a line: the number of collected tests, reports, warnings, what failed before the test, and why
    the session ends."""

    def __init__(self, config, nodeid, fd):
        self._config = config
        self._nodeid = nodeid
        self._file = os.fdopen(fd, "w", encoding="utf-8")
        self._writers = None  # of the terminal: the silent one and the real one

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config):
        """Silences the session. Its terminal must exist, because assertions take their colours from it."""
        terminal = config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            self._writers = create_terminal_writer(config, open(os.devnull, "w")), terminal._tw
            terminal._tw = self._writers[0]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_exception_interact(self):
        """The debugger of --pdb prints the failure first."""
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            terminal._tw = self._writers[1]
        yield
        if terminal is not None:
            terminal._tw = self._writers[0]

    def fail(self, text):
        self._write("error", text)

    def _write(self, kind, what):
        self._file.write(json.dumps([kind, what], default=str) + "\n")
        self._file.flush()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if item.nodeid == self._nodeid]
        self._write("collected", len(items))

    def pytest_collectreport(self, report):
        if report.failed:
            self.fail(str(report.longrepr))
        elif report.skipped:
            self.fail(f"its module was skipped: {report.longrepr[2]}")

    def pytest_internalerror(self, excrepr):
        self.fail(str(excrepr))

    def pytest_keyboard_interrupt(self, excinfo):
        self._write("exit", [excinfo.typename, str(excinfo.value), getattr(excinfo.value, "returncode", None)])

    def pytest_warning_recorded(self, warning_message, when, nodeid, location):
        if when == "runtest":  # the session itself has the others
            self._write("warning", [warned.describe(warning_message), nodeid, location])

    def pytest_runtest_logreport(self, report):
        self._write("report", self._config.hook.pytest_report_to_serializable(config=self._config, report=report))
