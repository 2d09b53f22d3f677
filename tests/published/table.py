"""Writes what was judged: a table, a page that begins with the rows that are off, and a picture."""
import statistics
import sys
from pathlib import Path

import uncovered
from judge import COLUMNS, LIMITS, Judged
from picture import picture

MISSES = ("off", "failed", "near")
TARGETS = (("allocated", "allocated peak within 0.1 %, same program", 90), ("reserved", "reserved within 1 %, same program", 85),
           ("fits", "largest batch that fits (another PyTorch; the assumed context was chosen with 34 of these rows in view)", 97))
MOST = 40  # rows that the page lists one by one
NAMES = {"linkedin/Liger-Kernel": "Liger", "huggingface/pytorch-image-models": "timm"}
SETS = {"train-amp-nhwc": "training", "infer-amp-nchw": "inference"}


def source_of(one: Judged) -> str:
    first = one.source.split()[0].split("@")[0].rstrip(",")
    return NAMES.get(first, first.split("/")[-1])


def family(one: Judged) -> str:
    """What a row is grouped by: an operator, or a source and what of it was run."""
    name = source_of(one)
    if name == "Liger":
        kernel, _, provider = one.program.partition(" ")
        return f"{name} {'Triton ' if provider.startswith('liger') and one.kind == 'time' else ''}{kernel}"
    part = next((word for key, word in SETS.items() if key in one.source), "")
    return f"{name} {part} {one.card}".strip() if part else name


