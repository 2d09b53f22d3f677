"""The recording by the preloaded library compared with PyTorch's own memory history of the same runs, on a virtual
card.

  check_truth.py --tidemark TIDEMARK --python PYTHON [--full] [--zoo] [--jobs N] [--keep FOLDER] [NAME...]

PYTHON is the interpreter of an environment with a CUDA build of PyTorch. compare.py defines what is compared; one
difference is a failure, and so is an undetected planted fault (faults.py). Without --full only the cases run that a
change is checked with; --zoo takes the rows of ../zoo instead of the cases. NAME is the beginning of a case's name.
"""
import argparse
import concurrent.futures
import copy
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import compare
from cases import CASES, Case
from faults import FAULTS

HERE = Path(__file__).resolve().parent
ZOO = HERE.parent / "zoo"
PASSED_ON = ("PATH", "HOME", "LANG", "TMPDIR", "XDG_CACHE_HOME", "USER")


class Outcome(NamedTuple):
    result: compare.Result
    status: int
    seconds: float
    stderr: str


def environment(case):
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return kept | {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"} | case.environment


def by_preload_alone(chosen, case, folder):
    """Without the command: only the two libraries, without our package in the program."""
    libraries = [chosen.libraries / f"libtidemark_{name}.so" for name in ("live", "virtual_cuda")]
    place = folder / "lib"
    place.mkdir()
    for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
        (place / name).symlink_to(libraries[1])
    return {"TIDEMARK_LIVE": str(folder / "%p.log"), "TIDEMARK_LIVE_STACKS": case.stacks, "TIDEMARK_PROGRAM": str(chosen.tidemark),
            "TIDEMARK_VIRTUAL_CARDS": case.device.removeprefix("virtual:"), "LD_LIBRARY_PATH": str(place),
            "LD_PRELOAD": ":".join(map(str, libraries))}


def seeded(chosen, case, folder):
    """The same PyTorch under another version: a folder of links beside a version.py of its own."""
    found = subprocess.run([chosen.python, "-c", "import torch; print(torch.__path__[0], torch.version.__version__)"],
                           capture_output=True, text=True, check=True).stdout.split()
    source, copy_of = Path(found[0]), folder / "site" / "torch"
    copy_of.mkdir(parents=True)
    for path in source.iterdir():
        (copy_of / path.name).symlink_to(path)
    text = (source / "version.py").read_text().replace(found[1], case.seeded_version)
    (copy_of / "version.py").unlink()
    (copy_of / "version.py").write_text(text)
    return {"PYTHONPATH": str(copy_of.parent)}


def check_seeded(run, case, result):
    """An unknown version is recorded and reported."""
    said = run.log.texts.get("live.limited", "")
    if run.log.texts.get("software.torch") != case.seeded_version or not said.startswith(f"PyTorch {case.seeded_version} is not known"):
        result.differs("version", run.log.texts.get("software.torch"), said)


def command(chosen, case, folder):
    own = ["--own"] if case.has_own_history else []
    theirs = "python" if case.stacks == "python" else "all"
    program = [chosen.python, "-B", str(HERE / "recorded.py"), "--stacks", theirs, *own, str(folder),
               str(HERE / case.script), *case.arguments]
    if case.is_preload_alone:
        return program
    return [str(chosen.tidemark), "run", "--device", case.device, "--log", str(folder / "%p.log"), "--stacks", case.stacks,
            "--writes", "allow", "-o", str(folder / "whole.json.gz"), "--html", str(folder / "whole.html"), *case.options,
            "--", *program]


def check_faults(run, result):
    """Each fault planted in the read data must be detected."""
    if result.texts:
        return
    for name, plant in FAULTS.items():
        if not run.can_see(name):
            result.notes.append(f"{name} cannot be seen with this PyTorch")
            continue
        spoilt = copy.deepcopy(run)
        plant(spoilt)
        if not spoilt.compared().texts:
            result.differs("fault", f"{name} was planted and not seen")


def run_case(chosen, case, scratch):
    folder = scratch / case.name.replace(" ", "_")
    folder.mkdir()
    environ = environment(case) | (by_preload_alone(chosen, case, folder) if case.is_preload_alone else {})
    environ |= seeded(chosen, case, folder) if case.seeded_version else {}
    started = time.monotonic()
    done = subprocess.run(command(chosen, case, folder), cwd=folder, env=environ, stdin=subprocess.DEVNULL, check=False,
                          capture_output=True, text=True, errors="replace", timeout=600)
    seconds = time.monotonic() - started
    try:
        run = compare.Run(chosen.tidemark, folder, case.stacks)
        result = run.compared()
        result.actions.update(run.readings[-1]["lacks"])
        if case.seeded_version:
            check_seeded(run, case, result)
        if case.has_faults:
            check_faults(run, result)
    except (OSError, ValueError, KeyError, AssertionError, subprocess.CalledProcessError) as error:
        result = compare.Result()
        result.differs("run", f"nothing to compare: {type(error).__name__}: {error}")
    if not chosen.keep:
        shutil.rmtree(folder, ignore_errors=True)
    return Outcome(result, done.returncode, seconds, done.stderr)


def check_shapes(cases, outcomes):
    """How many programs did something else with our package in them than without. The order may differ: some caches are
    ordered by address."""
    n_bad = 0
    for case in cases:
        if case.as_in in outcomes and outcomes[case.name].result.shape != outcomes[case.as_in].result.shape:
            print(f"FAIL {case.name}: the program takes and frees other memory than in '{case.as_in}'", flush=True)
            n_bad += 1
    return n_bad


def report(case, outcome):
    """Whether the case passes."""
    result, texts = outcome.result, list(outcome.result.texts)
    if outcome.status != case.status:
        texts.append(f"the program ended with status {outcome.status}, not {case.status}")
    if result.counts["events"] < case.at_least:
        texts.append(f"only {result.counts['events']} events, not {case.at_least} or more")
    texts += [f"no event was {action}" for action in case.actions if action not in result.actions]
    print(f"{'ok' if not texts else 'FAIL':4} {case.name:40} {result.says()} {outcome.seconds:6.1f} s", flush=True)
    for text in texts:
        print(f"     {text[:600]}", flush=True)
    for line in outcome.stderr.splitlines()[-12:] if texts else ():
        print(f"     | {line[:300]}", flush=True)
    return not texts


def zoo_cases(full):
    """The rows of the zoo, as cases."""
    sys.path.insert(0, str(ZOO))
    import verdicts

    return [Case(row.name, f"../zoo/{row.script}", arguments=row.arguments, device=row.device, environment=row.environment,
                 options=row.options, status=row.status, at_least=0)
            for row in verdicts.read(ZOO / "verdicts.json") if full or row.group == "torch"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tidemark", required=True, type=lambda text: Path(text).resolve(strict=True))
    parser.add_argument("--python", required=True)
    parser.add_argument("--full", action="store_true", help="the cases that take long, too")
    parser.add_argument("--zoo", action="store_true", help="the rows of the zoo in the place of the cases")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", help="an empty folder that keeps what every case left")
    parser.add_argument("names", nargs="*", metavar="NAME")
    chosen = parser.parse_args()
    chosen.libraries = chosen.tidemark.parent.parent / "programs"
    return chosen


def main():
    chosen = arguments()
    cases = zoo_cases(chosen.full) if chosen.zoo else [case for case in CASES if chosen.full or not case.is_long]
    cases = [case for case in cases if not chosen.names or case.name.startswith(tuple(chosen.names))]
    if not cases:
        sys.exit("no case has such a name")
    started, n_bad, outcomes = time.monotonic(), 0, {}
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(chosen.jobs) as pool:
        work = {pool.submit(run_case, chosen, case, Path(chosen.keep or scratch)): case for case in cases}
        for done in concurrent.futures.as_completed(work):
            outcomes[work[done].name] = done.result()
            n_bad += not report(work[done], done.result())
    n_bad += check_shapes(cases, outcomes)
    n_events = sum(outcome.result.counts["events"] for outcome in outcomes.values())
    print(f"{len(cases)} runs beside PyTorch's own history, {n_events} events, {n_bad} not as expected, "
          f"{time.monotonic() - started:.0f} s")
    return 1 if n_bad else 0


if __name__ == "__main__":
    sys.exit(main())
