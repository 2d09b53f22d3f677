"""Reads whose value is only printed or logged: `print(f"loss {loss.item()}")`. They decide nothing."""
import ast
import functools
import linecache

# Methods whose result is a text for people, of an object whose name says that it is a log, a progress bar or a writer. Others,
# such as self.log of a trainer, may decide by the value.
PRINTERS = {"debug", "info", "warning", "error", "critical", "log", "write", "set_postfix", "set_postfix_str", "set_description",
            "add_scalar"}
OBJECTS = ("log", "bar", "tqdm", "writer", "wandb", "stdout", "stderr", "console")

# Calls among the arguments of these that only convert a value. Any other function may decide by it.
CONVERSIONS = {"item", "tolist", "numpy", "cpu", "detach", "float", "int", "round", "str", "format", "abs", "len", "min", "max", "sum",
               "mean", "norm", "exp", "sqrt", "join", "values", "items", "keys", "get", "time", "perf_counter", "get_last_lr"}


@functools.lru_cache(maxsize=4096)
def is_printed(name, line):
    """Whether the only statement of a file at a line calls such a function, and does nothing else. False if that is unclear."""
    found = _innermost(name, line)
    call = found.value if isinstance(found, ast.Expr) else None
    return _is_printer(call) and not _is_shared(name, found) and all(_is_plain(node) for node in ast.walk(call) if node is not call)


def _is_printer(call):
    if not isinstance(call, ast.Call):
        return False
    if isinstance(call.func, ast.Name):
        return call.func.id == "print"
    owner = _name_of(call.func.value).lower() if isinstance(call.func, ast.Attribute) else ""
    return _name_of(call.func) in PRINTERS and any(part in owner for part in OBJECTS)


def _is_plain(node):
    """Whether a value within the node chooses nothing: no branch, no index, no other function."""
    if isinstance(node, ast.Subscript):
        return not any(isinstance(part, ast.Call) for part in ast.walk(node.slice))
    if isinstance(node, ast.Call):
        return _name_of(node.func) in CONVERSIONS
    return not isinstance(node, (ast.NamedExpr, ast.IfExp, ast.BoolOp))


@functools.lru_cache(maxsize=64)
def _statements(name):
    try:
        tree = ast.parse("".join(linecache.getlines(name)))
    except (SyntaxError, ValueError):
        return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]


def _innermost(name, line):
    spanning = [node for node in _statements(name) if node.lineno <= line <= node.end_lineno]
    return max(spanning, key=lambda node: (node.lineno, node.col_offset), default=None)


def _is_shared(name, found):
    """Whether another statement, or the condition of one, is on the lines of this one: `if loss.item() > 3: print(loss)`."""
    others = [node for node in _statements(name)
              if node is not found and node.lineno <= found.end_lineno and node.end_lineno >= found.lineno]
    return any(_header_end(node) >= found.lineno for node in others)


def _header_end(node):
    """The last line of a statement before the statements in it."""
    parts = [part for part in ast.iter_child_nodes(node) if not isinstance(part, (ast.stmt, ast.excepthandler, ast.match_case))]
    return max([node.lineno, *(getattr(part, "end_lineno", 0) for part in parts)])


def _name_of(function):
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
