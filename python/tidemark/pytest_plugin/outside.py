"""Runs a marked test through `tidemark run`, and judges its peak."""
import contextlib
import glob
import json
import os
import pathlib
import pickle
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest

from .. import settings
from ..__main__ import find_program
from . import answers, limits, terminal, warned

_SHOWN_LINES = 30  # of a test's output, if its process failed
_SECONDS_TO_END = 10  # for a run that was interrupted
# Lines of the faulthandler about frames of pytest itself.
_OUR_FRAME = re.compile(r'  File "[^"]*(?:/_pytest/|/pluggy/|/tidemark/pytest_plugin/)[^"]*", line \d+ in ')
_PLAIN = (type(None), bool, int, float, str, bytes, pathlib.PurePath)
# The test is chosen by its node id alone, it runs once, and the process that started it does the rest.
_OWN_OPTIONS = {"lf": False, "failedfirst": False, "newfirst": False, "stepwise": False, "stepwise_skip": False,
                "maxfail": 0,
                "xmlpath": None, "numprocesses": None, "maxprocesses": None, "dist": "no", "tx": [], "looponfail": False,
                "tidemark": False, "tidemark_all": None, "tidemark_folder": None}


class _Problem(Exception):
    """The test did not run to its end, for the reason in the text."""


def is_recorded():
    """Whether `tidemark run` started this process."""
    return settings.get("TIDEMARK_RUN_FOLDER") is not None


def run(item, marker, nextitem):
    """The reports of the test, and the exception that ends the session, or None."""
    reports, problem, end = [], None, None
    try:
        limit = limits.choose(marker, item.config.getoption("tidemark_all"), item.config.getini("tidemark_device"))
        end = _run_on_card(item, limit, reports)
    except (_Problem, ValueError, OSError) as error:
        problem = error
    if problem is not None:
        failed = _failed(item, "call" if reports else "setup", str(problem))
        failed.sections = [*failed.sections, *getattr(problem, "sections", [])]
        reports.append(failed)
    return reports + _end_fixtures(item, nextitem), end


def _run_on_card(item, limit, reports):
    """Appends the reports of the test. Raises an exception of those above if it did not run to its end. Returns the
    exception that ended its session, or None."""
    with tempfile.TemporaryDirectory(prefix="tidemark-pytest-") as folder:
        program = _find_program()
        status = _start(item, limit, program, folder)
        output, sentences = _read_output(item, folder)
        end = _read_reports(item, folder, reports)
        if end is not None:
            return end
        if not reports or reports[-1].when != "teardown":
            problem = _Problem(f"the process of the test ended with {_name(status)} before the test did\n{output}")
            problem.sections = terminal.read_captured(folder)
            raise problem
        snapshots = sorted(glob.glob(os.path.join(glob.escape(folder), "test*.json.gz")))
        answer = answers.read(program, snapshots, limit.memory)
        _judge(item, limit, answer, sentences, reports)
        _keep(item, snapshots)
        return None


def _name(status):
    """"status 3", "status 139 (SIGSEGV)" or "signal 11 (SIGSEGV)"."""
    name, number = ("signal", -status) if status < 0 else ("status", status)
    try:
        return f"{name} {number} ({signal.Signals(number - 128 * (status > 0)).name})"
    except ValueError:
        return f"{name} {number}"


def _find_program():
    program = os.environ.get("TIDEMARK_PYTEST_PROGRAM") or find_program()
    if program is None:
        raise _Problem("the program tidemark is missing: install the package from a wheel, or name the program in "
                       "TIDEMARK_PYTEST_PROGRAM")
    return program


def _start(item, limit, program, folder):
    """Runs the test in a process of its own, and returns its status."""
    state, inside = os.path.join(folder, "state"), os.path.join(os.path.dirname(os.path.abspath(__file__)), "inside.py")
    with contextlib.ExitStack() as stack:
        reports, stdout, stderr = (stack.enter_context(open(os.path.join(folder, name), "wb"))
                                   for name in ("reports", "stdout", "stderr"))
        fds = [stack.enter_context(file).fileno() for file in (reports, *terminal.open_captured(folder))]
        with open(state, "wb") as file:
            pickle.dump(_state(item, fds), file)
        command = [program, "run", "--device", limit.device, "--html", "none", "-o", os.path.join(folder, "test.json.gz"),
                   "--", sys.executable, inside, state]
        is_lent = stack.enter_context(terminal.lend(item.config))
        is_shown = is_lent or _is_uncaptured(item)
        child = subprocess.Popen(command, stdin=None if is_lent else subprocess.DEVNULL, stdout=None if is_shown else stdout,
                                 stderr=stderr, pass_fds=fds, cwd=item.config.invocation_params.dir)
        return _wait(child)


def _is_uncaptured(item):
    return item.config.getoption("capture", "no") == "no"  # pytest has no such option with -p no:capture


def _wait(child):
    try:
        return child.wait()
    except BaseException:  # an interrupt, or a time limit of another plugin
        child.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_SECONDS_TO_END)
        child.kill()
        child.wait()
        raise


