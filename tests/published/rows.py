"""The rows of published runs: what somebody measured, of which program, on which card. They come from TSV files."""
from dataclasses import dataclass
from pathlib import Path

COLUMNS = ("source", "program", "config", "card", "what", "value", "unit")
BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
KINDS = ("allocated", "reserved", "fits", "time", "rate", "nvidia-smi")

# The first word that `what` contains decides its kind. A recipe that knows better overrides kind().
WORDS = (("largest batch", "fits"), ("verdict", "fits"), ("work area", ""), ("nvidia", "nvidia-smi"), ("reserved", "reserved"),
         ("tokens", "rate"), ("imgs/s", "rate"), ("step time", "time"), ("speed", "time"), ("s/iteration", "time"), ("runtime", "time"),
         ("_ms", "time"), ("min per", "time"), ("alloc", "allocated"), ("memory", "allocated"), ("active", "allocated"),
         ("max gpu ram", "allocated"))


@dataclass(frozen=True)
class Row:
    """value: as it was published, in `unit`. Units of memory are as the source writes them: a recipe knows if its MB is 2^20 bytes."""
    source: str
    program: str
    config: str
    card: str
    what: str
    value: str
    unit: str

    @property
    def name(self) -> str:
        return f"{self.source} | {self.program} | {self.config} | {self.card} | {self.what}"


def kind(what: str) -> str:
    """One of KINDS, or "" for what no run of a program answers."""
    return next((kind for word, kind in WORDS if word in what.lower()), "")


def of_table(file: Path) -> list:
    """The rows of a table of results, whose column of published values has another name."""
    header, *lines = (line.split("\t") for line in file.read_text().splitlines())
    places = [header.index("published" if name == "value" else name) for name in COLUMNS]
    return [Row(*(fields[place] for place in places)) for fields in lines]


def number(text: str):
    """None for words, such as OOM."""
    try:
        return float(text)
    except ValueError:
        return None


def scale(unit: str) -> tuple:
    """The dimension of a unit, and how many of its base it is: units of other dimensions are only equal to themselves."""
    if unit in BYTES:
        return "bytes", BYTES[unit]
    return ("seconds", SECONDS[unit]) if unit in SECONDS else (unit, 1.0)


def convert(value: float, unit: str, to: str):
    """None if the units are of two dimensions."""
    (one, factor), (other, base) = scale(unit), scale(to)
    return value if unit == to else value * factor / base if one == other else None


def read(file: Path) -> list:
    lines = file.read_text().splitlines()
    if not lines or tuple(lines[0].split("\t")) != COLUMNS:
        raise ValueError(f"{file} does not begin with the columns {' '.join(COLUMNS)}")
    return [Row(*line.split("\t")) for line in lines[1:] if line]
