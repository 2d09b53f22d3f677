"""A grid of training steps beside PyTorch on one device: sizes, contexts and precisions in one go.

For each cell: tidemark, PyTorch eager and, where it can, torch.compile, in rounds as in
beside_pytorch.py. On cuda the times of phases are the device's, between two events; peaks are
the most bytes that each side's allocator had allocated. A run that does not fit is a row, not an
error.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import sys
from pathlib import Path
from typing import Callable, Sequence

import programs
import report
from programs import BenchError, Refused, Result
from samples import Comparison, compare, median
from shapes import OPTIONS, SIZES, count

TIDEMARK, EAGER, COMPILED = "tidemark", "PyTorch eager", "torch.compile"
PRECISIONS = ("fp32", "tf32", "bf16-mixed", "bf16-true")
RECORDING_TARGETS = {("small", 128): 0.01, ("2.7B", 512): 0.001}
HEADER = (
    "size",
    "context",
    "precision",
    "phase",
    "tidemark, ms: median (quartiles)",
    "eager, ms",
    "ratio",
    "95 %",
    "target",
    "",
    "compile, ms",
    "ratio",
)
MEMORY_HEADER = (
    "size",
    "context",
    "precision",
    "tidemark, GiB",
    "eager, GiB",
    "ratio",
    "target",
    "",
    "allocated minus virtual's, bytes",
    "reserved minus virtual's, bytes",
    "recording on over off",
    "target",
    "",
)


@dataclasses.dataclass(frozen=True)
class Cell:
    """One shape in one precision."""

    size: str
    context: int
    precision: str

    def words(self) -> list[str]:
        """The options that both programs know by the same names."""
        return ["--size", self.size, "--context", str(self.context), "--precision", self.precision]

    def label(self) -> str:
        """For people."""
        return f"{self.size}, context {self.context}, {self.precision}"


@dataclasses.dataclass
class Outcome:
    """The samples of one side of a cell, round by round, or the reason why there are none."""

    rounds: list[Result] = dataclasses.field(default_factory=list)
    absent: str | None = None

    def series(self, phase: str) -> list[list[float]]:
        """The samples of a phase."""
        return [one.phases[phase] for one in self.rounds]


def cells(
    sizes: Sequence[str], contexts: Sequence[int], precisions: Sequence[str]
) -> list[Cell]:
    """The grid, the last list running fastest."""
    return [Cell(*values) for values in itertools.product(sizes, contexts, precisions)]


# Arrays of the parameters' size that one step of AdamW reads or writes, each in a kernel of its own
# but for tidemark's: no kernel can take less time than the memory needs to move them.
# tidemark: reads parameter, gradient and both moments, writes all but the gradient.
# In place: exp_avg mul_ 2 and add_ 3; exp_avg_sq mul_ 2 and addcmul_ 3; sqrt 2, add_ 2; addcdiv_ 4;
# the decay's mul_ 2.
# Out of place: exp_avg 2 + 2 + 3; exp_avg_sq 2 + 2 + 2 + 3; rate * exp_avg 2, sqrt 2, + eps 2,
# the quotient 3, the difference 3; the decay 2 + 3.
# All are of one type (fp32; bf16 in bf16-true), so that ratios of arrays are ratios of bytes.
TIDEMARK_ARRAYS = 7
EAGER_ARRAYS = {"in-place": 20, "out-of-place": 33}
OPTIMIZER_TARGET = 0.3
# One kernel over seven arrays need not come as near to the memory's rate as kernels over two do.
FLOOR_MARGIN = 1.1


def optimizer_target(optimizer: str) -> float:
    """The wanted ratio, but none below what the bytes allow where both sides wait for memory."""
    floor = TIDEMARK_ARRAYS / EAGER_ARRAYS[optimizer]
    return max(OPTIMIZER_TARGET, FLOOR_MARGIN * floor)


def target(cell: Cell, phase: str, optimizer: str) -> float | None:
    """The largest ratio to PyTorch eager that is wanted on a GPU; None: none is stated."""
    if phase == "optimizer":
        return optimizer_target(optimizer)
    if phase not in ("forward", "backward"):
        return None
    if cell.size != "small":
        return 1.0
    return 0.8 if cell.precision == "fp32" and cell.context >= 512 else 0.5


def verdict(value: float | None, wanted: float | None) -> str:
    """Whether a target is met; empty without one."""
    if wanted is None:
        return ""
    if value is None:
        return "not measured"
    return "met" if value <= wanted else "missed"


def comparison(above: Outcome, below: Outcome, phase: str) -> Comparison | None:
    """The two sides' phase, where both measured the same number of rounds."""
    if above.absent or below.absent or not above.rounds or not below.rounds:
        return None
    if len(above.rounds) != len(below.rounds) or phase not in above.rounds[0].phases:
        return None
    return compare(above.series(phase), below.series(phase))


