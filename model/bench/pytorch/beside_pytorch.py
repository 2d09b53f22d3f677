#!/usr/bin/env python3
"""Time a training step beside the same model in PyTorch, on the cpu or a GPU.

Each round runs every side once, in a process of its own that begins with warm-up steps. The order
of the sides is reversed from one round to the next. Sides: tidemark in fp32, PyTorch in fp32, and tidemark in
bf16-mixed where the build computes it. Prints the ratios against their targets; -o writes a page
for docs/results/ with every sample. docs/results/README.md says what "the same" means here.

With --device cuda, or with lists of sizes, contexts or precisions, it runs a grid: tidemark, PyTorch
eager and torch.compile in every cell. It reports the phases by the device's clock and the peaks of
both allocators.
"""

from __future__ import annotations

import argparse
import datetime
import math
import platform
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable

import grid
import programs
import report
from programs import BenchError, Refused, Result
from samples import added, compare, median
from shapes import Shape, add_shape_options, count, shape_from, shape_words

TIDEMARK = "tidemark fp32"
PYTORCH = "PyTorch fp32"
BF16 = "tidemark bf16-mixed"
COMPARISONS = {"pytorch": (TIDEMARK, PYTORCH), "bf16-mixed": (BF16, TIDEMARK)}
# The largest ratio wanted, of the default shape on two threads.
TARGETS = {
    (TIDEMARK, PYTORCH): {"forward + backward": 1.0, "optimizer": 0.5},
    (BF16, TIDEMARK): {"forward + backward": 1.5},
}
MISSED_STATUS = 4  # as tidemark's, of a gate that fails
BUSY_CORES = 0.1  # other programs' cores above which a process's samples are worth a warning


def parse_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_shape_options(parser)
    parser.add_argument("--device", default="cpu", help="cpu, or cuda[:N] for a grid of runs")
    grid.add_options(parser)
    group = parser.add_argument_group("measurement")
    group.add_argument("--rounds", type=count, default=5, metavar="N", help="default %(default)s")
    group.add_argument("--warmup", type=count, default=2, metavar="N", help="default %(default)s")
    group.add_argument("--steps", type=count, default=5, metavar="N", help="default %(default)s")
    group.add_argument("--threads", type=count, default=2, metavar="N", help="default %(default)s")
    group.add_argument(
        "--wait-policy",
        choices=("passive", "active", "default"),
        default="passive",
        help="how idle threads of both sides wait (OMP_WAIT_POLICY); default %(default)s",
    )
    group.add_argument("--only", choices=list(COMPARISONS), help="one of the two comparisons")
    group = parser.add_argument_group("programs")
    group.add_argument("--tidemark", default="build/release/cli/tidemark", metavar="PROGRAM")
    group.add_argument("--python", metavar="PROGRAM", help="an interpreter that has PyTorch")
    group.add_argument(
        "--attention", choices=("naive", "sdpa"), default="naive", help="PyTorch's; default naive"
    )
    group.add_argument(
        "--optimizer",
        choices=("in-place", "out-of-place"),
        default="in-place",
        help="form of the loop on PyTorch's side; the course writes it out of place",
    )
    group = parser.add_argument_group("output")
    group.add_argument("-o", "--output", metavar="FILE.md", help="write the page with all samples")
    group.add_argument("--gate", action="store_true", help="exit status 4 where a target is missed")
    return parser.parse_args()


