"""The answer of `tidemark run` about one test, and its sentences."""
import dataclasses
import json
import subprocess

from ..bytes_text import format_bytes

_PREFIX = "tidemark run: "
_OF_FILES = ("the snapshot is ", "the report is ", "it wrote ", "logs of ")  # of no use after the test


@dataclasses.dataclass
class Answer:
    peak_bytes: int  # 0 if the test allocated no GPU memory
    place: str  # the line with the most bytes at the peak; "" if it is unknown
    place_bytes: int
    n_processes: int  # that allocated GPU memory; the peak is that of the process with the highest one


def read(program, snapshots, memory):
    """The Answer about the snapshots of one run: one for each process that used the card."""
    answer = Answer(0, "", 0, len(snapshots))
    for snapshot in snapshots:
        done = subprocess.run([program, "explain", "--format", "json", snapshot], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, check=False)
        try:
            facts = json.loads(done.stdout)
        except ValueError:
            raise ValueError(f"tidemark explain cannot read the snapshot of the test: {done.stderr.strip()}") from None
        peak_bytes = facts["figures"][f"{memory}_peak_bytes"] or 0
        if peak_bytes > answer.peak_bytes:
            rows = facts["tables"].get("peak_lines", {}).get("rows") or [{"place": "", "bytes": 0}]
            answer = Answer(peak_bytes, rows[0]["place"] or "", rows[0]["bytes"], len(snapshots))
    return answer


def split_output(text):
    """The sentences of `tidemark run` about the memory, and the rest of a run's stderr: the test's own."""
    sentences, rest = [], []
    for line in text.splitlines():
        if not line.startswith(_PREFIX):
            rest.append(line)
        elif not line[len(_PREFIX):].startswith(_OF_FILES):
            sentences.append(line[len(_PREFIX):])
    return sentences, "\n".join(rest)


def properties(answer, limit):
    """What a report keeps, for --tidemark, JUnit's XML and other plugins."""
    bound = [] if limit.n_bytes is None else [("tidemark_limit_bytes", limit.n_bytes)]
    return [("tidemark_peak_bytes", answer.peak_bytes), *bound, ("tidemark_memory", limit.memory), ("tidemark_device", limit.device),
            ("tidemark_place", answer.place), ("tidemark_place_bytes", answer.place_bytes)]


def summarize(figures):
    """"1.95 GiB allocated on virtual:h100-80 (limit 2.00 GiB), 1.00 GiB at step (train.py:3)"."""
    memory, place = figures["tidemark_memory"], figures["tidemark_place"]
    text = f"{format_bytes(figures['tidemark_peak_bytes'])} {memory} on {figures['tidemark_device']}"
    if "tidemark_limit_bytes" in figures:
        text += f" (limit {format_bytes(figures['tidemark_limit_bytes'])})"
    if not place:
        return text
    what = "" if memory == "allocated" else " of the allocated peak"
    return f"{text}, {format_bytes(figures['tidemark_place_bytes'])}{what} at {place}"


def complain(answer, limit, sentences):
    """The text of a failure: the peak is above the limit."""
    first = (f"{format_bytes(answer.peak_bytes)} of GPU memory {limit.memory} at the peak on {limit.device}: "
             f"{format_bytes(answer.peak_bytes - limit.n_bytes)} more than the limit of {format_bytes(limit.n_bytes)}")
    if answer.n_processes > 1:
        first += f" (the highest of {answer.n_processes} processes)"
    return "\n".join([first, *sentences])

