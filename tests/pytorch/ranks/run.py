"""Runs every way of spreading a model over ranks on virtual cards, and compares the figures with those on paper.

  run.py --tidemark TIDEMARK --python PYTHON [--full] [--keep FOLDER] [NAME...]

Each case is one `tidemark run -- torchrun`: all ranks end with status 0 and leave a snapshot each. A case is run with 2
ranks, and with --full with 4 where that makes sense. Packages that this Python has not are skipped, and named. NAME is the beginning of a case's name.
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import paper
from snapshots import Snapshot

HERE = Path(__file__).resolve().parent
SECONDS = 240  # of one case; the machine may have other work


@dataclass(frozen=True)
class Case:
    name: str
    arguments: list[str]
    script: str = "ways.py"
    n_ranks: tuple[int, ...] = (2,)
    checks: list = field(default_factory=list)  # of paper.py: (ranks' figures, ranks' snapshots) -> faults
    is_range: bool = False  # the peak depends on when the watchdog looks, and the answer must report that
    streams: str = "now"
    says: str = ""  # of the answer
    needs: str = ""  # a package that PyTorch does not bring
    equals: str = ""  # rank 0 alone, in PyTorch's "fake" backend, has the peak of the case of this name


@dataclass
class Seen:
    status: int
    seconds: float
    figures: dict[int, dict[str, int]]  # by rank
    snapshots: list[Snapshot]
    output: str


CASES = [
    Case("values", [], "values.py", (2, 4)),
    Case("ddp", ["ddp"], n_ranks=(2, 4), checks=[paper.whole_parameters, paper.buckets, paper.equal_peaks], is_range=True),
    Case("ddp views", ["ddp", "views"], checks=[paper.whole_parameters, paper.buckets, paper.equal_peaks], is_range=True),
    Case("ddp recompute", ["ddp", "recompute"], checks=[paper.whole_parameters, paper.equal_peaks], is_range=True),
    Case("ddp recompute late", ["ddp", "recompute"], checks=[paper.whole_parameters, paper.equal_peaks], is_range=True, streams="late"),
    Case("ddp recompute both", ["ddp", "recompute"], streams="both",
         says="the peaks depend on when work on streams completes: allocated 691.31 MiB to 795.86 MiB, reserved"),
    Case("ddp eager", ["ddp", "eager"], checks=[paper.whole_parameters, paper.equal_peaks], is_range=True),
    Case("zero", ["zero"], n_ranks=(2, 4), checks=[paper.whole_parameters], is_range=True),
    Case("fsdp1", ["fsdp1"], n_ranks=(2, 4), checks=[paper.equal_peaks, paper.shards]),
    Case("fsdp1 mixed", ["fsdp1", "mixed"], checks=[paper.equal_peaks, paper.shards]),
    Case("fsdp2", ["fsdp2"], n_ranks=(2, 4), checks=[paper.equal_peaks, paper.shards, paper.gathers, paper.scatters]),
    Case("fsdp2 mixed", ["fsdp2", "mixed"], checks=[paper.equal_peaks, paper.shards, paper.mixed_gathers]),
    Case("fsdp2 keep", ["fsdp2", "keep"], checks=[paper.equal_peaks, paper.shards]),
    Case("fsdp2 offload", ["fsdp2", "offload"], checks=[paper.equal_peaks, paper.shards]),
    Case("fsdp2 meta recompute", ["fsdp2", "meta", "recompute"], checks=[paper.equal_peaks, paper.shards, paper.gathers]),
    Case("fsdp2 save", ["fsdp2", "save"], n_ranks=(2, 4), checks=[paper.equal_peaks, paper.shards]),
    Case("tensor parallel", ["tensor_parallel"], n_ranks=(2, 4), checks=[paper.equal_peaks, paper.split_layers]),
    Case("tensor and fsdp", ["tensor_and_fsdp"], n_ranks=(2, 4), checks=[paper.equal_peaks]),
    Case("pipeline", ["pipeline"], checks=[paper.stages]),
    Case("pipeline 1f1b", ["pipeline", "1f1b", "known"], n_ranks=(2, 4), checks=[paper.stages]),
    Case("context parallel", ["context_parallel"], n_ranks=(2, 4)),
    # The fake backend does not serve DDP: its reducer finds no result.
    Case("fsdp1 fake", ["fsdp1", "fake"], equals="fsdp1"),
    Case("fsdp2 fake", ["fsdp2", "fake"], equals="fsdp2"),
    Case("fsdp2 mixed fake", ["fsdp2", "mixed", "fake"], equals="fsdp2 mixed"),
    Case("fsdp2 keep fake", ["fsdp2", "keep", "fake"], equals="fsdp2 keep"),
    Case("tensor parallel fake", ["tensor_parallel", "fake"], equals="tensor parallel"),
    Case("accelerate", ["accelerate"], "packages.py", (2, 4), [paper.whole_parameters, paper.equal_peaks], is_range=True, needs="accelerate"),
    Case("deepspeed 1", ["deepspeed", "1"], "packages.py", (2, 4), [paper.equal_peaks, paper.halves], needs="deepspeed"),
    Case("deepspeed 2", ["deepspeed", "2"], "packages.py", (2, 4), [paper.equal_peaks, paper.halves], needs="deepspeed"),
    Case("deepspeed 3", ["deepspeed", "3"], "packages.py", (2, 4), [paper.equal_peaks, paper.half_shards], needs="deepspeed"),
    Case("megatron", ["megatron"], "packages.py", (2, 4), [paper.equal_peaks, paper.megatron], needs="megatron"),
    Case("torchtitan", [], "titan.py", (2,), [paper.equal_peaks], needs="torchtitan"),
]


def starter(case: Case, n: int) -> list[str]:
    return [] if case.equals else ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(n)]


def run(case: Case, n: int, chosen: argparse.Namespace, folder: Path) -> Seen:
    command = [str(chosen.tidemark), "run", "--device", f"virtual:h100-80x{n}", "--streams", case.streams,
               "-o", "rank.json.gz", "--", chosen.python, *starter(case, n), str(HERE / case.script), *case.arguments]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TIDEMARK_", "PYTORCH_", "TORCH_", "CUDA_"))}
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    if case.equals:
        environment |= {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": str(n)}
    started = time.monotonic()
    program = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output, _ = program.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGKILL)
        output, _ = program.communicate()
    figures: dict[int, dict[str, int]] = {}
    for rank, name, n_bytes in re.findall(r"rank (\d+): ([\w ]+): (\d+)", output):
        figures.setdefault(int(rank), {})[name] = int(n_bytes)
    snapshots = [Snapshot(folder / f"rank-rank{i}.json.gz") for i in range(n) if (folder / f"rank-rank{i}.json.gz").exists()]
    return Seen(program.returncode, time.monotonic() - started, figures, snapshots, output)


def faults(case: Case, n: int, seen: Seen) -> list[str]:
    if seen.status != 0:
        return [f"it ended with status {seen.status}"]
    found = []
    if len(seen.snapshots) != n:
        found.append(f"{len(seen.snapshots)} snapshots, not {n}")
    if case.script != "values.py" and sorted(seen.figures) != list(range(n)):
        found.append(f"ranks {sorted(seen.figures)} reported their figures, not all of {n}")
    if found:
        return found
    return says_faults(case, seen) + range_faults(case, seen) + [fault for check in case.checks for fault in check(seen.figures, seen.snapshots)]


def range_faults(case: Case, seen: Seen) -> list[str]:
    """The ends that the snapshots have of a peak that is a range: the one that was run, or both of them."""
    found = []
    for rank, snapshot in enumerate(seen.snapshots):
        ends = [(row["allocated_low_bytes"], row["allocated_high_bytes"]) for row in snapshot.document.get("peak_range", [])]
        wanted = {"now": (True, False), "late": (False, True), "both": (True, True)}[case.streams]
        is_range = case.is_range or case.streams == "both"
        if is_range and (len(ends) != 1 or tuple(end > 0 for end in ends[0]) != wanted):
            found.append(f"the snapshot of rank {rank} has the ends {ends} of its peak")
        if case.streams == "both" and ends and ends[0][0] >= ends[0][1]:
            found.append(f"the ends {ends} of rank {rank} are not the low and the high one")
    return found


def says_faults(case: Case, seen: Seen) -> list[str]:
    """The expected answer, about NCCL and otherwise."""
    found = [] if case.says in seen.output else [f"the answer does not say: {case.says}"]
    if "NCCL's own memory is a model: likely" not in seen.output:
        found.append("the answer does not say that NCCL's own memory is a model")
    if case.says and not re.search(r"what differs most at the two peaks is held by \w+ \(ways\.py:", seen.output):
        found.append("the answer does not say what differs at the two peaks")
    end = "high" if case.streams == "late" else "low"
    says_range = f"the peak may be the {end} end of a range" in seen.output
    if case.is_range and not says_range:
        found.append("the answer does not say that the peak may be an end of a range")
    if case.name.startswith("fsdp") and says_range:
        found.append("the answer says that the peak may be an end of a range, and it is not")
    return found


def fake_faults(case: Case, seen: Seen, chosen: argparse.Namespace, scratch: Path) -> list[str]:
    """Beside the same case with our NCCL, which runs for this."""
    if seen.status != 0:
        return [f"it ended with status {seen.status}"]
    ours = next(other for other in CASES if other.name == case.equals)
    folder = scratch / f"beside-{case.name.replace(' ', '_')}"
    folder.mkdir()
    wanted = run(ours, 2, chosen, folder).figures.get(0, {}).get("peak")
    got = seen.figures.get(0, {}).get("peak")
    return [] if got is not None and got == wanted else [f"peak {got} in the fake backend, {wanted} with our NCCL"]


def report(case: Case, n: int, seen: Seen, found: list[str]) -> bool:
    peaks = " ".join(f"{seen.figures[rank]['peak'] / 2**20:.1f}" for rank in sorted(seen.figures) if "peak" in seen.figures[rank])
    print(f"{'FAIL' if found else 'ok':4} {n} ranks  {case.name:22} peak MiB {peaks:32} {seen.seconds:5.1f} s", flush=True)
    for fault in found:
        print(f"     {fault}", flush=True)
    if found and seen.status != 0:
        print("\n".join(f"     | {line[:200]}" for line in seen.output.splitlines()[-25:]), flush=True)
    return not found


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True)
    parser.add_argument("--tidemark", required=True, type=lambda text: Path(text).resolve(strict=True))
    parser.add_argument("--full", action="store_true", help="with 4 ranks, and beside the fake backend too")
    parser.add_argument("--keep", type=Path, help="a folder for what each case leaves")
    parser.add_argument("names", nargs="*", metavar="NAME")
    return parser.parse_args()


def has_package(case: Case, python: str) -> bool:
    question = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({case.needs!r}) is None)"
    if not case.needs or subprocess.run([python, "-c", question]).returncode == 0:
        return True
    print(f"skip {case.name}: this Python has no {case.needs}", flush=True)
    return False


def main() -> int:
    chosen = arguments()
    work = [(case, n) for case in CASES if not chosen.names or case.name.startswith(tuple(chosen.names))
            for n in (case.n_ranks if chosen.full else case.n_ranks[:1]) if chosen.full or not case.equals]
    work = [(case, n) for case, n in work if has_package(case, chosen.python)]
    if not work:
        sys.exit("no case has such a name")
    n_bad = 0
    with tempfile.TemporaryDirectory() as scratch:
        for case, n in work:
            folder = (chosen.keep or Path(scratch)) / f"{case.name.replace(' ', '_')}-{n}"
            folder.mkdir(parents=True)
            seen = run(case, n, chosen, folder)
            found = fake_faults(case, seen, chosen, Path(scratch)) if case.equals else faults(case, n, seen)
            n_bad += not report(case, n, seen, found)
            if chosen.keep is None:
                shutil.rmtree(folder)
    print(f"{len(work)} cases, {n_bad} not as expected")
    return 1 if n_bad else 0


if __name__ == "__main__":
    sys.exit(main())
