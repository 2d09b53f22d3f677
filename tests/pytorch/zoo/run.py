"""Runs PyTorch scripts on a virtual card with `tidemark run`, and compares what each one ends with to its verdict.

  run.py --tidemark TIDEMARK --python PYTHON [--full] [--jobs N] [--list] [NAME...]

PYTHON is the interpreter of an environment with a CUDA build of PyTorch. Without --full only the rows run whose group is
"torch", which need torch and torchvision alone. NAME is the beginning of a row's name. The verdicts are in verdicts.json;
verdicts.py says what a row holds.
"""
import argparse
import concurrent.futures
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import verdicts

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import same_answer


def environment(row: verdicts.Row) -> dict[str, str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("TIDEMARK_", "PYTORCH_", "TORCH_", "CUDA_"))}
    return inherited | {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"} | row.environment


def build_parts(chosen: argparse.Namespace) -> None:
    """The parts in C++ are built at their first use, which takes minutes on a busy machine: before the rows, whose time is limited.

    A row that is ended as it builds them would leave none, and the next one would build them again.
    """
    program = "import torch; print(torch.ones(3, device='cuda').sum().item())"
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([str(chosen.tidemark), "run", "--device", "virtual:h100-80", "-o", "snapshot.json.gz", "--", chosen.python, "-c", program],
                       cwd=folder, env={k: v for k, v in os.environ.items() if not k.startswith("TIDEMARK_")}, stdin=subprocess.DEVNULL, timeout=1800, capture_output=True)
    print(f"the parts in C++ are there after {time.monotonic() - started:.0f} s", flush=True)


def run_row(row: verdicts.Row, chosen: argparse.Namespace, scratch: Path) -> verdicts.Seen:
    """The row's script in a folder of its own. One that takes too long is ended; `tidemark run` clears up after itself."""
    folder = scratch / row.name.replace(" ", "_")
    folder.mkdir()
    command = [str(chosen.tidemark), "run", "--device", row.device, "-o", "snapshot.json.gz", *row.options, "--",
               chosen.python, str(HERE / row.script), *row.arguments]
    started = time.monotonic()
    with open(folder / "stdout", "wb") as out, open(folder / "stderr", "wb") as err:
        program = subprocess.Popen(command, cwd=folder, env=environment(row), stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=err, start_new_session=True)
        try:
            status = program.wait(row.seconds)
        except subprocess.TimeoutExpired:
            os.killpg(program.pid, signal.SIGKILL)
            status = program.wait()
    seconds = time.monotonic() - started
    texts = [(folder / name).read_text(errors="replace") for name in ("stdout", "stderr")]
    files = sorted(folder.glob("*.json.gz"))
    snapshots = [verdicts.read_snapshot(file) for file in files]
    differences = same_answer.differences(chosen.tidemark, texts[1], files, max([len(s["devices"]) for s in snapshots], default=1))
    if not chosen.keep:
        shutil.rmtree(folder, ignore_errors=True)
    return verdicts.Seen(status, seconds, *texts, snapshots, differences)


def run_twice_if_late(row: verdicts.Row, chosen: argparse.Namespace, scratch: Path) -> verdicts.Seen:
    """A row that was ended for its time runs once more, and says so: the machine may have had other work."""
    seen = run_row(row, chosen, scratch)
    if seen.seconds < row.seconds:
        return seen
    print(f"late {row.name:32} took more than its {row.seconds} s, and runs once more", flush=True)
    again = scratch / "again"
    again.mkdir(exist_ok=True)
    return run_row(row, chosen, again)


def report(row: verdicts.Row, seen: verdicts.Seen) -> bool:
    faults = verdicts.faults(row, seen)
    print(f"{'ok' if not faults else 'FAIL':4} {row.name:32} {row.says():40} {seen.says():40} {seen.seconds:6.1f} s", flush=True)
    for fault in faults:
        print(f"     {fault}", flush=True)
    if faults:
        for line in seen.stderr.splitlines()[-15:]:
            print(f"     | {line[:300]}", flush=True)
    return not faults


def has_packages(row: verdicts.Row, python: str) -> bool:
    question = f"import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, {row.needs!r})))"
    if not row.needs or subprocess.run([python, "-c", question]).returncode == 0:
        return True
    print(f"skip {row.name}: this Python has not all of {', '.join(row.needs)}", flush=True)
    return False


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True)
    parser.add_argument("--tidemark", required=True, type=lambda text: Path(text).resolve(strict=True))
    parser.add_argument("--full", action="store_true", help="the rows of every group")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true", help="prints the rows and runs nothing")
    parser.add_argument("--keep", help="an empty folder that keeps what every row left")
    parser.add_argument("names", nargs="*", metavar="NAME")
    return parser.parse_args()


def main() -> int:
    chosen = arguments()
    rows = [row for row in verdicts.read(HERE / "verdicts.json")
            if (chosen.full or row.group == "torch") and (not chosen.names or row.name.startswith(tuple(chosen.names)))]
    if not rows:
        sys.exit("no row has such a name")
    if chosen.list:
        print("\n".join(f"{row.name:32} {row.says()}" for row in rows))
        return 0
    question = "import torch; print(torch.__version__.split('+')[0])"
    version = subprocess.run([chosen.python, "-c", question], capture_output=True, text=True, check=True).stdout.strip()
    build_parts(chosen)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(chosen.jobs) as pool:
        rows = [row.in_version(version) for row in rows if row.is_for(version)]
        rows = [row for row in rows if has_packages(row, chosen.python)]
        work = {pool.submit(run_twice_if_late, row, chosen, Path(chosen.keep or scratch)): row for row in rows}
        good = [report(work[done], done.result()) for done in concurrent.futures.as_completed(work)]
    n_bad = len(good) - sum(good)
    print(f"{len(good)} rows with torch {version}, {n_bad} not as expected, {time.monotonic() - started:.0f} s")
    return 1 if n_bad else 0


if __name__ == "__main__":
    sys.exit(main())
