"""The fields of a row of verdicts.json, and how it is compared with a script's output.

  name      one line; the script's name, then what is different in this row
  script    file beside this one
  arguments, environment
  device    cards of the machine, as --device has them ("virtual:h100-80")
  options   further options of tidemark run
  group     torch: torch and torchvision alone, part of every run; long, third-party: only with --full
  torch     [from, below], versions that the row is for; absent: all
  needs     packages that the script imports besides torch; the row is skipped, and says so, where one is absent
  older     what is different below a version: [{"below": "2.9", field: value}], all that fit, in order; in "figures" null
            takes a figure away; "why" says the reason
  exact     true: nothing is named as inexact; false: "inexact" has the calls that are, all of them and no other
  refused   calls that are not simulated, and that the program asked for: all of them and no other
  answers   texts that stderr must have: what tidemark run says at the end, or what a refusal says
  status    exit status that the script must end with (0)
  figures   lines "NAME: NUMBER" that the script must print; a number, or arithmetic over the names below; two of them in a
            list: the least and the most, for what a computed value decides (a router, a sampled text)
  texts     what stdout must have besides
  seconds   time after which the script is ended and its row has failed

The figures follow from shapes: each script's first lines say how. They are written as arithmetic so that the derivation
can be read. None of them was copied from a run. A row that has "peak allocated" or "peak reserved" compares these with
the snapshot as well: PyTorch's figures in the script equal the answer of tidemark run.
"""
import dataclasses
import gzip
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
# What PyTorch allocates for each cuBLAS handle and stream, by compute capability.
HOPPER_WORKSPACE = 4096 * 8 * KIB  # 9.0: a setting of PyTorch's, ":4096:8"
OTHER_WORKSPACE = (4096 * 2 + 16 * 8) * KIB  # others: ":4096:2:16:8"
PRINTED = re.compile(r"^([a-z][\w ,]*): (-?\d+)$", re.M)
NOT_EXACT = re.compile(r"^tidemark run: not exact: (.*)$", re.M)


def rounded(n_bytes: int, step: int) -> int:
    return (n_bytes + step - 1) // step * step


def block(n_bytes: int) -> int:
    """The block of PyTorch's allocator for a request below 1 MiB, or for one from 10 MiB on.

    A small one is a multiple of 512 bytes. A large one has its own segment, a multiple of 2 MiB, and keeps the rest of
    it if that is at most 1 MiB. Requests in between share segments, and follow no fixed rule.
    """
    if not (n_bytes < MIB or n_bytes >= 10 * MIB):
        raise ValueError(f"the block of {n_bytes} bytes does not follow from its size alone")
    whole, segment = rounded(n_bytes, 512), rounded(n_bytes, 2 * MIB)
    return segment if n_bytes >= 10 * MIB and segment - whole <= MIB else whole


# ResNet-50's groups of blocks: channels that come in, width, blocks (resnet50.py has the rest of the derivation).
RESNET50_GROUPS = ((64, 64, 3), (256, 128, 4), (512, 256, 6), (1024, 512, 3))
RESNET50_CHANNELS = 64 + sum(6 * w * n + 4 * w for _, w, n in RESNET50_GROUPS)
RESNET50_PARAMETERS = (3 * 64 * 7 * 7 + 2 * RESNET50_CHANNELS + 2048 * 1000 + 1000
                       + sum(c * w + 13 * w * w + 4 * c * w + (n - 1) * 17 * w * w for c, w, n in RESNET50_GROUPS))

# The parameters of a mixture of 8 experts in values/experts.py: a router of 512 x 8, and 512 x 2048 and back in each expert.
MIXTURE = 8 * (2 * 512 * 2048 + 2048 + 512) + 8 * 512 + 8

NAMES = {"KIB": KIB, "MIB": MIB, "GIB": GIB, "block": block, "rounded": rounded, "sum": sum, "range": range, "max": max,
         "RESNET50_PARAMETERS": RESNET50_PARAMETERS, "RESNET50_CHANNELS": RESNET50_CHANNELS, "MIXTURE": MIXTURE,
         "HOPPER_WORKSPACE": HOPPER_WORKSPACE, "OTHER_WORKSPACE": OTHER_WORKSPACE}


def version_of(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])


