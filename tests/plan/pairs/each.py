"""Runs programs in turn, each in a forked child, with one import of torch: each.py PROGRAM,ARGUMENT... PROGRAM..."""
import os
import runpy
import sys

import torch  # noqa: F401
from torch.utils import data  # noqa: F401

for command in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        sys.argv = command.split(",")
        os.environ["TIDE_PAIR"] = command
        sys.stderr.write(f"PAIR {os.getpid()} {command}\n")
        sys.stderr.flush()
        runpy.run_path(sys.argv[0], run_name="__main__")
        sys.exit(0)
    if os.waitpid(child, 0)[1] != 0:
        sys.stderr.write(f"PAIR failed: {command}\n")
sys.exit(0)
