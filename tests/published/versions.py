"""Rows of memory and verdicts that ran with several versions of PyTorch: which answers are equal, and which differ."""
from itertools import combinations

MEMORY = ("allocated", "reserved", "fits", "nvidia-smi")


def compared(pairs: list, answers, versions: list) -> list:
    """pairs: of recipe and row. Lines: for two versions how many rows are equal, and each row that is not."""
    lines = []
    for one, other in combinations(versions, 2):
        both = [(row, *(answers.of(row, version) for version in (one, other))) for recipe, row in pairs if recipe.kind(row) in MEMORY]
        both = [(row, *(kept.get("value", "failed") for kept in found)) for row, *found in both if all(found)]
        differ = [found for found in both if found[1] != found[2]]
        if both:
            lines.append(f"PyTorch {one} and {other}: {len(both)} rows ran with both, {len(both) - len(differ)} are equal")
        lines += [f"  {row.program} {row.config} {row.card} {row.what}: {first} and {second} {row.unit}" for row, first, second in differ]
    return lines
