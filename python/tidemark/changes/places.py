"""Places in the program's own files: where something is called, and where lines can be added.

Locals of frames are read only here, and the copies that Python makes of them are emptied: they would keep
tensors alive.
"""
import ast
import functools
import os
import sys

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_STANDARD = os.path.dirname(os.path.abspath(os.__file__))
_OPTIMIZED = 1  # CO_OPTIMIZED: the frame's locals are a copy


def is_own(file):
    """Whether a file is the program's own code."""
    return not (
        file.startswith(("<", _OURS, _STANDARD)) or "site-packages" in file or "dist-packages" in file
        or "/torch/" in file
    )


def own_frame(frame=None):
    """The innermost frame of the program's own code; None if there is none."""
    frame = sys._getframe(1) if frame is None else frame
    while frame is not None and not is_own(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def shown(file, line):
    """train.py:50, relative to the folder of the run."""
    here = os.getcwd() + os.sep
    return f"{file[len(here):] if file.startswith(here) else file}:{line}"


def here():
    """The place of the innermost frame of the program; "" without one."""
    frame = own_frame(sys._getframe(1))
    return "" if frame is None else shown(frame.f_code.co_filename, frame.f_lineno)


def value_of(frame, name):
    """The value of a variable in a frame; None if it has none."""
    return _locals(frame, lambda values: values.get(name))


def name_of(frame, wanted):
    """The variable of a frame, or the attribute of its `self`, that is the object; None if none is."""

    def find(values):
        for name, value in values.items():
            if value is wanted and name.isidentifier():
                return name
        own = values.get("self")
        for name, value in getattr(own, "__dict__", {}).items():
            if value is wanted:
                return "self." + name
        parts = getattr(own, "_modules", None) or {}
        return next(("self." + name for name, value in parts.items() if value is wanted), None)

    return _locals(frame, find)


def _locals(frame, look):
    values = frame.f_locals
    try:
        return look(values)
    finally:
        code = frame.f_code
        keeps = not {"locals", "vars"}.isdisjoint(code.co_names)  # the copy may be the program's own
        if sys.version_info < (3, 13) and code.co_flags & _OPTIMIZED and not keeps:
            values.clear()


def of_construction(module):
    """The place where the program makes a module: outside of the module's own __init__."""
    frame = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if is_own(code.co_filename):
            first = code.co_varnames[0] if code.co_argcount else None
            if code.co_name != "__init__" or first is None or value_of(frame, first) is not module:
                return Place(code.co_filename, frame.f_lineno, code.co_name)
        frame = frame.f_back
    return None


class Place:
    """A line of the program, in a function."""

    def __init__(self, file, line, function):
        self.file, self.line, self.function = file, line, function

    def __str__(self):
        return shown(self.file, self.line)


def of_frame(frame):
    return None if frame is None else Place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


@functools.lru_cache(None)
def _statements(file):
    try:
        with open(file, encoding="utf-8") as text:
            tree = ast.parse(text.read())
    except (OSError, SyntaxError, ValueError):
        return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]


def statement(place):
    """The innermost statement at a place; None if the file cannot be read."""
    around = [node for node in _statements(place.file) if node.lineno <= place.line <= node.end_lineno]
    return min(around, key=lambda node: (node.end_lineno - node.lineno, -node.col_offset), default=None)


def before(place):
    """Where lines go that must run before the statement at a place."""
    node = statement(place)
    return "before " + shown(place.file, place.line if node is None else node.lineno)


def after(place):
    """Where lines go that must run after the statement at a place; None if it is a compound one."""
    node = statement(place)
    if node is None or hasattr(node, "body"):
        return None
    return shown(place.file, node.end_lineno)


def assigned(place):
    """The variable that the statement at a place sets: "model" or "self.model"; None for others."""
    node = statement(place)
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    return ast.unparse(target) if isinstance(target, (ast.Name, ast.Attribute)) else None


def imports_end(file):
    """The last line of the imports at the top of a file; 0 if it has none."""
    nodes = [n for n in _statements(file) if isinstance(n, (ast.Import, ast.ImportFrom)) and n.col_offset == 0]
    return max((node.end_lineno for node in nodes), default=0)
