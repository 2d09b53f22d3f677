"""What the virtual card costs: virtual_card.py --tidemark TIDEMARK --python PYTHON [--runs N] [share steps llama start]

  share   of the samples of steady GPT-2-small steps, how many are in our objects (perf); history and values are off
  steps   the time of such a step with the card alone, with PyTorch's history, and with values
  llama   a step of Llama 7B's shape: seconds in all, and the memory of every process that took part
  start   how much later than without us a program has imported PyTorch, and has made its first tensor on the card

What is compared takes turns, run by run. Times are medians, with the smallest and the largest.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STEPS = ROOT / "bench" / "pytorch" / "virtual_card_steps.py"
LLAMA = ROOT / "tests" / "pytorch" / "zoo" / "llama7b.py"
OURS = ("libtidemark", "libcuda.so", "libnvidia-ml.so")  # the links lead to the first
CARD = "virtual:h100-80"


class Ways:
    """How a program can be started: plainly, on the card alone, or by tidemark run with its options."""

    def __init__(self, tidemark: Path, python: str, folder: Path):
        self.tidemark, self.python, self.folder = tidemark, python, folder
        self.library = tidemark.parents[1] / "programs" / "libtidemark_virtual_cuda.so"
        (folder / "links").mkdir()
        for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
            (folder / "links" / name).symlink_to(self.library)

    def start(self, way: str, arguments: list[str]) -> "subprocess.Popen[str]":
        """`way`: "plain", "card", or the words of --values for tidemark run."""
        environment = dict(os.environ)
        command = [self.python, *arguments]
        if way == "card":
            environment |= {"LD_PRELOAD": str(self.library), "LD_LIBRARY_PATH": str(self.folder / "links"),
                            "TIDEMARK_VIRTUAL_CARDS": CARD.split(":")[1]}
        elif way != "plain":
            file = tempfile.mktemp(".json.gz", dir=self.folder)
            command = [str(self.tidemark), "run", "--device", CARD, "--values", way, "-o", file, "--", *command]
        return subprocess.Popen(command, env=environment, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def said(values: list[float], unit: str = "s", digits: int = 2) -> str:
    return f"{statistics.median(values):.{digits}f} {unit} ({min(values):.{digits}f} to {max(values):.{digits}f}, {len(values)} values)"


def share(ways: Ways, runs: int) -> None:
    for run in range(runs):
        program = ways.start("card", [str(STEPS), "5", "5000"])
        assert program.stdout is not None
        while program.stdout.readline().strip() != "warm":
            pass
        data = ways.folder / "perf.data"
        subprocess.run(["perf", "record", "-q", "-F", "997", "-e", "cpu-clock", "-o", str(data), "-p", str(program.pid), "--", "sleep", "6"], check=True)
        program.kill()
        program.communicate()
        text = subprocess.run(["perf", "report", "-i", str(data), "--sort", "dso", "--stdio", "-q"], capture_output=True, text=True, check=True).stdout
        rows = [(float(found[1]), found[2]) for found in re.finditer(r"^\s*([\d.]+)%\s+(\S+)", text, re.M)]
        ours = sum(percent for percent, name in rows if name.startswith(OURS))
        print(f"share, run {run + 1}: {ours:.2f} % of the samples in our objects; most in", ", ".join(f"{n} {p:.0f} %" for p, n in rows[:5]), flush=True)


def steps(ways: Ways, runs: int) -> None:
    """The same steps in each way. There is no card here to compare with; the first way is the card alone."""
    kinds = {"card": "the card alone", "zero": "with history", "auto": "with history and values"}
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(runs):
        for kind in kinds:
            output, _ = ways.start(kind, [str(STEPS), "5", "30"]).communicate()
            seconds = [float(found) for found in re.findall(r"^step ([\d.]+)$", output, re.M)]
            if len(seconds) != 30:
                sys.exit(f"{kinds[kind]}: the steps did not come to an end")
            times[kind].append(statistics.median(seconds) * 1e3)
    for kind, text in kinds.items():
        print(f"step, {text}: {said(times[kind], 'ms', 1)}", flush=True)


def processes_below(pid: int) -> list[int]:
    """The process and all that it started, by the list of children that the kernel keeps for each thread."""
    found = [pid]
    for one in found:
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                found += [int(child) for child in task.read_text().split()]
            except OSError:
                continue
    return found


def memory_kib(pid: int) -> int:
    """Bytes in memory of a process; what processes share counts in parts (Pss)."""
    try:
        return int(re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)[1])  # type: ignore[index]
    except (OSError, TypeError):
        return 0


def llama(ways: Ways, runs: int) -> None:
    seconds, memory = [], []
    for _ in range(runs):
        started = time.monotonic()
        program = ways.start("auto", [str(LLAMA), "checkpoint"])
        most = 0
        reader = threading.Thread(target=program.communicate)
        reader.start()
        while reader.is_alive():
            most = max(most, sum(memory_kib(pid) for pid in processes_below(program.pid)))
            time.sleep(0.05)
        if program.returncode != 0:
            sys.exit("the step of Llama's shape did not come to an end")
        seconds.append(time.monotonic() - started)
        memory.append(most / 1024)
    print(f"llama: {said(seconds)} in all, {said(memory, 'MiB', 0)} of host memory")


STAMPS = "import time, torch; a = time.time(); torch.empty(1, device='cuda'); print(a, time.time())"
PLAIN = "import time, torch; print(time.time(), time.time())"


def start(ways: Ways, runs: int) -> None:
    stamps: dict[str, list[tuple[float, float, float]]] = {"plain": [], "card": [], "auto": []}
    for run in range(runs + 1):
        for way, found in stamps.items():
            started = time.time()
            output, _ = ways.start(way, ["-c", PLAIN if way == "plain" else STAMPS]).communicate()
            imported, made = (float(text) - started for text in output.split())
            if run > 0:  # the first round fills the caches of files
                found.append((imported, made, time.time() - started))
    base = [s[0] for s in stamps["plain"]]
    print(f"start, without us: PyTorch imported after {said(base)}; ended after {said([s[2] for s in stamps['plain']])}")
    for way, text in (("card", "the card alone"), ("auto", "tidemark run")):
        later = [s[0] - b for s, b in zip(stamps[way], base)]
        tensor = [s[1] - s[0] for s in stamps[way]]
        ended = [s[2] - s[1] for s in stamps[way]]
        print(f"start, {text}: imported {said(later)} later; first tensor {said(tensor)} after that; ended {said(ended)} after that")


PARTS = {"share": share, "steps": steps, "llama": llama, "start": start}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tidemark", required=True, type=lambda text: Path(text).resolve(strict=True))
    parser.add_argument("--python", required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], metavar="PART")
    chosen = parser.parse_args()
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        ways = Ways(chosen.tidemark, chosen.python, Path(folder))
        for part in chosen.parts or PARTS:
            PARTS[part](ways, chosen.runs)
    print(f"load of the machine: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
