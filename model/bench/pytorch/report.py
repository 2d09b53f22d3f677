"""The Markdown of beside_pytorch.py: tables of ratios against targets, and the raw samples."""

from __future__ import annotations

import dataclasses
from typing import Mapping, Sequence

from samples import Comparison, Series, flat, quantile

PHASES = ("forward", "backward", "forward + backward", "optimizer", "step")
MEASURED = ("forward", "backward", "optimizer", "step")  # PHASES without the sums


@dataclasses.dataclass(frozen=True)
class Row:
    """One phase in a table of ratios."""

    phase: str
    comparison: Comparison
    target: float | None  # the largest ratio that is wanted; None: no target


@dataclasses.dataclass(frozen=True)
class Table:
    """One side over another, phase by phase; or why there are no figures."""

    numerator: str  # the sides' names
    denominator: str
    rows: Sequence[Row]
    absent: str | None = None  # why this was not measured


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; bars in cells are escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )


def in_ms(value: float) -> str:
    """A time in ms, with digits enough for its size."""
    return f"{value:.1f}" if value >= 100 else f"{value:.3f}"


def spread(series: Series) -> str:
    """Median and quartiles in ms."""
    values = flat(series)
    low, middle, high = (quantile(values, fraction) for fraction in (0.25, 0.5, 0.75))
    return f"{in_ms(middle)} ({in_ms(low)} to {in_ms(high)})"


def verdict(row: Row) -> str:
    """Whether a target is met."""
    if row.target is None:
        return ""
    return "met" if row.comparison.ratio <= row.target else "missed"


def n_missed(tables: Sequence[Table]) -> int:
    """Targets that are not met; one that could not be measured counts."""
    rows = [row for table in tables for row in table.rows]
    absent = [table for table in tables if table.absent is not None]
    return len(absent) + sum(verdict(row) == "missed" for row in rows)


def ratio_table(table: Table) -> str:
    """The section of one table: a heading and its figures."""
    heading = f"### {table.numerator} over {table.denominator}\n\n"
    if table.absent is not None:
        return heading + f"Not measured: {table.absent}\n"
    header = [
        "phase",
        f"{table.numerator}, ms: median (quartiles)",
        f"{table.denominator}, ms",
        "ratio of medians",
        "95 %",
        "within a round",
        "target",
        "",
    ]
    rows = []
    for row in table.rows:
        found = row.comparison
        rows.append(
            [
                row.phase,
                spread(found.numerator),
                spread(found.denominator),
                f"{found.ratio:.3f}",
                f"{found.interval[0]:.3f} to {found.interval[1]:.3f}",
                f"{found.round_range[0]:.3f} to {found.round_range[1]:.3f}",
                "" if row.target is None else f"at most {row.target:g}",
                verdict(row),
            ]
        )
    return heading + markdown_table(header, rows) + "\n"


def raw_samples(sides: Mapping[str, Mapping[str, Series]]) -> str:
    """Every sample in ms: a row for a side, a phase and a round, in the order they were taken."""
    rows = []
    for side, phases in sides.items():
        for phase in MEASURED:
            for number, samples in enumerate(phases[phase], start=1):
                values = " ".join(in_ms(sample) for sample in samples)
                rows.append([side, phase, str(number), values])
    return markdown_table(["side", "phase", "round", "ms"], rows) + "\n"


def document(
    title: str,
    facts: Sequence[tuple[str, str]],
    notes: Sequence[str],
    tables: Sequence[Table],
    sides: Mapping[str, Mapping[str, Series]],
) -> str:
    """The whole page, as it goes to docs/results/."""
    parts = [
        f"# {title}\n",
        markdown_table(["", ""], [list(fact) for fact in facts]) + "\n",
        *(note + "\n" for note in notes),
        "## Ratios\n",
        *(ratio_table(table) for table in tables),
        "## Samples\n",
        raw_samples(sides),
    ]
    return "\n".join(parts)
