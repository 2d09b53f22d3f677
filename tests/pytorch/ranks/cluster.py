"""Some ranks of a larger world, the ranks of a node, and the answer about them.

  cluster.py --tidemark TIDEMARK --python PYTHON [NAME...]
"""
import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from snapshots import Snapshot

HERE = Path(__file__).resolve().parent
SECONDS = 240  # of one run; the machine may have other work
MIB = 1 << 20


class Run:
    def __init__(self, options, command, device="h100-80x8", script="world.py"):
        self.folder = tempfile.TemporaryDirectory(prefix="tidemark-cluster-")
        begin = time.monotonic()
        done = subprocess.run(
            [ARGUMENTS.tidemark, "run", "--device", f"virtual:{device}", "-o", "run.json.gz", *options, "--", *command],
            cwd=self.folder.name, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, text=True, errors="replace",
        )
        self.seconds = time.monotonic() - begin
        self.status, self.output = done.returncode, done.stdout
        self.answer = [line for line in self.output.splitlines() if line.startswith("tidemark")]
        self.figures = {int(rank): (int(shard), int(peak)) for rank, shard, peak in re.findall(r"FIGURES (\d+) (\d+) (\d+)", self.output)}

    def has(self, *texts):
        for text in texts:
            assert any(text in line for line in self.answer), f"the answer does not say: {text}"

    def ranks_of_files(self):
        return sorted(int(re.search(r"rank(\d+)\.json", path.name)[1]) for path in Path(self.folder.name).glob("run-rank*.json.gz"))


def world(n, ranks, what, *more, **kwargs):
    return Run(["--world", str(n), "--ranks", ranks, *more], [ARGUMENTS.python, str(HERE / "world.py"), what], **kwargs)


def torchrun(n, what, *options):
    starter = str(Path(ARGUMENTS.python).parent / "torchrun")
    return Run(list(options), [starter, "--nproc-per-node", str(n), str(HERE / "world.py"), what], device=f"h100-80x{n}")


def check_some_ranks_of_64_are_sharded_like_all():
    run = world(64, "0,7,63", "data")
    yield run
    assert run.status == 0, run.status
    assert sorted(run.figures) == [0, 7, 63], run.figures
    assert run.ranks_of_files() == [0, 7, 63], run.ranks_of_files()
    n_parameters = 2 * 8192 * 512 + 4 * (2 * 4 * 512 * 512 + 2 * 512)
    for rank, (shard, _) in run.figures.items():
        assert 0 <= shard - n_parameters * 4 // 64 < 64 * 512, (rank, shard)
    run.has("on all 3 ranks that ran, of 64", "ranks 0, 7, 63: allocated")


def check_one_rank_alone_has_the_same_figures():
    run = world(64, "7", "data")
    yield run
    beside = world(64, "0,7,63", "data")
    assert run.status == 0 and run.figures[7] == beside.figures[7], (run.figures, beside.figures)
    run.has("on one rank of 64, rank 7")


def check_ranks_of_a_world_of_1024_have_several_unique_ids():
    run = world(1024, "0,7,511,1023", "data")
    yield run
    assert run.status == 0 and sorted(run.figures) == [0, 7, 511, 1023], (run.status, run.figures)
    run.has("on all 4 ranks that ran, of 1024")
    rank = Snapshot(Path(run.folder.name) / "run-rank511.json.gz").document["rank"]
    assert (rank["rank"], rank["local_rank"], rank["world_size"]) == (511, 7, 1024), rank
    assert run.seconds < 120, run.seconds


def check_auto_chooses_the_stages_of_a_pipeline():
    run = world(16, "auto", "pipeline")
    yield run
    assert run.status == 0, run.status
    assert sorted(run.figures) == [0, 1, 6, 8, 15], run.figures
    run.has("rank 0 ran first", "8 (stage 2 of 2 of pp)", "1 (the last of tp)", "6 (the last of dp)", "This is a choice, and no proof")
    assert run.figures[8][1] > run.figures[0][1], "the last stage has the output matrix"
    run.has("is the fullest")