class Bench:
    """The sides, and what they have measured so far."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options = options
        self.shape: Shape = shape_from(options)
        self.folder = folder
        self.variables = programs.environment(options.threads, options.wait_policy)
        self.tidemark = programs.find_tidemark(options.tidemark)
        self.python = "" if options.only == "bf16-mixed" else programs.find_python(options.python)
        self.sides: dict[str, Callable[[], Result]] = {TIDEMARK: lambda: self.run_tidemark("fp32")}
        if options.only != "bf16-mixed":
            self.sides[PYTORCH] = self.run_pytorch
        if options.only != "pytorch":
            self.sides[BF16] = lambda: self.run_tidemark("bf16-mixed")
        self.results: dict[str, list[Result]] = {}
        self.refusals: dict[str, str] = {}

    def step_words(self) -> list[str]:
        """The options that both programs know by the same names."""
        options = self.options
        words = ["--mode", "train", "--warmup", str(options.warmup), "--steps", str(options.steps)]
        return [*shape_words(options), *words]

    def tidemark_words(self, precision: str) -> list[str]:
        """tidemark's command line after the program's name."""
        return ["profile", "--device", "cpu", "--precision", precision, *self.step_words()]

    def pytorch_words(self) -> list[str]:
        """The command line of PyTorch's side after the script's name."""
        options = self.options
        words = ["--threads", str(options.threads), "--attention", options.attention]
        return [*self.step_words(), *words, "--optimizer", options.optimizer]

    def run_tidemark(self, precision: str) -> Result:
        """One process of tidemark."""
        command = [str(self.tidemark), *self.tidemark_words(precision)]
        return programs.run_tidemark(command, self.variables, self.folder / "run.json.gz")

    def run_pytorch(self) -> Result:
        """One process of PyTorch."""
        command = [self.python, str(programs.STEPS), *self.pytorch_words()]
        return programs.run_pytorch(command, self.variables)

    def run_side(self, side: str) -> None:
        """Runs a side once and keeps its result; a refused precision ends the side."""
        try:
            result = self.sides[side]()
        except Refused as refusal:
            if side != BF16:
                raise
            self.refusals[side] = str(refusal)
            return
        expected = self.shape.n_parameters()
        if result.n_parameters != expected:
            raise BenchError(f"{side}: {result.n_parameters} parameters, {expected} expected")
        self.results.setdefault(side, []).append(result)

    def run_rounds(self) -> None:
        """All rounds, every other one from the last side to the first."""
        for number in range(self.options.rounds):
            order = list(self.sides)
            for side in order if number % 2 == 0 else reversed(order):
                if side in self.refusals:
                    continue
                self.run_side(side)
                self.say_progress(side, number)

    def say_progress(self, side: str, number: int) -> None:
        """One line on stderr for a process that has ended."""
        outcome = self.refusals.get(side)
        if outcome is None:
            phases = self.results[side][-1].phases
            times = [f"{name} {report.in_ms(median(phases[name]))} ms" for name in report.MEASURED]
            outcome = ", ".join(times)
            other_cores = self.results[side][-1].other_cores
            if other_cores > BUSY_CORES:
                outcome += f"; disturbed: other programs kept {other_cores:.2f} cores busy"
        print(f"round {number + 1} of {self.options.rounds}, {side}: {outcome}", file=sys.stderr)

    def other_cores(self) -> list[float]:
        """What other programs took during each process."""
        return [one.other_cores for results in self.results.values() for one in results]

    def series(self) -> dict[str, dict[str, list[list[float]]]]:
        """The samples by side, phase and round, with the sum of forward and backward."""
        found = {}
        for side, results in self.results.items():
            phases = {name: [one.phases[name] for one in results] for name in report.MEASURED}
            phases["forward + backward"] = added(phases["forward"], phases["backward"])
            found[side] = phases
        return found

    def tables(self) -> list[report.Table]:
        """The comparisons that were asked for."""
        series = self.series()
        tables = []
        for name, (above, below) in COMPARISONS.items():
            if self.options.only not in (None, name):
                continue
            rows = []
            for phase in report.PHASES if above in series else ():
                found = compare(series[above][phase], series[below][phase])
                rows.append(report.Row(phase, found, TARGETS[above, below].get(phase)))
            tables.append(report.Table(above, below, rows, self.refusals.get(above)))
        return tables


def check_first_loss(shape: Shape, loss: float) -> None:
    """At initialisation logits of variance 2 C / (C + V) cost C / (C + V) over a uniform guess."""
    expected = math.log(shape.vocab) + shape.d_model / (shape.d_model + shape.vocab)
    if abs(loss - expected) > 0.5:
        raise BenchError(f"PyTorch's first loss is {loss:.3f}, {expected:.3f} was expected")


def checks(bench: Bench) -> list[str]:
    """Sentences about what was found to be the same on both sides."""
    said = [f"Both models have {bench.shape.n_parameters():,} parameters."]
    if PYTORCH in bench.sides:
        options = bench.options
        said.append(
            programs.check_same_model(
                bench.tidemark, bench.python, options.attention, bench.variables
            )
        )
    return said


def system_name() -> str:
    """The distribution and the kernel."""
    try:
        name = platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        name = platform.system()
    return f"{name}, {platform.system()} {platform.release()}"


def revision() -> str:
    """The commit of the checkout, marked when files differ from it; empty without git."""
    command = ["git", "-C", str(programs.ROOT), "describe", "--always", "--dirty", "--abbrev=10"]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def blas_of(details: dict) -> str:
    """The linear algebra libraries of a PyTorch process, by file name."""
    return ", ".join(Path(file).name for file in details["blas"]) or "no file of its own"


def facts(bench: Bench) -> list[tuple[str, str]]:
    """What the figures hold for."""
    options = bench.options
    details = bench.results[TIDEMARK][0].details
    host, tool = details["host"], details["tool"]
    others = bench.other_cores()
    memory = f"{host['total_bytes'] / 2**30:.1f} GiB"
    commit = f", commit {revision()}" if revision() else ""
    command = shlex.join(["tidemark", *bench.tidemark_words("fp32")])
    rows = [
        ("machine", f"{host['cpu']}, {host['n_cpus']} cores, {memory}"),
        ("system", system_name()),
        ("other programs meanwhile", f"{median(others):.2f} cores, at most {max(others):.2f}"),
        ("tidemark", f"{tool['version']}, {tool['build']}{commit}"),
        ("", f"`{command}`"),
    ]
    if PYTORCH in bench.results:
        details = bench.results[PYTORCH][0].details
        words = shlex.join(["model/bench/pytorch/pytorch_steps.py", *bench.pytorch_words()])
        libraries = f"BLAS from {blas_of(details)}"
        rows.append(("PyTorch", f"{details['torch']}, Python {details['python']}, {libraries}"))
        rows.append(("", f"`{words}`"))
    waiting = f"OMP_NUM_THREADS {options.threads}, OMP_WAIT_POLICY {options.wait_policy}"
    rows.append(("both", waiting))
    steps = f"rounds: {options.rounds}; steps of each side in a round: {options.steps} measured"
    rows.append(("samples", f"{steps} after {options.warmup} of warm-up"))
    return rows


def page(bench: Bench, said: list[str]) -> str:
    """The page for docs/results/."""
    title = f"A training step beside PyTorch on the CPU, {datetime.date.today().isoformat()}"
    return report.document(title, facts(bench), [" ".join(said)], bench.tables(), bench.series())


def measure(options: argparse.Namespace, folder: Path) -> int:
    """Runs everything; the exit status."""
    bench = Bench(options, folder)
    said = checks(bench)
    bench.run_rounds()
    if PYTORCH in bench.results:
        first_loss = bench.results[PYTORCH][0].details["first_loss"]
        check_first_loss(bench.shape, first_loss)
        said.append(f"PyTorch's first loss is {first_loss:.3f}, as the initialisation has it.")
    print("\n".join(report.ratio_table(table) for table in bench.tables()))
    if options.output is not None:
        Path(options.output).write_text(page(bench, said), encoding="utf-8")
        print(f"written: {options.output}", file=sys.stderr)
    missed = report.n_missed(bench.tables())
    return MISSED_STATUS if options.gate and missed > 0 else 0


def measure_grid(options: argparse.Namespace, folder: Path) -> int:
    """A grid of runs on one device; the exit status."""
    runs = grid.Grid(options, folder)
    if options.device.startswith("cuda"):
        programs.check_gpu(runs.tidemark, runs.python, options.device, runs.variables, folder)
    title = f"# A training step beside PyTorch, {datetime.date.today().isoformat()}\n\n"
    for cell in runs.cells:
        runs.run_cell(cell)
        if options.output is not None:  # after each cell: the machine may be taken away
            Path(options.output).write_text(title + runs.page(), encoding="utf-8")
    print(runs.page())
    if options.output is not None:
        print(f"written: {options.output}", file=sys.stderr)
    return MISSED_STATUS if options.gate and grid.n_missed(*runs.tables()) > 0 else 0


def main() -> int:
    """Runs the measurement; errors are one line on stderr."""
    options = parse_options()
    try:
        with tempfile.TemporaryDirectory() as folder:
            if grid.wanted(options):
                return measure_grid(options, Path(folder))
            return measure(options, Path(folder))
    except (BenchError, ValueError, OSError) as error:
        print(f"beside_pytorch.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
