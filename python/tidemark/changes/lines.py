"""Lines that are executed as they are printed.

A text has {model}, {optimizer} and {loader} where the program's own variables go. It is executed with those
names, and printed with the names that the program uses.
"""
import os

_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lines.py")  # frames in it are ours
NAMES = ("model", "optimizer", "loader")


def run(text, original, **values):
    """Executes a text, and returns its variables. `original`: from observe.py, PyTorch's own functions."""
    import torch

    variables = dict(values, torch=torch)
    with original():
        exec(compile(filled(text), _FILE, "exec"), variables)
    return variables


def filled(text, **names):
    """A text with the names of the program's variables."""
    for name in NAMES:
        text = text.replace("{" + name + "}", names.get(name) or name)
    return text
