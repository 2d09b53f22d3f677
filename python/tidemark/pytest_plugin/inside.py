"""Runs one test on a virtual card, in the process that outside.py starts: inside.py STATE

The reports go through a file descriptor that the plugin's process opened, because `tidemark run` keeps
files that a program opens for writing away.
"""
import pickle
import sys


def capture_in(fds):
    """Makes pytest capture stdout and stderr in files of the plugin's process, which survive a crash of this one."""
    import _pytest.capture

    make = getattr(_pytest.capture, "TemporaryFile", None)

    def make_file(*arguments, **keywords):  # the first two are those of the session, for stdout and stderr
        return open(fds.pop(0), "w+b", buffering=0) if fds else make(*arguments, **keywords)

    if make is not None:
        _pytest.capture.TemporaryFile = make_file


def main():
    with open(sys.argv[1], "rb") as file:
        state = pickle.load(file)
    # The folders of `tidemark run` come last, as it puts them.
    sys.path[:] = state["path"] + [folder for folder in sys.path[1:] if folder not in state["path"]]
    sys.argv[:] = state["argv"]
    import pytest

    if state["options"].get("capture") == "fd":
        capture_in(state["captured"])
    config = pytest.Config.fromdictargs(state["options"], state["args"])
    # pytest warns about plugins that were imported before it loads them.
    from tidemark.pytest_plugin import INSIDE
    from tidemark.pytest_plugin.reporter import Reporter

    reporter = Reporter(config, state["nodeid"], state["fd"])
    config.pluginmanager.register(reporter, INSIDE)
    try:
        return config.hook.pytest_cmdline_main(config=config)
    except pytest.UsageError as error:
        reporter.fail(str(error))
        return pytest.ExitCode.USAGE_ERROR


if __name__ == "__main__":
    sys.exit(main())
