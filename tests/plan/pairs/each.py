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
        os.write(2, f"\nPAIR {os.getpid()} {command}\n".encode())
        runpy.run_path(sys.argv[0], run_name="__main__")
        sys.exit(0)
    if os.waitpid(child, 0)[1] != 0:
        os.write(2, f"\nPAIR failed: {command}\n".encode())
sys.exit(0)
