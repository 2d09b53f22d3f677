"""The pytest plugin: a limit for the GPU memory of a test, which runs on a virtual card.

    @pytest.mark.limit_gpu_memory("2 GiB", device="h100-80")
    def test_step():
        ...

pytest loads this module in every session of an environment that has the package, so it imports the
other modules of this folder only when a marked test runs.
"""
import pytest

MARKER = "limit_gpu_memory"
INSIDE = "tidemark-inside"  # name of the plugin that inside.py registers
_outcomes = pytest.StashKey()  # of a session: (node id, properties) of each marked test that ran


def pytest_addoption(parser):
    group = parser.getgroup("tidemark", "GPU memory of tests on a virtual card")
    group.addoption("--tidemark", action="store_true", default=False, dest="tidemark",
                    help=f"report the peak of GPU memory of each test with the marker {MARKER}, and its line")
    group.addoption("--tidemark-all", metavar="CARD", default=None, dest="tidemark_all",
                    help=f"run every test on this virtual card, such as h100-80, also without the marker {MARKER}, and "
                    "report the peaks")
    group.addoption("--tidemark-folder", metavar="FOLDER", default=None, dest="tidemark_folder",
                    help="keep the snapshot of each test that runs on a virtual card in this folder")
    parser.addini("tidemark_device", f"the card of tests whose {MARKER} names none, such as h100-80", default="")


def pytest_configure(config):
    config.addinivalue_line(
        "markers", f"{MARKER}(limit, device='h100-80', memory='allocated'): run the test in a process of its own on "
        "a virtual card, and fail it if its peak of GPU memory is above the limit, such as '2 GiB'; "
        "memory='reserved' limits what PyTorch reserves")
    config.stash[_outcomes] = []


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """Runs a marked test elsewhere, and passes its reports on as if it had run here."""
    marker = item.get_closest_marker(MARKER)
    config = item.config
    if (marker is None and not config.getoption("tidemark_all")) or config.pluginmanager.has_plugin(INSIDE):
        return None
    if config.getoption("setuponly", False) or config.getoption("setupplan", False):
        return None
    from . import outside

    if outside.is_recorded():
        if marker is not None:
            item.warn(pytest.PytestWarning(f"{MARKER} is not checked: `tidemark run` runs pytest itself"))
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports, end = outside.run(item, marker, nextitem)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    if end is not None:
        raise end
    return True


class _Collector:
    """Keeps the figures of marked tests: with pytest-xdist, in the process that prints."""

    def __init__(self, outcomes):
        self._outcomes = outcomes

    def pytest_runtest_logreport(self, report):
        figures = {name: value for name, value in report.user_properties if str(name).startswith("tidemark_")}
        if report.when == "call" and figures:
            self._outcomes.append((report.nodeid, figures))


def _reports(config):
    return config.getoption("tidemark") or config.getoption("tidemark_all")


def pytest_sessionstart(session):
    config = session.config
    if _reports(config) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Collector(config.stash[_outcomes]), "tidemark-collector")


def pytest_terminal_summary(terminalreporter, config):
    if not _reports(config):
        return
    from . import answers, outside

    terminalreporter.section("GPU memory (tidemark)")
    if outside.is_recorded():
        terminalreporter.line("no test is measured separately: `tidemark run` runs pytest itself")
        return
    outcomes = config.stash[_outcomes]
    if not outcomes:
        what = "no test" if config.getoption("tidemark_all") else f"no test with the marker {MARKER}"
        hint = "" if config.getoption("tidemark_all") else "; --tidemark-all CARD also runs tests without it"
        terminalreporter.line(f"{what} ran to its end{hint}")
    for nodeid, figures in outcomes:
        terminalreporter.line(f"{nodeid}: {answers.summarize(figures)}")