def check_all_ranks_run_by_torchrun_are_one_answer():
    run = torchrun(4, "pipeline")
    yield run
    assert run.status == 0 and run.ranks_of_files() == [0, 1, 2, 3], (run.status, run.ranks_of_files())
    run.has("on all 4 ranks; rank 2 is the fullest", "ranks 0, 1: allocated", "ranks 2, 3: allocated")
    groups = Snapshot(Path(run.folder.name) / "run-rank3.json.gz").document["rank"]["groups"]
    found = {group["name"]: (group["size"], group["position"], group["first"], group["stride"]) for group in groups}
    assert found["pp"] == (2, 1, 1, 2) and found["tp"] == (2, 1, 2, 1), found


def check_cards_of_a_node_share_by_handles_and_copy():
    run = torchrun(2, "ipc")
    yield run
    assert run.status == 0 and sorted(run.figures) == [0, 1], (run.status, run.figures)


def check_the_rank_that_failed_first_is_named():
    run = world(64, "0,7,8", "fail")
    yield run
    assert run.status == 1, run.status
    run.has("rank 7 failed first: ValueError: rank 7 is at fault, at fail (world.py:")
    assert run.seconds < 60, run.seconds


def check_the_rank_that_ran_out_of_memory_is_named():
    run = torchrun(4, "large")
    yield run
    assert run.status == 1, run.status
    run.has("it does not fit virtual:h100-80: rank 3 ran out of memory first", "rank 3: allocated")


def check_communicators_are_split_among_absent_ranks():
    run = world(16, "0,7", "split")
    yield run
    assert run.status == 0, run.status
    sums = dict(re.findall(r"SUMS (\d+) ([\d. ]+\d)", run.output))
    # Ranks hold their number + 1, and absent ones what the reader holds: 2 of 8 run in a row, one in a column.
    assert sums == {"0": "2.0 15.0 10.0", "7": "16.0 57.0 17.0"}, sums


def check_gloo_is_refused():
    run = world(64, "0,8", "gloo")
    yield run
    assert run.status == 1, run.status
    run.has('gloo connects each rank with every other, and some of them do not run: let the program make its groups with init_process_group("nccl")')


def check_a_key_of_an_absent_rank_is_named():
    run = world(64, "0,8", "key")
    yield run
    assert run.status == 1, run.status
    run.has("what rank 1 says", "name that rank in --ranks")


def check_each_communicator_is_charged():
    free = [re.search(r"([0-9.]+) GiB are left", " ".join(run.answer))[1] for run in (world(64, "0", "data"), world(64, "0", "data", "--nccl-bytes", "1GiB"))]
    yield None
    assert round(float(free[0]) - float(free[1]), 1) == 1.0, free


def check_starters_are_refused():
    run = Run(["--world", "8", "--ranks", "0"], [ARGUMENTS.python, "-m", "torch.distributed.run", "x.py"])
    yield run
    assert run.status == 125, run.status
    run.has("torch.distributed.run starts the ranks itself, and so does --world")


def main():
    global ARGUMENTS
    parser = argparse.ArgumentParser()
    parser.add_argument("--tidemark", required=True, type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--python", required=True, type=lambda path: str(Path(path).absolute()))
    parser.add_argument("names", nargs="*")
    ARGUMENTS = parser.parse_args()
    n_failed = n_run = 0
    for name, check in list(globals().items()):
        title = name.removeprefix("check_").replace("_", " ")
        if not name.startswith("check_") or (ARGUMENTS.names and not any(part in title for part in ARGUMENTS.names)):
            continue
        n_run += 1
        run, begin = None, time.monotonic()
        try:
            for run in check():
                pass
            print(f"ok      {title} ({time.monotonic() - begin:.0f} s)", flush=True)
        except (AssertionError, KeyError, OSError, subprocess.TimeoutExpired) as error:
            n_failed += 1
            print(f"FAILED  {title}: {type(error).__name__}: {error}\n{run.output if run is not None else ''}", flush=True)
    print(f"cluster: {n_run} checks, {n_failed} failed")
    return 1 if n_failed or n_run == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