def quantile(values: list, part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def errors(judged: list) -> list:
    return [abs(float(one.difference)) for one in judged if one.difference]


def percent(part: int, of: int) -> str:
    return f"{100 * part / of:.1f} %" if of else "-"


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def lines_of_table(header: tuple, rows: list) -> list:
    return ["| " + " | ".join(header) + " |", "|---" * len(header) + "|", *("| " + " | ".join(cell(str(word)) for word in row) + " |" for row in rows), ""]


def listed(judged: list) -> list:
    """Rows whose memory or verdict is off: those of the same programs, and then of others; the worst first."""
    off = [one for one in judged if one.verdict in MISSES and one.kind not in ("time", "rate")]
    off.sort(key=lambda one: (one.same != "yes", -abs(float(one.difference or 0))))
    header = ("program", "config", "card", "what", "published", "tidemark", "difference, %", "reason")
    rows = [(one.program, one.config, one.card, one.what.split(" of the ladder")[0], f"{one.published} {one.unit}", one.tidemark, one.difference, one.reason)
            for one in off[:MOST]]
    text = lines_of_table(header, rows) if rows else ["None.", ""]
    return text + ([f"{len(off) - MOST} more are in the table.", ""] if len(off) > MOST else [])


def reasons(judged: list) -> list:
    """Rows that are off, by family and reason."""
    groups = {}
    for one in judged:
        if one.verdict in MISSES:
            groups.setdefault((family(one), one.kind, one.reason), []).append(one)
    rows = [(name, kind, len(group), f"{max(errors(group), default=0):.1f}", reason) for (name, kind, reason), group in
            sorted(groups.items(), key=lambda item: -len(item[1]))]
    return lines_of_table(("family", "kind", "rows", "worst, %", "reason"), rows) if rows else ["None.", ""]


def failures(failed: list) -> list:
    groups = {}
    for one in failed:
        groups.setdefault((source_of(one), one.same if one.reason == "it is not run" else one.reason), []).append(one)
    rows = [(name, len(group), reason) for (name, reason), group in sorted(groups.items(), key=lambda item: -len(item[1]))]
    return lines_of_table(("source", "rows", "reason"), rows) if rows else ["None.", ""]


def totals(judged: list) -> list:
    rows = []
    for kind, what, target in TARGETS:
        group = [one for one in judged if one.kind == kind and one.verdict != "not run" and (kind == "fits" or one.same == "yes")]
        right = [one for one in group if one.verdict in ("exact", "right")]
        exact = sum(one.verdict == "exact" for one in group)
        more = f"; {sum(one.verdict == 'near' for one in group)} more are near the limit" if kind == "fits" else f"; {exact} to the byte"
        rows.append((what, len(group), f"{percent(len(right), len(group))}{more}", f"{target} %"))
    verdicts = fit_verdicts(judged)
    rows.append(("verdicts on a batch: the published one fits, the next one fails", len(verdicts), percent(sum(verdicts), len(verdicts)), "97 %"))
    return lines_of_table(("what", "rows", "right", "target"), rows)


def fit_verdicts(judged: list) -> list:
    """Two for each largest batch: that it fits, and that the next one does not. True if tidemark agrees."""
    found = []
    for one in judged:
        if one.kind == "fits" and one.verdict not in ("not run", "failed"):
            ours, theirs = (float(text or 0) if text.replace(".", "").isdigit() else 0.0 for text in (one.tidemark, one.published))
            found += [ours >= theirs, ours <= theirs]
    return found


def times(judged: list) -> list:
    """The errors of times by family; last all of them."""
    groups = {}
    for one in judged:
        if one.kind in ("time", "rate") and one.difference:
            groups.setdefault(family(one), []).append(one)
    everything = [one for group in groups.values() for one in group]
    rows = [(name, len(group), f"{statistics.median(errors(group)):.1f}", f"{quantile(errors(group), 0.9):.1f}",
             f"{statistics.median(float(one.difference) for one in group):+.1f}") for name, group in [*sorted(groups.items()), ("all", everything)] if group]
    return lines_of_table(("family", "rows", "median error, %", "nine in ten, %", "median difference, %"), rows) if rows else ["None.", ""]


def without_recipe(counted: list) -> list:
    """counted: lines of uncovered.count()."""
    if not counted:
        return []
    rows = [(source, number, reason) for source, reason, number, _ in counted]
    return ["## Rows without a recipe", "", f"{sum(int(line[2]) for line in counted):,} of {int(counted[0][3]):,} rows that were collected match no recipe:", "",
            *lines_of_table(("source", "rows", "reason"), rows)]


def page(judged: list, counted: list = ()) -> str:
    run = [one for one in judged if one.verdict not in ("not run", "failed")]
    failed = [one for one in judged if one.verdict == "failed"]
    versions = sorted({one.torch for one in run})
    memory = [one for one in run if one.verdict in MISSES and one.kind not in ("time", "rate")]
    return "\n".join([
        "# Published figures beside the virtual card's", "",
        f"{len(run)} figures that others measured and published, and what the same program gets on a virtual card (PyTorch {', '.join(versions)}); "
        f"{len(failed)} more whose program did not run here. "
        "`./dev published` runs them again, and `./dev published --write docs/results` writes this page. [published.tsv](published.tsv) has every row.", "",
        "![Measured against forecast, and the difference by family](../images/published.svg)", "",
        "A row is *exact* if it is equal as printed, *right* within " + ", ".join(f"{limit:g} % ({kind})" for kind, limit in LIMITS.items() if limit) +
        ", *near* if it is a verdict with less than 1.5 GiB left or lacking, otherwise *off*. Targets hold for the same programs; the column `same` of the table "
        "says what differs in others. The version of PyTorch is no part of a program, except where `same` names it. Answers are of the builds that made them: "
        "`./dev published --again` makes them anew.", "",
        "## Rows that are off", "", f"Memory and verdicts: {len(memory)} of {sum(one.kind not in ('time', 'rate') for one in run)}; those of the same programs first, "
        "the worst of them first.", "",
        *listed(run), "By family and reason, times included:", "", *reasons(run),
        "Programs that did not run:", "", *failures(failed), *without_recipe(counted), "## Totals and targets", "", *totals(judged), "## Times", "", *times(run)])


def read(file: Path) -> list:
    lines = file.read_text().splitlines()
    return [Judged(*line.split("\t")) for line in lines[1:]]


def write(judged: list, folder: Path, counted: list = ()) -> None:
    """The rows that were run, into folder/published.tsv and .md, and folder/../images/published.svg; counted: of those without a recipe."""
    run = [one for one in judged if one.verdict != "not run"]
    (folder / "published.tsv").write_text("\n".join(["\t".join(COLUMNS), *(one.line() for one in run)]) + "\n")
    if counted:
        uncovered.write(counted, folder)
    (folder / "published.md").write_text(page(run, uncovered.read(folder)))
    (folder.parent / "images").mkdir(exist_ok=True)
    (folder.parent / "images/published.svg").write_text(picture(run, family))


def check(folder: Path) -> int:
    """The page and the picture are what the table gives."""
    judged = read(folder / "published.tsv")
    stale = [name for name, text in (("published.md", page(judged, uncovered.read(folder))), ("../images/published.svg", picture(judged, family)))
             if (folder / name).read_text() != text]
    for name in stale:
        print(f"{folder / name} is not what published.tsv gives: python3 -B tests/published/table.py --update {folder}")
    return 1 if stale else 0


if __name__ == "__main__":
    if sys.argv[1] == "--update":
        write(read(Path(sys.argv[2]) / "published.tsv"), Path(sys.argv[2]))
    else:
        sys.exit(check(Path(sys.argv[1])))
