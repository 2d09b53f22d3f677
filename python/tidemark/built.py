"""Parts of tidemark in C++ that are built for the program's PyTorch at their first use, and kept in the cache of compilers' output.

PyTorch's C++ interface differs between its versions: no built file could serve all of them.
"""
import concurrent.futures
import contextlib
import ctypes
import fcntl
import glob
import hashlib
import os
import shutil
import subprocess
import tempfile

from . import settings, telling

STANDARDS = ("c++20", "c++17")  # what PyTorch's headers need depends on its version
MAX_S = 300  # of one compilation
N_COMPILERS = 2  # at a time


def load(torch, name, sources, headers=(), needed_for="", level="-O1"):
    """The library that is built of these files, as ctypes has it. `needed_for`: why, in the line that says that it is built.
    Raises if that fails."""
    path = _path(torch, name, (*sources, *headers))
    if not os.path.exists(path):
        found = _of_another_card(path)
        if found is not None:
            return found
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with _alone(path):
            if not os.path.exists(path):  # another rank of the job may have built it meanwhile
                _build(torch, sources, path, needed_for, level)
    return ctypes.CDLL(path)


@contextlib.contextmanager
def _alone(path):
    """One process builds, and the other ranks of a job wait for it; without locks each builds for itself."""
    with open(path + ".lock", "w", encoding="utf-8") as file:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _path(torch, name, files):
    """Where the library is for these files and this PyTorch."""
    digest = hashlib.sha256(f"{torch.__version__}\0{_root(torch)}".encode())
    for file in files:
        with open(file, "rb") as opened:
            digest.update(opened.read() + b"\0")
    return os.path.join(_cache(), "tidemark", f"{name}-{digest.hexdigest()[:16]}.so")


def _of_another_card(path):
    """The library that another run of `tidemark run` built. Each card, interpreter and clock has a folder of its own there
    (docs/internals/scratch-view.md), but these parts depend on PyTorch and their sources alone, which the name has."""
    folder = os.path.dirname(os.path.dirname(os.path.dirname(path)))
    inside = os.path.relpath(path, folder)
    if os.path.basename(os.path.dirname(folder)) != "compilers":
        return None
    for other in sorted(glob.glob(os.path.join(glob.escape(os.path.dirname(folder)), "*", inside))):
        with contextlib.suppress(OSError):  # removed in between
            return ctypes.CDLL(other)
    return None


def _root(torch):
    return os.path.dirname(os.path.abspath(torch.__file__))


def _cache():
    return (settings.get("TORCH_EXTENSIONS_DIR") or settings.get("TORCHINDUCTOR_CACHE_DIR")
            or os.path.join(os.path.expanduser("~"), ".cache"))


def _build(torch, sources, path, needed_for, level):
    """Builds in a folder of its own: processes of other machines may share the cache, and do the same."""
    compiler = os.environ.get("CXX") or "c++"
    telling.tell(f"{needed_for}: {compiler} builds a part for PyTorch {torch.__version__}, once")
    folder = tempfile.mkdtemp(prefix=os.path.basename(path) + ".", dir=os.path.dirname(path))
    failed = {}
    try:
        for standard in STANDARDS:
            failed[standard] = _build_with(torch, compiler.split(), [f"-std={standard}", level], sources, folder)
            if failed[standard] is None:
                os.replace(os.path.join(folder, "all.so"), path)
                return
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    raise RuntimeError("; ".join(f"{compiler} -std={standard}: {_first_error(text)}" for standard, text in failed.items()))


def _first_error(text):
    return next((line for line in text.splitlines() if "error" in line), "it failed")


def _build_with(torch, compiler, options, sources, folder):
    """None, or what the compiler printed as it failed."""
    root = _root(torch)
    abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}"
    objects = [os.path.join(folder, f"{i}.o") for i in range(len(sources))]

    def compile_one(i):
        return _run([*compiler, *options, "-w", "-fPIC", abi, "-isystem", os.path.join(root, "include"), "-c", sources[i], "-o", objects[i]])

    with concurrent.futures.ThreadPoolExecutor(N_COMPILERS) as pool:
        for failed in pool.map(compile_one, range(len(sources))):
            if failed is not None:
                pool.shutdown(cancel_futures=True)
                return failed
    return _run([*compiler, "-shared", *objects, "-o", os.path.join(folder, "all.so"), f"-L{root}/lib", "-ltorch_cpu", "-lc10"])


def _run(command):
    # The compiler is no part of the program, and is not recorded.
    environment = {key: value for key, value in os.environ.items()
                   if key not in ("LD_PRELOAD", "PYTHONPATH") and not key.startswith("TIDEMARK_")}
    done = None
    with contextlib.suppress(subprocess.TimeoutExpired):
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=MAX_S)
    if done is None:
        return f"error: it took more than {MAX_S} s"
    return None if done.returncode == 0 else done.stderr or "it failed"
