"""Whether explain, summary, digest, ranks and compare name the same lines, bytes, growth and failure of recordings.

    one_engine.py FILE...

Prints a line for each file, and what differs. A comparison is of each file with the first one.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

KEYS = ("oom", "cause", "oom_cause", "retries", "filled", "kinds", "reserved")
WHO = re.compile(r"^(rank \d+|ranks [\d, and]+|all \d+ ranks|\d+ of \d+ ranks): ")
MOST_SENTENCES = 8
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def tidemark(*arguments: object) -> str:
    return subprocess.run(["tidemark", *map(str, arguments)], capture_output=True, text=True, check=True).stdout


def report(*arguments: object) -> dict:
    return json.loads(tidemark(*arguments, "--format", "json"))


def place_of(row: dict, prefix: str = "") -> str:
    """ "forward (gpt.py:15)", as sentences write it."""
    function, file, line = (row[prefix + key] for key in ("function", "file", "line"))
    if not function and not file:
        return ""
    where = f"{Path(file or '').name}:{line}" if line else Path(file or "").name
    return where if not function or function.startswith("<") else f"{function} ({where})" if where else function


def lines_of(explained: dict) -> dict[str, int]:
    """The peak by line; what has no line is together."""
    found: dict[str, int] = {}
    for row in explained["tables"]["peak_lines"]["rows"]:
        place = "" if row["kind"] in ("before", "unknown") else row["place"]
        found[place] = found.get(place, 0) + row["bytes"]
    return found


def is_part(texts: list[str], of: list[str]) -> bool:
    """Whether the texts are among the others, in their order."""
    rest = iter(of)
    return all(text in rest for text in texts)


class Checks:
    """Differences between the answers about one file."""

    def __init__(self, explained: dict) -> None:
        self.faults: list[str] = []
        # An answer of eight sentences may be one that explain has shortened; the others have all of it.
        self.is_short = sum(map(len, explained["sentences"].values())) >= MOST_SENTENCES

    def same_texts(self, what: str, found: list[str], expected: list[str]) -> None:
        if not (self.is_short and is_part(expected, found)):
            self.same(what, found, expected)

    def same(self, what: str, found: object, expected: object) -> None:
        if found != expected:
            self.faults.append(f"{what}: {found!r}, and explain: {expected!r}")


def check_digest(checks: Checks, device: dict, explained: dict) -> None:
    rows: dict[str, int] = {}
    for row in device["rows"]:
        rows[row["line"]] = rows.get(row["line"], 0) + row["bytes"]
    if device["rest"]["n_rows"] == 0 and "cut" not in explained["sentences"]:  # then explain shows the end
        checks.same("bytes by line of digest", rows, lines_of(explained))
    own = device["explained"]
    sentences = [text for key in KEYS for text in explained["sentences"].get(key, [])]
    checks.same_texts("sentences of digest", [row["text"] for row in own["sentences"]], sentences)
    checks.same("causes of digest", [(row["cause"], row["bytes"]) for row in own["causes"]],
                [(row["cause"], -1 if row["bytes"] is None else row["bytes"]) for row in explained["tables"]["causes"]["rows"][:8]])
    growth = [(row["kind"], row["unit"], row["passes"], row["bytes"], row["rate_bytes"] // row["every"], place_of(row, "kept_"))
              for row in explained["tables"]["growth"]["rows"][:8]]
    checks.same("growth of digest", [(row["kind"], row["unit"], row["passes"], row["bytes"], row["bytes_per_pass"], row["line"])
                                     for row in own["growth"]], growth)
    failure = explained["tables"]["failure"]["rows"]
    if failure:
        checks.same("failure of digest", (own["failure"]["event"], own["failure"]["requested_bytes"], own["failure"]["failures"]),
                    (failure[0]["event"], failure[0]["requested_bytes"], failure[0]["failures"]))
        if place_of(failure[0]):
            checks.same("failing line of digest", own["failure"]["line"], place_of(failure[0]))
    checks.same("out of memory of digest", own["failure"] is not None, bool(failure))


def check_ranks(checks: Checks, digest: str, explained: dict) -> None:
    ranks = report("ranks", digest)
    [row] = ranks["tables"]["ranks"]["rows"]
    growth = explained["tables"]["growth"]["rows"]
    checks.same("growth of ranks", row["growth_bytes"], growth[0]["rate_bytes"] // growth[0]["every"] if growth else 0)
    for key in KEYS[:-2]:
        said = [WHO.sub("", text) for text in ranks["sentences"].get(key, [])]
        checks.same_texts(f"{key} of ranks", said, [text.removeprefix("Also: ") for text in explained["sentences"].get(key, [])])


def check_compare(checks: Checks, base: str, file: str, explained: list[dict]) -> None:
    """The first difference that the sentence names is the largest one between the lines of the two answers."""
    sentence = " ".join(report("compare", base, file)["sentences"]["comparison"])
    found = re.search(r": (\d+(?:\.\d+)?) (B|KiB|MiB|GiB) (more|less) at ([^,]+?)(?:,|\.$|\.\n|\. |$)", sentence)
    if found is None:
        return
    n, unit, word, line = found.groups()
    before, after = map(lines_of, explained)
    more = {place: after.get(place, 0) - before.get(place, 0) for place in {*before, *after}}
    checks.same("line of compare", line, max(more, key=lambda place: (abs(more[place]), place == line)))
    size = abs(more[line]) / UNITS[unit] if line in more else -1
    checks.same("bytes of compare", (abs(float(n) - size) < 0.006, word), (True, "more" if more.get(line, 0) > 0 else "less"))
    checks.n_compared = 1  # type: ignore[attr-defined]


def main() -> None:
    first: dict = {}
    for file in sys.argv[1:]:
        explained = report("explain", file)
        checks = Checks(explained)
        number = int(explained["figures"]["device"])
        tidemark("digest", file, "--rank", 3, "-o", "one.digest.json")
        devices = json.loads(Path("one.digest.json").read_text(encoding="utf-8"))["devices"]
        [device] = [row for row in devices if row["index"] == number]
        check_digest(checks, device, explained)
        check_ranks(checks, "one.digest.json", explained)
        summary = report("summary", file)["sentences"]
        for key in KEYS[:-2]:
            checks.same_texts(f"{key} of summary", summary.get(key, []), explained["sentences"].get(key, []))
        first = first or {"file": file, "explained": explained}
        check_compare(checks, first["file"], file, [first["explained"], explained])
        compared = ", with the lines of compare" if hasattr(checks, "n_compared") else ""
        print(f"{file}: {'; '.join(checks.faults) or 'one answer' + compared}")


if __name__ == "__main__":
    main()
