"""One import, many runs: many.py SETS SCRIPT [ARGUMENT...]

SETS are lists of changes between semicolons: "observe;fused;checkpoint:Block,fused". torch and what SCRIPT imports
at its top are imported once; then a child is forked for each set in turn, which runs SCRIPT as python does. The
run has TIDEMARK_CHANGES=observe. Each child is a process of the run, with a snapshot of its own, whose fact `set`
is its list.

A package may ask CUDA something when it is imported: a fork could not use CUDA then. A first child finds that out,
and this process starts again with torch alone.

The sets share the run's view of files. Once one of them has written a file, the others are left out, because they
would find it. The file `together` in the folder of the run has a line for each child that ended well: its process
id, a tab, its set.
"""
import ast
import os
import sys

_ONLY_TORCH = "TIDEMARK_MANY_ONLY_TORCH"
_UNSAFE = 77


def _imports(script):
    """The packages that a script imports at its top, except those of its own folder."""
    with open(script, encoding="utf-8") as text:
        body = ast.parse(text.read()).body
    names = {}
    for node in body:
        if isinstance(node, ast.Import):
            names.update((alias.name, True) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names[node.module] = True
    here = os.path.dirname(os.path.abspath(script))
    own = lambda name: os.path.exists(os.path.join(here, name + ".py")) or os.path.isdir(os.path.join(here, name))
    return [name for name in names if name != "__future__" and not own(name.partition(".")[0])]


def _import_all(script):
    import importlib

    import torch  # noqa: F401

    if os.environ.get(_ONLY_TORCH):
        return
    for name in _imports(script):
        try:
            importlib.import_module(name)
        except Exception:  # the program raises it, if it gets there
            pass


def _is_safe(torch):
    child = os.fork()
    if child == 0:
        is_bad = torch.cuda._is_in_bad_fork() or torch.cuda.is_initialized()
        os._exit(_UNSAFE if is_bad else 0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _run(text, script):
    """In a child: applies the changes, and runs the script as the main module."""
    import runpy

    changes = sys.modules["_tidemark_recorder.changes.session"]
    changes.now.set = text
    changes.want(changes.parse(text))
    runpy.run_path(script, run_name="__main__")


def _files():
    """What was written in the run's view of files, except compiled modules, which change no program."""
    found = set()
    for folder, folders, names in os.walk(os.path.join(os.environ.get("TIDEMARK_SCRATCH", ""), "files")):
        folders[:] = [name for name in folders if name != "__pycache__"]
        found.update((path, os.lstat(path).st_mtime_ns) for path in (os.path.join(folder, name) for name in names))
    return found


def _note(child, text):
    with open(os.path.join(os.environ["TIDEMARK_RUN_FOLDER"], "together"), "a", encoding="utf-8") as file:
        file.write(f"{child}\t{text}\n")


def main():
    sets, script = sys.argv[1].split(";"), sys.argv[2]
    sys.argv = sys.argv[2:]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    _import_all(script)
    import torch

    if not _is_safe(torch):
        if os.environ.get(_ONLY_TORCH):
            sys.exit(f"tidemark: the import of torch uses CUDA: run {script} once for each set of changes")
        arguments = [sys.executable, *sys.orig_argv[1:]]
        os.execve(sys.executable, arguments, dict(os.environ, **{_ONLY_TORCH: "1"}))
    worst, before = 0, _files()
    for text in sets:
        child = os.fork()
        if child == 0:
            _run(text, script)
            sys.exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        worst = worst or (status if status >= 0 else 128 - status)
        if status == 0:
            _note(child, text)
        if _files() != before:
            break
    sys.exit(worst)


if __name__ == "__main__":
    main()
