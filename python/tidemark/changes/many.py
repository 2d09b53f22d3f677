"""One import, many runs: many.py SETS SCRIPT [ARGUMENT...]

SETS are lists of changes between semicolons: "observe;fused;checkpoint:Block,fused". torch and what SCRIPT imports
at its top are imported once; then a child is forked for each set in turn, which runs SCRIPT as python does. The
run has TIDEMARK_CHANGES=observe. Each child is a process of the run, with a snapshot of its own, whose fact `set`
is its list.

A package may ask CUDA something when it is imported, or start a thread: a fork could not use CUDA then, and would not
have the thread. This process then starts again with torch alone.

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
    """The packages that a script imports before it does anything else, except those of its own folder. A later import may
    depend on what stands before it, such as a variable of the environment."""
    with open(script, encoding="utf-8") as text:
        body = ast.parse(text.read()).body
    names = {}
    for node in body:
        if isinstance(node, ast.Import):
            names.update((alias.name, True) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.update({node.module: True} if node.module and not node.level else {})
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            break
    here = os.path.dirname(os.path.abspath(script))
    own = lambda name: os.path.exists(os.path.join(here, name + ".py")) or os.path.isdir(os.path.join(here, name))
    return [name for name in names if name != "__future__" and not own(name.partition(".")[0])]


def _n_threads():
    return len(os.listdir("/proc/self/task"))


def _import_all(names):
    """Whether no package has started a thread, which a forked child would not have."""
    import importlib

    import torch  # noqa: F401

    n_threads = _n_threads()
    for name in names if not os.environ.get(_ONLY_TORCH) else ():
        try:
            importlib.import_module(name)
        except Exception:  # the program raises it, if it gets there
            pass
    return _n_threads() <= n_threads


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
    os.environ["TIDEMARK_CHANGES"] = text  # of processes that the program starts
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
    whole = [sys.executable, *sys.orig_argv[1:]]
    n_own = len(sys.orig_argv) - len(sys.argv)
    sys.orig_argv[n_own : n_own + 2] = []  # the recording has the program's own command
    sys.argv = sys.argv[2:]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    names = _imports(script)
    if "torch" not in {name.partition(".")[0] for name in names}:
        sys.exit(f"tidemark: {script} does something before it imports torch: run it once for each set of changes")
    is_alone = _import_all(names)
    import torch

    if not (is_alone and _is_safe(torch)):
        if os.environ.get(_ONLY_TORCH):
            sys.exit(f"tidemark: the import of torch uses CUDA: run {script} once for each set of changes")
        os.execve(sys.executable, whole, dict(os.environ, **{_ONLY_TORCH: "1"}))
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