def time_row(
    cell: Cell, phase: str, sides: dict[str, Outcome], optimizer: str | None
) -> list[str]:
    """One line of the table of times; the form of eager's optimizer, or None without targets."""
    eager = comparison(sides[TIDEMARK], sides[EAGER], phase)
    compiled = comparison(sides[TIDEMARK], sides[COMPILED], phase) if COMPILED in sides else None
    wanted = None if optimizer is None else target(cell, phase, optimizer)
    times = [why(sides[TIDEMARK]), why(sides[EAGER])]
    if not sides[TIDEMARK].absent and sides[TIDEMARK].rounds:
        times[0] = report.spread(sides[TIDEMARK].series(phase))
    if eager is not None:
        times[1] = report.spread(eager.denominator)
    return [
        cell.size,
        str(cell.context),
        cell.precision,
        phase,
        *times,
        "" if eager is None else f"{eager.ratio:.3f}",
        "" if eager is None else f"{eager.interval[0]:.3f} to {eager.interval[1]:.3f}",
        "" if wanted is None else f"at most {wanted:.3g}",
        verdict(None if eager is None else eager.ratio, wanted),
        "" if compiled is None else report.spread(compiled.denominator),
        "" if compiled is None else f"{compiled.ratio:.3f}",
    ]


def why(outcome: Outcome) -> str:
    """The text that replaces a time that was not measured."""
    return outcome.absent or "not measured"


def in_gib(n_bytes: int | None) -> str:
    """Bytes as GiB, for a table; empty where unknown."""
    return "" if n_bytes is None else f"{n_bytes / 2**30:.3f}"


def memory_row(
    cell: Cell, sides: dict[str, Outcome], virtual: Result | None, targets: bool
) -> list[str]:
    """One line of the table of peaks and of what recording costs."""
    ours = sides[TIDEMARK].rounds[0] if sides[TIDEMARK].rounds else None
    theirs = sides[EAGER].rounds[0] if sides[EAGER].rounds else None
    peaks = [one.peak_bytes if one is not None else None for one in (ours, theirs)]
    ratio = peaks[0] / peaks[1] if peaks[0] and peaks[1] else None
    recordings = [one.recording for one in sides[TIDEMARK].rounds if one.recording is not None]
    recording = median(recordings) if recordings else None
    bound = RECORDING_TARGETS.get((cell.size, cell.context)) if targets else None
    known = virtual is not None and ours is not None
    return [
        cell.size,
        str(cell.context),
        cell.precision,
        *(in_gib(peak) for peak in peaks),
        "" if ratio is None else f"{ratio:.3f}",
        "below 1" if targets else "",
        verdict(ratio, 1.0 if targets else None),
        str(ours.peak_bytes - virtual.peak_bytes) if known else "",
        str(ours.reserved_bytes - virtual.reserved_bytes) if known else "",
        "" if recording is None else f"{100 * recording:+.2f} %",
        "" if bound is None else f"at most {100 * bound:g} %",
        verdict(recording, bound),
    ]


def n_missed(times: Sequence[Sequence[str]], memory: Sequence[Sequence[str]]) -> int:
    """Targets that are not met or could not be measured."""
    verdicts = [row[9] for row in times] + [row[at] for row in memory for at in (7, 12)]
    return sum(one in ("missed", "not measured") for one in verdicts)


