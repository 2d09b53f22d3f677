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


def check_owner():
    """Ends the process if another distribution has written over the rest of this package."""
    import tidemark

    if hasattr(tidemark, "_start"):
        return
    try:
        from tidemark_gpu import not_ours
    except ImportError:  # CMake installs only this package
        sys.exit(f"tidemark: {tidemark.__file__} is of another program")
    sys.exit(f"tidemark: {not_ours(tidemark)}")


def main():
    check_owner()
    if sys.argv[1:2] == ["mcp"]:  # a server in Python
        from . import mcp

        return mcp.main()
    program = find_program()
    if program is None:
        sys.exit(f"tidemark: there is no program beside {__file__}: install tidemark-gpu from a wheel")
    os.execv(program, ["tidemark", *sys.argv[1:]])


if __name__ == "__main__":
    main()
