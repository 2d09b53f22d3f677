"""Runs the program `tidemark` in the place of this process: `python -m tidemark run -- python train.py`."""
import os
import sys

# As seen from this folder: in the wheel, and where CMake installs the package in share/.
PLACES = ("bin/tidemark", "../../../../bin/tidemark")


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    for place in PLACES:
        program = os.path.normpath(os.path.join(here, place))
        if os.access(program, os.X_OK):
            os.execv(program, ["tidemark", *sys.argv[1:]])
    sys.exit(f"tidemark: {os.path.join(here, PLACES[0])} is missing: install the package from a wheel")


if __name__ == "__main__":
    main()
