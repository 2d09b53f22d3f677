"""The wanted numbers of the half hour on a card, compared with the measurements of its parts, and every sample.

    wanted.py part OUT PART     the sections "Wanted numbers" and "Raw samples" of PART's page
    wanted.py summary OUT       all wanted numbers

Everything is read from the files that the parts leave in OUT. A number counts as measured only if its file names the
GPU and the model for which the number is wanted: a rehearsal, or another card, leaves "not measured" and the reason.
"""
import dataclasses
import glob
import gzip
import json
import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "bench" / "pytorch"))
from programs import cost_of_recording  # noqa: E402
from samples import median  # noqa: E402


class Absent(Exception):
    """Why a number was not measured."""


def read(out, name):
    path = os.path.join(out, name)
    if not os.path.exists(path):
        raise Absent(f"there is no {name}")
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            return json.load(file)
    except (OSError, EOFError, ValueError) as error:
        raise Absent(f"{name} cannot be read: {error}") from error


def require_model(name, document, wanted):
    """wanted: size, context, precision."""
    run = document["run"]
    found = run["model"]["size"], run["context_length"], run["precision"]
    if found != wanted:
        raise Absent(f"{name} is of {found[0]}, context {found[1]}, {found[2]}")
    if run["outcome"] != "completed":
        raise Absent(f"{name}: the run ended as {run['outcome'] or 'unknown'}")


def card_of(document):
    """H100 or H200, by the name that the driver gives."""
    device = document["devices"][0]
    for card in ("H100", "H200"):
        if device["kind"] == "cuda" and card in device["name"].split():
            return card
    raise Absent(f"the device is {device['name']}, neither an H100 nor an H200")


def positive(values, name):
    if not values or min(values) <= 0:
        raise Absent(f"{name} has no times of the device")
    return values


@dataclasses.dataclass(frozen=True)
class Phase:
    """The median of a phase's samples by the device's clock, in ms."""

    part: str
    file: str
    model: tuple
    phase: str
    most: dict  # by card
    words: str = ""
    unit = "ms"

    def title(self):
        return f"{self.model[0]}, context {self.model[1]}, {self.model[2]}: {self.phase}{self.words}"

    def wanted(self, card):
        return " or ".join(f"{value:g} ({name})" for name, value in self.most.items() if card in (None, name))

    def measure(self, out):
        document = read(out, self.file)
        card = card_of(document)
        require_model(self.file, document, self.model)
        phases = {entry["name"]: entry["device_ms"] for entry in document["timing"]["phases"]}
        return card, median(positive(phases.get(self.phase, []), self.file)), self.most[card]


@dataclasses.dataclass(frozen=True)
class Recording:
    """The cost of recording a step, in %: the median over pairs of steps with and without it."""

    part: str
    file: str
    model: tuple
    most: float = 1.0
    unit = "%"

    def title(self):
        return f"{self.model[0]}, context {self.model[1]}, {self.model[2]}: recording on against off"

    def wanted(self, card):
        return f"{self.most:g}"

    def measure(self, out):
        document = read(out, self.file)
        card = card_of(document)
        require_model(self.file, document, self.model)
        cost = cost_of_recording(document["timing"])
        if cost is None:
            raise Absent(f"{self.file} has no pairs of steps")
        return card, 100 * cost, self.most


@dataclasses.dataclass(frozen=True)
class Peak:
    """Peak on the GPU minus peak on the virtual card of the same name, in bytes; the larger difference of allocated and reserved."""

    part: str
    file: str
    model: tuple
    unit = "bytes"

    def title(self):
        return f"{self.model[0]}, context {self.model[1]}, {self.model[2]}: peak against the virtual card"

    def wanted(self, card):
        return "0"

    def measure(self, out):
        name = self.file.replace(".json.gz", "-virtual.json.gz")
        real, virtual = read(out, self.file), read(out, name)
        card = card_of(real)
        require_model(self.file, real, self.model)
        require_model(name, virtual, self.model)
        peaks = [document["summary"][0]["max"] for document in (real, virtual)]
        differences = [peaks[0][kind]["bytes"] - peaks[1][kind]["bytes"] for kind in ("allocated", "reserved")]
        return card, max(map(abs, differences)), 0


@dataclasses.dataclass(frozen=True)
class Ratio:
    """A step's time over that of PyTorch eager, from the page of the benchmark beside it."""

    part: str
    model: tuple
    most: float
    unit = "of PyTorch eager's step"
    file = "bench-table.md"

    def title(self):
        return f"{self.model[0]}, context {self.model[1]}, {self.model[2]}: step beside PyTorch eager"

    def wanted(self, card):
        return f"{self.most:g}"

    def measure(self, out):
        path = os.path.join(out, self.file)
        if not os.path.exists(path):
            raise Absent(f"there is no {self.file}")
        text = Path(path).read_text(encoding="utf-8")
        device = re.search(r"^- device: kind cuda, name ([^,]*)", text, re.M)
        card = card_of({"devices": [{"kind": "cuda", "name": device[1] if device else "unknown"}]})
        header = None
        for line in text.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if "ratio" in cells and "phase" in cells:
                header = cells
            elif header and cells[:4] == [self.model[0], str(self.model[1]), self.model[2], "step"]:
                value = cells[header.index("ratio")]
                if value:
                    return card, float(value), self.most
                raise Absent(f"{cells[header.index('eager, ms')] or 'one side did not run'}")
        raise Absent(f"{self.file} has no step of this model")


