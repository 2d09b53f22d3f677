"""Runs programs of others on a virtual card and compares the end of each with what is expected (rows.py).

  run.py --tidemark TIDEMARK --pytorch ENVIRONMENT --done FILE [--list] [--again] [NAME...]

NAME is the beginning of a row's name. Packages are installed into folders of their own beside ENVIRONMENT, the first time
that a row needs them. FILE keeps what was found, so a run that was interrupted goes on where it ended; a row runs again if
tidemark, the row, its packages or a script has changed, or with --again. programs-NAME may be a link to another environment.
"""
import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rows import ENVIRONMENTS, PYTORCH, ROWS, Row

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
from environments import Missing, digest_of_tidemark, install, once, own_variables, pip_folder, wait_for  # noqa: E402

UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def environment_of(name: str, caches: Path, pytorch: Path) -> Path:
    if name == PYTORCH:
        return pytorch
    folder, wanted = caches / f"programs-{name}", ENVIRONMENTS[name]

    def fill() -> None:
        if wanted.tool == "npm":
            install(folder, " ".join(wanted.packages), "npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), *wanted.packages)
        else:
            pip_folder(folder, wanted.packages, pytorch, wanted.with_pytorch)

    return once(folder, wanted.packages, fill)


def toolkit() -> str:
    nvcc = shutil.which("nvcc")
    folders = ["/usr/local/cuda"] + ([str(Path(os.path.realpath(nvcc)).parent.parent)] if nvcc else [])
    for folder in folders:
        if os.path.exists(f"{folder}/include/cuda.h") and os.path.exists(f"{folder}/bin/nvcc"):
            return folder
    raise Missing("the CUDA toolkit is absent")


def stub(scratch: Path) -> str:
    """As the toolkit's folder of stubs, which not every installation has."""
    make("a libcuda.so to link with", "cc", "-shared", "-x", "c", os.devnull, "-Wl,-soname,libcuda.so.1", "-o", str(scratch / "libcuda.so"))
    return str(scratch)


def headers(scratch: Path, pytorch: Path) -> str:
    """Headers of the libraries above the runtime, which not every toolkit has: those beside PyTorch. Others of theirs belong to another version."""
    folder = scratch / "headers"
    folder.mkdir(exist_ok=True)
    for name in ("cublas", "curand", "cusolver", "cusparse"):
        for header in pytorch.glob(f"lib/python3*/site-packages/nvidia/cu*/include/{name}*.h"):
            if not (folder / header.name).exists():
                (folder / header.name).symlink_to(header)
    return str(folder)


def make(what: str, *command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (subprocess.CalledProcessError, FileNotFoundError) as why:
        raise Missing(f"{what} could not be made: {why}") from why


# ---- a row ----


def command_of(row: Row, folder: Path, scratch: Path) -> list:
    words = [str(HERE / word) if (HERE / word).exists() else word.replace("{folder}", str(scratch)) for word in row.command]
    if row.program:
        return [row.program, *words]
    if row.environment != PYTORCH and ENVIRONMENTS[row.environment].tool == "npm":
        make("a model", sys.executable, "-B", str(HERE / "tiny_gguf.py"), str(scratch / "tiny.gguf"))
        return ["node", *words]
    return [str(folder / "bin/python"), *words]


def libraries_of(row: Row, chosen: argparse.Namespace) -> dict:
    """LD_LIBRARY_PATH for a program that finds no library of pip's by itself."""
    other = ENVIRONMENTS[row.environment].libraries if row.environment != PYTORCH else ""
    if not other:
        return {}
    found = environment_of(other, chosen.pytorch.parent, chosen.pytorch).glob("lib/python3*/site-packages/nvidia/*/lib")
    return {"LD_LIBRARY_PATH": ":".join(map(str, found))}


def settings_of(row: Row, folder: Path, scratch: Path, pytorch: Path) -> dict:
    words = {"{toolkit}": toolkit, "{stub}": lambda: stub(scratch), "{headers}": lambda: headers(scratch, pytorch)}
    own = dict(row.settings)
    for word, find in words.items():
        own = {k: v.replace(word, find()) if word in v else v for k, v in own.items()}
    return own_variables() | {"PYTHONDONTWRITEBYTECODE": "1", "NODE_PATH": str(folder / "node_modules"), "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"} | own


def run_row(row: Row, chosen: argparse.Namespace, folder: Path, scratch: Path) -> tuple:
    """Exit status, output, what `tidemark run` and the program said on stderr. A program that takes too long is ended."""
    command = [str(chosen.tidemark), "run", "--device", row.device, "-o", "out.json.gz", *row.options, "--", *command_of(row, folder, scratch)]
    with open(scratch / "out", "wb") as out, open(scratch / "err", "wb") as err:
        program = subprocess.Popen(command, cwd=scratch, env=settings_of(row, folder, scratch, chosen.pytorch) | libraries_of(row, chosen), stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                   start_new_session=True)
        status = wait_for(program, row.seconds)
    return status, *((scratch / name).read_text(errors="replace") for name in ("out", "err"))


def wrong_figures(row: Row, said: str) -> list:
    wrong = []
    for pattern, known, part, whose in row.figures:
        found = re.search(pattern, said)
        if found is not None and abs(float(found[1]) * UNITS[found[2]] - known) > part * known:
            wrong.append(f"{found[0]!r} is not within {100 * part:g} % of {known / UNITS['GiB']:.2f} GiB ({whose})")
        elif found is None:
            wrong.append(f"the figure {pattern!r} is not there")
    return wrong


def faults(row: Row, status, out: str, err: str) -> list:
    """What differs from the row."""
    if status is None:
        return [f"it took more than {row.seconds} s"]
    said = "\n".join(line for line in err.splitlines() if line.startswith("tidemark"))
    wrong = [f"status {status}, not {row.status}"] if status != row.status else []
    wrong += [f"it did not print {pattern!r}" for pattern in row.printed if not re.search(pattern, out)]
    wrong += [f"the answer has no {pattern!r}" for pattern in row.said if not re.search(pattern, said)]
    wrong += [f"the answer has {text!r}" for text in row.never if text in said]
    return wrong + wrong_figures(row, said)


# ---- all rows ----


def key_of(row: Row, tidemark: str) -> str:
    """Scripts import each other, so all of them count."""
    scripts = "".join(script.read_text() for script in sorted(HERE.glob("*.*")) if script.name != "rows.py")
    return hashlib.sha256(f"{tidemark} {row} {ENVIRONMENTS.get(row.environment)} {scripts}".encode()).hexdigest()[:16]


def answer_lines(err: str) -> list:
    return [line for line in err.splitlines() if line.startswith("tidemark run: ")][:12]


def check(row: Row, chosen: argparse.Namespace) -> dict:
    """What is kept of a row: its verdict, why, its time, and the first lines of the answer."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            folder = environment_of(row.environment, chosen.pytorch.parent, chosen.pytorch)
            started = time.monotonic()
            status, out, err = run_row(row, chosen, folder, Path(scratch))
        except Missing as why:
            return {"verdict": "skipped", "why": [str(why)], "seconds": round(time.monotonic() - started), "answer": []}
        wrong = faults(row, status, out, err)
        if wrong:
            for name, text in (("out", out), ("err", err)):
                (chosen.done.parent / f"{row.name.replace(' ', '_')}.{name}").write_text(text)
    return {"verdict": "wrong" if wrong else "right", "why": wrong, "seconds": round(time.monotonic() - started), "answer": answer_lines(err)}


def show(row: Row, found: dict) -> None:
    print(f"{found['verdict']:8}{row.name:30}{found['seconds']:5} s  {found['answer'][0] if found['answer'] else ''}", flush=True)
    for why in found["why"]:
        print(f"{'':8}{why}", flush=True)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tidemark", type=Path, required=True)
    parser.add_argument("--pytorch", type=Path, required=True)
    parser.add_argument("--done", type=Path, required=True)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    return parser.parse_args()


def main() -> None:
    chosen = options()
    chosen.tidemark, chosen.done = chosen.tidemark.resolve(), chosen.done.resolve()
    rows = [row for row in ROWS if not chosen.names or row.name.startswith(tuple(chosen.names))]
    for name in chosen.names:
        if not any(row.name.startswith(name) for row in ROWS):
            sys.exit(f"no row begins with {name!r}; --list lists them")
    if chosen.list:
        for row in rows:
            print(f"{row.name:30}{row.environment:14}{row.device:20}{' '.join(row.command)}")
        return
    chosen.done.parent.mkdir(parents=True, exist_ok=True)
    found = json.loads(chosen.done.read_text()) if chosen.done.exists() else {}
    tidemark = digest_of_tidemark(chosen.tidemark)
    for row in rows:
        key, kept = key_of(row, tidemark), found.get(row.name, {})
        if chosen.again or kept.get("key") != key or kept.get("verdict") != "right":
            kept = found[row.name] = check(row, chosen) | {"key": key}
            chosen.done.write_text(json.dumps(found, indent=1) + "\n")
        show(row, kept)
    counts = {verdict: [row.name for row in rows if found[row.name]["verdict"] == verdict] for verdict in ("right", "wrong", "skipped")}
    print(", ".join(f"{len(names)} {verdict}" for verdict, names in counts.items()))
    sys.exit(1 if counts["wrong"] else 0)


if __name__ == "__main__":
    main()
