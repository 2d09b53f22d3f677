"""A published value beside that of tidemark: their difference, and a verdict."""
from dataclasses import astuple, dataclass

import rows

# What a value may differ by, in %. Nine in ten times shall be within theirs; the other limits hold for a single row.
LIMITS = {"allocated": 0.1, "reserved": 1.0, "fits": 0.0, "nvidia-smi": 5.0, "time": 18.0, "rate": 18.0}
VERDICTS = ("exact", "right", "near", "off", "failed", "not run")
EXACT = 5e-7  # as published: 0.001 MB of some GB


@dataclass(frozen=True)
class Judged:
    """A line of the table. difference: in %, "" if there is none. same: "yes", or what differs from the published program."""
    source: str
    program: str
    config: str
    card: str
    what: str
    kind: str
    unit: str
    published: str
    tidemark: str
    difference: str
    verdict: str
    reason: str
    same: str
    torch: str

    def line(self) -> str:
        return "\t".join(astuple(self))


COLUMNS = tuple(Judged.__dataclass_fields__)


def short(value: float) -> str:
    return f"{value:.10g}"


def verdict_of(kind: str, published: float, found: float) -> tuple:
    """The difference in %, and exact, right or off."""
    if published == 0:
        return 0.0, "exact" if found == 0 else "off"
    difference = 100 * (found - published) / published
    if kind != "fits" and abs(difference) <= 100 * EXACT or found == published:
        return difference, "exact"
    return difference, "right" if abs(difference) <= LIMITS[kind] else "off"


def judge(row: rows.Row, recipe, answer) -> Judged:
    """answer: None if the row was not run; otherwise a dict with value and unit or with failed, and perhaps a note and near."""
    kind, same = recipe.kind(row), recipe.same_program(row)
    same = "yes" if same is True else same
    tidemark, difference, verdict, reason = "", "", "not run", ""
    torch = answer["torch"] if answer else ""
    if answer and "failed" in answer:
        reason = answer["failed"]
        tidemark, verdict = "failed", "off" if "OutOfMemory" in reason else "failed"  # a program that could not run is no wrong answer
    elif answer:
        published, found = rows.number(row.value), rows.number(answer["value"])
        found = rows.convert(found, answer["unit"], row.unit) if found is not None else None
        if published is None or found is None:
            verdict = "exact" if (row.value, row.unit) == (answer["value"], answer["unit"]) else "off"
            tidemark = answer["value"]
        else:
            part, verdict = verdict_of(kind, published, found)
            tidemark, difference = short(found), f"{part:+.3f}" if kind != "fits" else ""
        if verdict == "off" and kind == "fits" and answer.get("near"):
            verdict = "near"
        reason = (recipe.reason(row, answer) or "unexplained") if verdict in ("off", "near") else ""
    return Judged(row.source, row.program, row.config, row.card, row.what, kind, row.unit, row.value, tidemark, difference, verdict, reason, same, torch)
