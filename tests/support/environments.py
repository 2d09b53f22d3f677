"""Programs of others in environments of their own, beside that of PyTorch: for ./dev programs and ./dev published."""
import hashlib
import os
import signal
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
INSTALL_SECONDS = 3600


class Missing(Exception):
    """Something that a row needs is not here: the row is skipped."""


def last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("WARNING")]
    return lines[-1].strip() if lines else "no output"


def install(folder: Path, what: str, *command: str) -> None:
    print(f"installing {what} in {folder}", flush=True)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    except (subprocess.TimeoutExpired, FileNotFoundError) as why:
        raise Missing(f"{what} could not be installed: {why}") from why
    if done.returncode != 0:
        raise Missing(f"{what} could not be installed: {last_line(done.stderr)}")


def pip_folder(folder: Path, packages: tuple, pytorch: Path, with_pytorch: bool) -> None:
    """with_pytorch: programs of the folder also see the packages of the environment `pytorch`."""
    python = folder / "bin/python"
    if not python.exists():
        install(folder, "an environment", str(pytorch / "bin/python"), "-m", "venv", str(folder))
    if with_pytorch:
        ask = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
        paths = [subprocess.run([str(e / "bin/python"), "-c", ask], capture_output=True, text=True).stdout.strip() for e in (folder, pytorch)]
        if not all(paths):
            raise Missing(f"{folder} or {pytorch} has no Python that works")
        (Path(paths[0]) / "pytorch.pth").write_text(paths[1] + "\n")
    install(folder, " ".join(packages), str(python), "-m", "pip", "install", "-q", *packages)


def once(folder: Path, packages: tuple, fill) -> Path:
    """The folder with the packages; fill() puts them into it, the first time and after a change of the list."""
    mark = folder / "tidemark-packages"
    if not mark.exists() or mark.read_text() != " ".join(packages):
        folder.mkdir(parents=True, exist_ok=True)
        fill()
        mark.write_text(" ".join(packages))
    return folder


def own_variables() -> dict:
    """The variables of this process without those that change what a program does on a card."""
    changing = ("TIDEMARK_", "PYTORCH_", "TORCH_", "CUDA_", "XLA_", "VLLM_")
    return {name: value for name, value in os.environ.items() if not name.startswith(changing)}


def wait_for(program: subprocess.Popen, seconds: float, grace: float = 60):
    """The exit status of a program that leads its group; None: it took too long, and its group was ended."""
    try:
        return program.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGTERM)
    try:
        program.wait(grace)
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()
    return None


def digest_of_tidemark(tidemark: Path) -> str:
    """Of the command, the objects that it preloads and its package of Python."""
    sha = hashlib.sha256()
    package = ROOT / "python/tidemark"
    for file in [tidemark, *sorted((tidemark.parent.parent / "programs").glob("*.so")), *sorted(package.rglob("*.py")), *sorted(package.rglob("*.cpp"))]:
        sha.update(file.read_bytes())
    return sha.hexdigest()