class Grid:
    """The runs of a grid and what they have measured."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options = options
        self.folder = folder
        self.device = options.device
        self.clock = "device_ms" if self.device.startswith("cuda") else "host_ms"
        self.variables = programs.environment(options.threads, options.wait_policy)
        self.tidemark = programs.find_tidemark(options.tidemark)
        self.python = programs.find_python(options.python)
        self.cells = cells(options.sizes, options.contexts, options.precisions)
        self.outcomes: dict[Cell, dict[str, Outcome]] = {}
        self.virtual: dict[Cell, Result] = {}

    def common(self, cell: Cell) -> list[str]:
        """The options that both programs get."""
        options = self.options
        words = [*cell.words(), "--mode", "train"]
        words += ["--warmup", str(options.warmup), "--steps", str(options.steps)]
        for name in OPTIONS:
            value = getattr(options, name)
            if value is not None and name != "context":
                words += ["--" + name.replace("_", "-"), str(value)]
        return words

    def pairs(self, cell: Cell) -> list[str]:
        """More pairs of steps where the cost of recording has a target: it is far below a step."""
        if not self.device.startswith("cuda") or (cell.size, cell.context) not in RECORDING_TARGETS:
            return []
        return ["--overhead-pairs", "30" if cell.size == "small" else "10"]

    def run_tidemark(self, cell: Cell, device: str) -> Result:
        """One process of tidemark."""
        command = [str(self.tidemark), "profile", "--device", device, *self.common(cell)]
        command += self.pairs(cell)
        path = self.folder / "run.json.gz"
        return programs.run_tidemark(command, self.variables, path, self.clock)

    def run_pytorch(self, cell: Cell, compiles: bool) -> Result:
        """One process of PyTorch."""
        options = self.options
        words = ["--device", self.device, "--attention", options.attention]
        words += ["--optimizer", options.optimizer, *(["--compile"] if compiles else [])]
        if not self.device.startswith("cuda"):
            words += ["--threads", str(options.threads)]
        command = [self.python, str(programs.STEPS), *self.common(cell), *words]
        return programs.run_pytorch(command, self.variables, self.clock)

    def sides(self, cell: Cell) -> dict[str, Callable[[], Result]]:
        """What is run in each round of a cell."""
        found: dict[str, Callable[[], Result]] = {
            TIDEMARK: lambda: self.run_tidemark(cell, self.device),
            EAGER: lambda: self.run_pytorch(cell, False),
        }
        if not self.options.no_compile:
            found[COMPILED] = lambda: self.run_pytorch(cell, True)
        return found

    def run_cell(self, cell: Cell) -> None:
        """All rounds of a cell; a side that fails is left out of those that follow."""
        sides = self.sides(cell)
        outcomes = self.outcomes[cell] = {name: Outcome() for name in sides}
        for number in range(self.options.rounds):
            order = list(sides)
            for name in order if number % 2 == 0 else reversed(order):
                if outcomes[name].absent is not None:
                    continue
                try:
                    outcomes[name].rounds.append(sides[name]())
                except (BenchError, Refused) as error:
                    outcomes[name].absent = str(error)
                    outcomes[name].rounds.clear()
                self.say_progress(cell, name, number)
        if self.options.card is not None:
            self.virtual[cell] = self.run_virtual(cell)

    def run_virtual(self, cell: Cell) -> Result:
        """The same run on the virtual device of a card: its bytes alone."""
        command = [str(self.tidemark), "profile", "--device", f"virtual:{self.options.card}"]
        command += self.common(cell)
        return programs.run_tidemark(command, self.variables, self.folder / "run.json.gz", None)

    def say_progress(self, cell: Cell, name: str, number: int) -> None:
        """One line on stderr for a process that has ended."""
        outcome = self.outcomes[cell][name]
        said = outcome.absent
        if said is None:
            phases = outcome.rounds[-1].phases
            said = ", ".join(f"{p} {report.in_ms(median(phases[p]))} ms" for p in report.MEASURED)
        line = f"{cell.label()}, round {number + 1} of {self.options.rounds}, {name}: {said}"
        print(line, file=sys.stderr)

    def tables(self) -> tuple[list[list[str]], list[list[str]]]:
        """The rows of times and of peaks."""
        targets = self.device.startswith("cuda")
        times = [
            time_row(cell, phase, sides, self.options.optimizer if targets else None)
            for cell, sides in self.outcomes.items()
            for phase in report.MEASURED
        ]
        memory = [
            memory_row(cell, sides, self.virtual.get(cell), targets)
            for cell, sides in self.outcomes.items()
        ]
        return times, memory

    def facts(self) -> list[str]:
        """What the figures hold for: device, versions, and how often each side ran."""
        options = self.options
        found = {}
        for sides in self.outcomes.values():
            for name, outcome in sides.items():
                for one in outcome.rounds[:1]:
                    found.setdefault(name, one.details)
        said = []
        if TIDEMARK in found:
            device, tool = found[TIDEMARK]["device"], found[TIDEMARK]["tool"]
            known = {key: value for key, value in device.items() if value not in (-1, "")}
            said.append("- device: " + ", ".join(f"{key} {known[key]}" for key in known))
            said.append(f"- tidemark {tool['version']}, {tool['build']}")
            said.append(f"- tidemark's steps computed by {found[TIDEMARK]['host']['computed_by']}")
        if EAGER in found:
            said.append(f"- PyTorch {found[EAGER]['torch']}, Python {found[EAGER]['python']}")
            said.append(f"- PyTorch's cuBLAS: {self.cublas_of_pytorch(found[EAGER])}")
        said.append(
            f"- rounds: {options.rounds}; steps of each side in a round: {options.steps} measured "
            f"after {options.warmup} of warm-up; PyTorch's attention {options.attention}, its "
            f"optimizer {options.optimizer}"
        )
        return said

    def cublas_of_pytorch(self, details: dict) -> str:
        """Its version and file, and whether tidemark was set to open the same one."""
        file = programs.cublas_of(details)
        if file is None:
            return "no file of its own"
        same = self.variables.get("TIDEMARK_CUBLAS") == file
        opened = "which tidemark opens, too" if same else "which tidemark does not open"
        return f"{details.get('cublas') or 'of unknown version'}, {file}, {opened}"

    def page(self) -> str:
        """Both tables."""
        times, memory = self.tables()
        clock = "the device's clock" if self.clock == "device_ms" else "the host's clock"
        return "\n".join(
            [
                *self.facts(),
                "",
                f"### Times of phases by {clock}, {self.device}\n",
                report.markdown_table(HEADER, times) + "\n",
                "### Peaks of allocated memory, and the cost of recording\n",
                report.markdown_table(MEMORY_HEADER, memory) + "\n",
                "### Samples\n",
                report.raw_samples(self.samples()),
            ]
        )

    def samples(self) -> dict[str, dict[str, list[list[float]]]]:
        """Every sample of each side of each cell that ran."""
        return {
            f"{cell.label()}, {name}": {phase: outcome.series(phase) for phase in report.MEASURED}
            for cell, sides in self.outcomes.items()
            for name, outcome in sides.items()
            if outcome.rounds
        }


def names(valid: Sequence[str]) -> Callable[[str], list[str]]:
    """An argument that is a comma list of names."""

    def parse(text: str) -> list[str]:
        found = text.split(",")
        for name in found:
            if name not in valid:
                raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(valid)}")
        return found

    return parse


def counts(text: str) -> list[int]:
    """An argument that is a comma list of whole numbers."""
    return [count(part) for part in text.split(",")]


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of a grid."""
    group = parser.add_argument_group("grid, for --device cuda or where a list is given")
    group.add_argument("--sizes", type=names(list(SIZES)), metavar="SIZE,...")
    group.add_argument("--contexts", type=counts, metavar="N,...")
    group.add_argument("--precisions", type=names(PRECISIONS), metavar="PRECISION,...")
    group.add_argument("--no-compile", action="store_true", help="without torch.compile")
    group.add_argument("--card", help="compare peaks with the virtual device of this card")


def wanted(options: argparse.Namespace) -> bool:
    """Whether the command line asks for a grid; fills in its defaults."""
    given = [options.sizes, options.contexts, options.precisions]
    on_gpu = options.device.startswith("cuda")
    if not on_gpu and given == [None, None, None]:
        return False
    sizes = ["small", "medium", "large", "xl", "2.7B"] if on_gpu else [options.size]
    options.sizes = options.sizes or sizes
    options.contexts = options.contexts or ([128, 512] if on_gpu else [options.context or 128])
    precisions = ["fp32", "tf32", "bf16-mixed"] if on_gpu else ["fp32"]
    options.precisions = options.precisions or precisions
    return True