@dataclass
class Row:
    name: str
    script: str
    device: str = "virtual:h100-80"
    group: str = "torch"
    arguments: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    torch: list[str] = field(default_factory=lambda: ["2.0", "99.0"])
    needs: list[str] = field(default_factory=list)
    older: list[dict[str, Any]] = field(default_factory=list)
    exact: bool = True
    inexact: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    status: int = 0
    figures: dict[str, Any] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    seconds: int = 120

    def is_for(self, version: str) -> bool:
        return version_of(self.torch[0]) <= version_of(version) < version_of(self.torch[1])

    def in_version(self, version: str) -> "Row":
        """The row with what is different in that version of PyTorch."""
        row = self
        for change in self.older:
            if version_of(version) < version_of(change["below"]):
                other = {k: v for k, v in change.items() if k not in ("below", "why", "figures")}
                figures = {k: v for k, v in (row.figures | change.get("figures", {})).items() if v is not None}
                row = dataclasses.replace(row, figures=figures, **other)
        return row

    def says(self) -> str:
        if self.refused:
            return f"refused {len(self.refused)}"
        return "exact" if self.exact else f"inexact in {len(self.inexact)}"


@dataclass
class Seen:
    status: int
    seconds: float
    stdout: str
    stderr: str
    snapshots: list[dict[str, Any]]
    differences: list[str] = field(default_factory=list)  # between what run and explain say

    def named(self, refused: bool) -> set[str]:
        """The calls in the snapshots; where PyTorch keeps no history there is none, and the last lines name them."""
        if not self.snapshots and not refused:
            names = [n for line in NOT_EXACT.findall(self.stderr) for n in re.findall(r"(?:^|; )((?:\w+, )*\w+(?: and \w+)?): ", line)]
            return {call for several in names for call in re.split(", | and ", several)}
        return {row["call"] for snapshot in self.snapshots for row in snapshot.get("inexact", []) if row["refused"] == refused}

    def says(self) -> str:
        status = f", exit status {self.status}" if self.status else ""
        if self.named(True):
            return f"refused {len(self.named(True))}{status}"
        n = len(self.named(False))
        return (f"inexact in {n}" if n else "exact") + status


def read_snapshot(file: Path) -> dict[str, Any]:
    with gzip.open(file, "rt") as lines:
        return json.load(lines)


def read(file: Path) -> list[Row]:
    rows = [Row(**values) for values in json.loads(file.read_text())]
    names = [row.name for row in rows]
    for row in rows:
        if names.count(row.name) > 1:
            raise ValueError(f"two rows are called {row.name}")
        if row.exact == bool(row.inexact):
            raise ValueError(f"{row.name}: either exact, or inexact in what is listed")
        if not (row.figures or row.texts or row.refused):
            raise ValueError(f"{row.name}: an exit status alone is no verdict")
    return rows


def worked_out(value: int | str) -> int:
    return value if isinstance(value, int) else eval(value, {"__builtins__": {}, **NAMES})  # our own table


def figure_faults(row: Row, seen: Seen) -> list[str]:
    printed = {found[1]: int(found[2]) for found in PRINTED.finditer(seen.stdout)}
    faults = []
    for name, value in row.figures.items():
        least, most = map(worked_out, value if isinstance(value, list) else [value, value])
        expected = str(least) if least == most else f"{least} to {most}"
        if name not in printed:
            faults.append(f"{name}: not printed; {expected} was expected")
        elif not least <= printed[name] <= most:
            difference = printed[name] - (least if printed[name] < least else most)
            faults.append(f"{name}: {printed[name]}, expected {expected}, a difference of {difference}")
    return faults


def answer_faults(row: Row, seen: Seen) -> list[str]:
    """The snapshot of a program with one process and one card, beside what the program printed."""
    if len(seen.snapshots) != 1:
        return []
    found = []
    summary = seen.snapshots[0]["summary"][0]
    for name in ("allocated", "reserved"):
        if f"peak {name}" in row.figures:
            printed = dict(PRINTED.findall(seen.stdout)).get(f"peak {name}")
            answered = str(summary["max"][name]["bytes"])
            if printed != answered:
                found.append(f"peak {name}: the snapshot has {answered}, the program heard {printed}")
    return found


def set_faults(what: str, expected: list[str], named: set[str]) -> list[str]:
    found = [f"named as {what}, and not expected: {call}" for call in sorted(named - set(expected))]
    return found + [f"expected as {what}, and not named: {call}" for call in sorted(set(expected) - named)]


def faults(row: Row, seen: Seen) -> list[str]:
    found = figure_faults(row, seen) + answer_faults(row, seen) + seen.differences
    if seen.status != row.status:
        took_long = " (it took too long)" if seen.status == -9 and seen.seconds >= row.seconds else ""
        found.append(f"exit status {seen.status}{took_long}, expected {row.status}")
    found += [f"not on stdout: {text}" for text in row.texts if text not in seen.stdout]
    found += [f"not on stderr: {text}" for text in row.answers if text not in seen.stderr]
    return found + set_faults("inexact", row.inexact, seen.named(False)) + set_faults("refused", row.refused, seen.named(True))