def _state(item, fds):
    """What inside.py needs to run the test as this session would: options, plugins, and sys.path."""
    config = item.config
    options = {name: value for name, value in vars(config.option).items() if _is_plain(value)}
    options.update({name: value for name, value in _OWN_OPTIONS.items() if name in options})
    options.setdefault("capture", "no")  # with -p no:capture, which the process cannot follow
    options.pop("file_or_dir", None)
    options.update(rootdir=str(config.rootpath), inifilename=str(config.inipath) if config.inipath else None)
    rest = item.nodeid.partition("::")[2]
    return {"options": options, "args": [f"{item.path}::{rest}"], "nodeid": item.nodeid,
            "path": list(sys.path), "argv": list(sys.argv), "fd": fds[0], "captured": fds[1:]}


def _is_plain(value):
    """Whether a value can be read in another process that has imported nothing."""
    if isinstance(value, dict):
        return all(_is_plain(key) and _is_plain(one) for key, one in value.items())
    if isinstance(value, (list, tuple, set)):
        return all(map(_is_plain, value))
    return isinstance(value, _PLAIN)


def _read_output(item, folder):
    """The last lines of what the process printed, for a failure; and tidemark's sentences."""
    texts = []
    for name in ("stdout", "stderr"):
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
            texts.append(file.read())
    sentences, of_test = answers.split_output(texts[1])
    if _is_uncaptured(item) and of_test:
        print(of_test, file=sys.stderr)
    lines = [line for line in f"{texts[0]}\n{of_test}".strip().splitlines() if not _OUR_FRAME.match(line)]
    return "\n".join([*lines[-_SHOWN_LINES:], *(f"tidemark run: {sentence}" for sentence in sentences)]), sentences


def _read_reports(item, folder, reports):
    """Appends the reports that the process wrote, and passes its warnings on. Returns the exception that ended its
    session, or None."""
    config, errors, n_collected, end = item.config, [], None, None
    with open(os.path.join(folder, "reports"), encoding="utf-8") as file:
        for line in file:
            if not line.endswith("\n"):
                break  # the process was killed while it wrote this line
            kind, what = json.loads(line)
            if kind == "report":
                what.update({name: tuple(what[name]) for name in ("longrepr", "location") if isinstance(what[name], list)})
                reports.append(config.hook.pytest_report_from_serializable(config=config, data=what))
            elif kind == "error":
                errors.append(what)
            elif kind == "warning":
                config.hook.pytest_warning_recorded.call_historic(kwargs={
                    "warning_message": warned.restore(what[0]), "when": "runtest", "nodeid": what[1],
                    "location": tuple(what[2]) if what[2] else None})
            elif kind == "exit":
                name, text, status = what
                end = KeyboardInterrupt(text) if name == "KeyboardInterrupt" else pytest.exit.Exception(text, status)
            else:
                n_collected = what
    if not reports and (errors or n_collected == 0):
        raise _Problem("\n".join(["the test is not collected on the virtual card, where torch.cuda.is_available() is "
                                  "true", *errors]))
    return end


def _judge(item, limit, answer, sentences, reports):
    """Fails the report of a test that passed, if its peak is above the limit."""
    call = next((report for report in reports if report.when == "call"), None)
    if call is None or (call.skipped and not hasattr(call, "wasxfail")):
        return
    for report in reports[reports.index(call):]:  # JUnit's XML has those of the last report
        report.user_properties = [*report.user_properties, *answers.properties(answer, limit)]
    is_above = limit.n_bytes is not None and answer.peak_bytes > limit.n_bytes
    strict = call.longrepr if isinstance(call.longrepr, str) and call.longrepr.startswith("[XPASS(strict)]") else None
    if is_above and (strict is not None or (call.passed and hasattr(call, "wasxfail"))):
        call.wasxfail = getattr(call, "wasxfail", (strict or "").partition("] ")[2])
        call.outcome, call.longrepr = "skipped", None  # it was expected to fail, and its peak is above the limit
    elif is_above and call.passed:
        failed = _failed(item, "call", answers.complain(answer, limit, sentences))
        call.outcome, call.longrepr = failed.outcome, failed.longrepr
    elif call.failed and sentences:
        call.sections = [*call.sections, ("tidemark run", "\n".join(sentences))]


def _keep(item, snapshots):
    folder = item.config.getoption("tidemark_folder")
    if folder is None:
        return
    os.makedirs(folder, exist_ok=True)
    name = re.sub(r"[^\w.\[\]-]+", "-", item.nodeid).strip("-")
    for snapshot in snapshots:
        end = os.path.basename(snapshot)[len("test"):]
        shutil.move(snapshot, os.path.join(folder, name + end))


def _failed(item, when, text):
    """A report of a failure without a traceback."""
    call = pytest.CallInfo.from_call(lambda: pytest.fail(text, pytrace=False), when=when)
    return pytest.TestReport.from_item_and_call(item, call)


def _end_fixtures(item, nextitem):
    """Ends what the tests before this one set up in this process and the next one does not need, as the end of
    a test does. Returns the report of a failure."""
    call = pytest.CallInfo.from_call(lambda: item.session._setupstate.teardown_exact(nextitem), when="teardown",
                                     reraise=(pytest.exit.Exception, KeyboardInterrupt))
    return [] if call.excinfo is None else [pytest.TestReport.from_item_and_call(item, call)]
