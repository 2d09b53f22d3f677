"""The difference of two runs in Markdown."""
import os
import re

from ..bytes_text import format_bytes

_OF_FILES = ("the report is", "logs of", "the launch log is")  # on the machine of the job
_SHOWN_LINES = 10  # of the peak, those that differ most
_VERDICTS = {"fails": "**fails**", "cannot be judged": "**cannot be judged**"}


def write(given, base, head, report, checks):
    """The summary of a job. `report` is that of `tidemark compare`, `checks` has what could not be checked."""
    parts = [f"### {given.title}: {_verdict(given, base, head, report)}", _figures(base, head)]
    if base is None:
        parts.append("This job has no base yet, so nothing is compared.")
    for name, run in (("base", base), ("change", head)):
        if run is not None and run.status:
            parts.append(f"The command of the {name} ended with status {run.status}.")
    if base is not None and report is not None:
        parts += [*(_escape(_name_runs(text, report)) for text in report["sentences"].get("comparison", [])),
                  _table("Peak by category", ("category", "base", "change", "difference"), _categories(report)),
                  _table("Peak by line", ("line", "base", "change", "difference"), _lines(base, head))]
    parts.append(_conditions(report, checks))
    sentences = [sentence for sentence in head.sentences if not sentence.startswith(_OF_FILES)]
    if sentences:
        parts.append("<details><summary>tidemark run</summary>\n\n" + "\n".join(f"- {_escape(one)}" for one in sentences)
                     + "\n\n</details>")
    return "\n\n".join(filter(None, parts)) + "\n"


def _name_runs(text, report):
    """The text with words in place of the two runs, which `tidemark compare` names by their files' names, or by their
    paths if the names are equal."""
    rows = report["tables"]["runs"]["rows"]
    runs = ((rows[0], "the base"), (rows[-1], "the change"))
    words = {row[column]: what for row, what in runs for column in ("run", "file")}
    names = "|".join(re.escape(name) for name in sorted(words, key=len, reverse=True))
    text = re.sub(rf"(?<![\w/.-])(?:{names})(?![\w/-])", lambda found: words[found[0]], text)
    return text[:1].upper() + text[1:]


def _verdict(given, base, head, report):
    if head.snapshot is None:
        return f"no result on {given.device}"
    if head.fits == "no":
        return f"it does not fit {given.device}"
    text = f"{format_bytes(head.peak_bytes)} at the peak on {given.device}"
    if base is not None and base.snapshot is not None:
        text += ", " + (_difference(base.peak_bytes, head.peak_bytes) or "as before")
    return text


def _figures(base, head):
    rows = [(f"peak {name}", _bytes(base, field), _bytes(head, field),
             _difference(getattr(base, field), getattr(head, field)) if base is not None and base.snapshot else "")
            for name, field in (("allocated", "peak_bytes"), ("reserved", "reserved_bytes"))]
    if head.time is not None:
        rows.append(("forecast of a step", _time(base), _time(head), _compare_times(base, head)))
    return _table(None, ("", "base", "change", "difference"), rows)


def _bytes(run, field):
    return format_bytes(getattr(run, field)) if run is not None and run.snapshot is not None else ""


def _time(run):
    """"1.29 ms (1.08 to 1.66)"; only the lower end if too much of the time is guessed."""
    if run is None or run.time is None:
        return ""
    step, low, high = (run.time[name] for name in ("step_ms", "low_ms", "high_ms"))
    if step is None or high is None:
        return "" if low is None else f"{_ms(low)} ms or more"
    return f"{_ms(step)} ms ({_ms(low)} to {_ms(high)})"


def _ms(value):
    """Three digits, as the program prints times: common/text/milliseconds.c."""
    n_decimals = 0 if value >= 99.95 else 1 if value >= 9.995 else 2 if value >= 0.9995 else 3
    return f"{value:.{n_decimals}f}"


def _compare_times(base, head):
    if base is None or base.time is None or None in (base.time["step_ms"], head.time["step_ms"]):
        return ""
    percent = (head.time["step_ms"] / base.time["step_ms"] - 1) * 100
    if None not in (base.time["high_ms"], head.time["high_ms"]) and (
            head.time["low_ms"] > base.time["high_ms"] or head.time["high_ms"] < base.time["low_ms"]):
        return f"{percent:+.1f} %"
    return f"{percent:+.1f} %; the intervals overlap"


def _difference(before, after):
    """"+12.00 MiB (+1.5 %)"; "" if there is none."""
    if before == after:
        return ""
    percent = f" ({(after / before - 1) * 100:+.1f} %)" if before else ""
    return f"{'+' if after > before else '-'}{format_bytes(abs(after - before))}{percent}"


def _categories(report):
    rows = report["tables"]["footprint"]["rows"]
    return [(row["category"], format_bytes(row["run1_bytes"]), format_bytes(row["run2_bytes"]),
             _difference(row["run1_bytes"], row["run2_bytes"])) for row in rows]


def _lines(base, head):
    """The lines whose bytes differ most. An edit moves lines, so those of one function are paired in their order, if
    both runs have equally many; otherwise the function is one row."""
    sums = {}
    functions = [_by_function(run) for run in (base, head)]
    for function in {**functions[0], **functions[1]}:
        before, after = (found.get(function, []) for found in functions)
        if len(before) == len(after):
            pairs = [(new["place"], old["bytes"], new["bytes"]) for old, new in zip(before, after)]
        elif not before or not after:
            pairs = [(row["place"], row["bytes"] * bool(before), row["bytes"] * bool(after)) for row in before or after]
        else:
            pairs = [(f"{function[0]} ({function[1]})", sum(row["bytes"] for row in before),
                      sum(row["bytes"] for row in after))]
        for place, n_before, n_after in pairs:
            both = sums.setdefault(place, [0, 0])
            both[0] += n_before
            both[1] += n_after
    differing = sorted((place for place in sums if sums[place][0] != sums[place][1]),
                       key=lambda place: -abs(sums[place][1] - sums[place][0]))
    return [(place, *map(format_bytes, sums[place]), _difference(*sums[place])) for place in differing[:_SHOWN_LINES]]


def _by_function(run):
    """The rows of each function and file, by their lines."""
    found = {}
    for row in sorted(run.lines, key=lambda row: row["line"] or 0):
        name = (row["function"], os.path.basename(row["file"])) if row["file"] else (row["place"], "")
        found.setdefault(name, []).append(row)
    return found


def _conditions(report, checks):
    table = (report or {"tables": {}})["tables"].get("fail_if", {"rows": []})
    lines = [f"- {_code(row['condition'])}: {_VERDICTS.get(row['verdict'], _escape(row['verdict']))}" for row in table["rows"]]
    return "\n".join([*lines, *(f"- {_escape(check)}" for check in checks if check)])


def _code(text):
    """Text as it is, in a code span."""
    return "`" + " ".join(text.replace("`", "'").split()) + "`"


def _table(title, columns, rows):
    if not rows:
        return ""
    lines = ["| " + " | ".join(columns) + " |", "|---|" + "---:|" * (len(columns) - 1)]
    lines += ["| " + " | ".join(map(_escape, row)) + " |" for row in rows]
    return "\n".join([f"**{title}**", "", *lines] if title else lines)


def _escape(text):
    """Text as it is: names in it do not become marks or tags."""
    for mark in "\\`*_[]|":
        text = text.replace(mark, "\\" + mark)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("\n", " ")