@dataclasses.dataclass(frozen=True)
class Zoo:
    """Programs whose events differ between the GPU and its virtual card, or that did not run."""

    part = "zoo"
    file = "zoo.txt"
    unit = "programs"

    def title(self):
        return "zoo: programs whose events or account differ from the virtual card's"

    def wanted(self, card):
        return "0"

    def measure(self, out):
        path = os.path.join(out, self.file)
        text = Path(path).read_text(encoding="utf-8") if os.path.exists(path) else ""
        found = re.search(r"^(\d+) of (\d+) programs have the same events, .*on (.*)$", text, re.M)
        if found is None:
            raise Absent("the comparison did not come to its end")
        card = card_of({"devices": [{"kind": "cuda", "name": found[3]}]})
        return card, int(found[2]) - int(found[1]), 0


def phases(part, file, model, most):
    return [Phase(part, file, model, name, {card: values[i] for card, values in most.items()})
            for i, name in enumerate(("forward", "backward", "optimizer")) if i < len(next(iter(most.values())))]


LARGE = {name: ("2.7B", 512, name) for name in ("bf16-mixed", "tf32", "fp32")}
SMALL = ("small", 128, "bf16-mixed")
# The optimizer is AdamW. TF32's two numbers and small's are stated without a card, and hold for both.
WANTED = [
    *phases("smoke", "smoke.json.gz", SMALL, {"H100": (1.0,), "H200": (1.0,)}),
    # The step is a forward pass, and a graph has no phases.
    Phase("smoke", "smoke-graph.json.gz", SMALL, "step", {"H100": 0.7, "H200": 0.7}, " of forward alone, with a graph"),
    Zoo(),
    *phases("profile", "2.7B-bf16-mixed.json.gz", LARGE["bf16-mixed"], {"H200": (30, 52, 24), "H100": (32, 56, 33)}),
    *phases("profile", "2.7B-tf32.json.gz", LARGE["tf32"], {"H200": (48, 108), "H100": (48, 108)}),
    Recording("profile", "2.7B-bf16-mixed.json.gz", LARGE["bf16-mixed"]),
    Recording("profile", "small-bf16-mixed.json.gz", SMALL),
    *(Peak("profile", f"2.7B-{name}.json.gz", model) for name, model in LARGE.items()),
    Peak("profile", "small-bf16-mixed.json.gz", SMALL),
    Ratio("bench", LARGE["bf16-mixed"], 0.6),
    Ratio("bench", LARGE["tf32"], 0.7),
    Ratio("bench", LARGE["fp32"], 0.95),
]


def line(wanted, out):
    try:
        card, value, most = wanted.measure(out)
    except Absent as error:
        return f"| {wanted.title()} | {wanted.wanted(None)} | {wanted.unit} | not measured | not measured: {error} |"
    except (KeyError, IndexError, TypeError, ValueError) as error:
        return f"| {wanted.title()} | {wanted.wanted(None)} | {wanted.unit} | not measured | not measured: {type(error).__name__} in {wanted.file}: {error} |"
    verdict = "met" if value <= most else "missed"
    return f"| {wanted.title()} | {wanted.wanted(card)} | {wanted.unit} | {value:.6g} | {verdict} |"


def table(rows, out):
    print("\n## Wanted numbers\n")
    if not rows:
        print("No number is wanted of this part.")
        return
    print("| what | at most | unit | measured | |\n|---|---|---|---|---|")
    for wanted in rows:
        print(line(wanted, out))


def samples(out, part):
    """Every sample of the part's snapshots, whatever they were taken on; with the device's name."""
    patterns = {"smoke": ["smoke*.json.gz"], "profile": ["2.7B-*.json.gz", "small-*.json.gz"]}.get(part, [])
    rows = []
    for path in sorted(path for pattern in patterns for path in glob.glob(os.path.join(out, pattern))):
        name = os.path.basename(path)
        try:
            document = read(out, name)
        except Absent as error:
            rows.append(f"| {name} | | | {error} |")
            continue
        timing, device = document["timing"], document["devices"][0]["name"]
        series = [(f"{entry['name']}, {clock}", entry[clock]) for entry in timing["phases"] for clock in ("device_ms", "host_ms")]
        series += list(timing.get("recorder_pairs", {}).items())
        rows += [f"| {name} | {device} | {what} | {' '.join(f'{value:.4f}' for value in values)} |" for what, values in series if values]
    print("\n## Raw samples\n")
    if rows:
        print("| file | device | what | ms |\n|---|---|---|---|")
        print("\n".join(rows))
    else:
        print("This part left no snapshot with times; what its programs printed is above and in its log.")


def main():
    what, out = sys.argv[1:3]
    if what == "summary":
        table(WANTED, out)
    else:
        table([wanted for wanted in WANTED if wanted.part == sys.argv[3]], out)
        samples(out, sys.argv[3])


if __name__ == "__main__":
    main()
