"""Logs a finished run: started by `tidemark run --log-to`, with the interpreter of the program.

usage: python trackers/__main__.py --tidemark PATH --to wandb,mlflow,tensorboard --device NAME --name PROGRAM
       --status N [--page PATH] [--note JSON]... SNAPSHOT...

It prints one line for each tracker on stdout, after the word "log-to:", because a sitecustomize of the user may print
lines of its own: where the run is, or why nothing was logged. Its exit status is 0.
"""
import argparse
import importlib
import json
import os
import sys

TRACKERS = ("wandb", "mlflow", "tensorboard")


def main(out):
    arguments = _parse()
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    from tidemark.trackers.facts import Facts, explain

    try:
        facts = Facts(explain(arguments.tidemark, arguments.snapshots[0]), arguments.device, arguments.name,
                      arguments.status, arguments.page, arguments.snapshots)
    except Exception as error:
        _say(out, f"--log-to: nothing is logged: {_line(error)}")
        return
    notes = [json.loads(note) for note in arguments.note]
    for tracker in arguments.to.split(","):
        seen = [note for note in notes if note["tracker"] == tracker]
        _say(out, _log(tracker, facts, seen))


def _parse():
    parser = argparse.ArgumentParser()
    for name in ("--tidemark", "--to", "--device", "--name"):
        parser.add_argument(name, required=True)
    parser.add_argument("--status", type=int, default=0)
    parser.add_argument("--page")
    parser.add_argument("--note", action="append", default=[])
    parser.add_argument("snapshots", nargs="+")
    return parser.parse_args()


def _keep_output():
    """Our own stdout; what packages print goes to stderr."""
    own = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
    os.dup2(2, 1)
    return own


def _say(out, text):
    print(f"log-to: {text}", file=out, flush=True)  # cli/run/log_to.c


def _log(tracker, facts, seen):
    if tracker not in TRACKERS:
        return f"--log-to: unknown tracker {tracker}"
    try:
        return importlib.import_module(f"tidemark.trackers.to_{tracker}").log(facts, seen)
    except ModuleNotFoundError as error:
        return (f"--log-to {tracker}: nothing is logged: {sys.executable} has no module {error.name}: install it "
                "there with pip")
    except (Exception, SystemExit) as error:
        return f"--log-to {tracker}: not everything is logged: {_line(error)}"


def _line(error):
    """The error in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:1000]


if __name__ == "__main__":
    _out = _keep_output()  # open to the end of the process: `tidemark run` waits for that
    main(_out)
