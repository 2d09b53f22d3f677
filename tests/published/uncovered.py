"""Rows that match no recipe, counted by source and reason: the page names what was not run."""
from collections import Counter
from pathlib import Path

import rows

COLUMNS = ("source", "reason", "rows", "of")
FILE = "published-without-recipe.tsv"


def why(row: rows.Row) -> str:
    kernel, _, provider = row.program.partition(" ")
    if not row.value.strip():
        return "no value is published"
    if not rows.kind(row.what):
        return "a work area's size, which no program prints"
    if "Max-Q" in row.card:
        return "the card's rate of floating point operations has no source, so no time is forecast"
    if "Liger-Kernel" in row.source and kernel == "fused_neighborhood_attention" and provider == "torch":
        return "a time of thousands of launches that set an element of a mask: the host's alone"
    return "not written yet"


def count(every: list, recipes: list) -> list:
    """Lines of source, reason, rows, and how many rows there are in all, as text; the most rows first."""
    found = Counter()
    for row in every:
        recipe = next((recipe for recipe in recipes if recipe.matches(row)), None)
        if recipe is None or not recipe.kind(row):
            found[(row.source.split()[0].split("@")[0].rstrip(",").split(":")[0], why(row))] += 1
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return [(source, reason, str(number), str(len(every))) for (source, reason), number in ordered]


def write(lines: list, folder: Path) -> None:
    (folder / FILE).write_text("\n".join("\t".join(line) for line in [COLUMNS, *lines]) + "\n")


def read(folder: Path) -> list:
    file = folder / FILE
    return [tuple(line.split("\t")) for line in file.read_text().splitlines()[1:]] if file.exists() else []
