"""Replaces this process by the program `tidemark`: `python -m tidemark run -- python train.py`."""
import os
import sys

# Relative to this folder: in the wheel, and where CMake installs the package in share/.
PLACES = ("bin/tidemark", "../../../../bin/tidemark")


def find_program():
    """The path of the program that belongs to this package; None if it was not installed with the
    package."""
    here = os.path.dirname(os.path.abspath(__file__))
    for place in PLACES:
        program = os.path.normpath(os.path.join(here, place))
        if os.access(program, os.X_OK):
            return program
    return None


def main():
    if sys.argv[1:2] == ["mcp"]:  # a server in Python
        from . import mcp

        return mcp.main()
    program = find_program()
    if program is None:
        sys.exit(f"tidemark: there is no program beside {__file__}: install the package from a wheel")
    os.execv(program, ["tidemark", *sys.argv[1:]])


if __name__ == "__main__":
    main()
