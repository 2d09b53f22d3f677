"""Names the results of all operators, for `tidemark run --names all`: operators.cpp, built for the program's PyTorch at
the first use and kept in the cache of compilers' output.

Each block gets the name of the operator that made it as that operator ends, in the backward pass, too. Without a
compiler one line says so, and the graph of autograd still gives names (graph.py).
"""
import contextlib
import ctypes
import hashlib
import os
import subprocess

from . import settings, telling

STANDARDS = ("c++20", "c++17")  # what PyTorch's headers need depends on its version
MAX_S = 300  # of one build


def start(torch, live):
    """Whether operators are named from now on. Not if `--names all` was not asked for."""
    if settings.get("TIDEMARK_NAMES") != "all":
        return False
    try:
        path = _find_or_build(torch)
        library = ctypes.CDLL(path)
        functions = [ctypes.cast(live.library[name], ctypes.c_void_p) for name in ("tidemark_live_label", "tidemark_live_n_rows")]
        library.tidemark_operators_start(*functions)
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        telling.tell(f"--names all does not work here, and fewer tensors have names: {reason}")
        return False
    return True


def _find_or_build(torch):
    """The path of the library for this PyTorch."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "operators.cpp")
    with open(source, "rb") as file:
        text = file.read()
    root = os.path.dirname(os.path.abspath(torch.__file__))
    key = hashlib.sha256(b"\0".join([text, str(torch.__version__).encode(), root.encode()])).hexdigest()[:16]
    folder = os.path.join(_cache(), "tidemark")
    path = os.path.join(folder, f"operators-{key}.so")
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        _build(torch, source, root, path)
    return path


def _cache():
    return (settings.get("TORCH_EXTENSIONS_DIR") or settings.get("TORCHINDUCTOR_CACHE_DIR")
            or os.path.join(os.path.expanduser("~"), ".cache"))


def _build(torch, source, root, path):
    """Compiles to a name of this process first: other processes may do the same."""
    part = f"{path}.{os.getpid()}"
    compiler = os.environ.get("CXX") or "c++"
    telling.tell(f"--names all: {compiler} builds a part for PyTorch {torch.__version__}, once")
    include = os.path.join(root, "include")
    abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}"
    # The compiler is no part of the program, and is not recorded.
    environment = {key: value for key, value in os.environ.items()
                   if key not in ("LD_PRELOAD", "PYTHONPATH") and not key.startswith("TIDEMARK_")}
    try:
        for standard in STANDARDS:
            done = subprocess.run([*compiler.split(), f"-std={standard}", "-O1", "-w", "-fPIC", "-shared", abi, "-isystem", include,
                                   source, "-o", part, f"-L{root}/lib", "-ltorch_cpu", "-lc10"], env=environment,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=MAX_S)
            if done.returncode == 0:
                os.replace(part, path)
                return
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
    lines = [line for line in done.stderr.splitlines() if "error" in line]
    raise RuntimeError(f"{compiler}: {(lines or ['it failed'])[0]}")
