"""The command line of the checks that run small programs with a real PyTorch on a virtual card."""

import argparse
import pathlib
import sys
import tempfile


def report(name, faults):
    """Whether the program is right; prints each fault."""
    for fault in faults:
        print(f"{name}: {fault}", file=sys.stderr)
    return not faults


def main(description, programs, check, what):
    """Runs check(name, tidemark, python, folder) for the programs that the command line names, or for all of them.
    Returns the exit status: 0 if all are right."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--tidemark", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    tidemark = str(pathlib.Path(args.tidemark).resolve())
    with tempfile.TemporaryDirectory() as folder:
        # resolve() would follow the environment's link to the Python that it names
        good = [check(name, tidemark, str(pathlib.Path(args.python).absolute()), pathlib.Path(folder))
                for name in args.names or programs]
    print(f"{what}: {sum(good)} of {len(good)} programs are right")
    return 0 if all(good) else 1
