"""One picture of all rows: measured against forecast, and the difference by family. SVG, for light and dark pages."""
import math
from html import escape

import rows

WIDTH, PANEL, LEFT, TOP, GAP = 900, 320, 70, 60, 110
LINE = 18   # height of a family
REACH = 50  # the strip ends at so many %; what differs more is at the edge
STYLE = """text{font:12px Helvetica,Arial,'Liberation Sans',sans-serif;fill:#1b1f26}.quiet{fill:#5d6673}.title{font-size:15px;font-weight:700}
.page{fill:#fff}.grid{stroke:#d8dbe0}.even{stroke:#5d6673;stroke-dasharray:4 3}.same{fill:#0072b2}.other{fill:#d55e00}circle{fill-opacity:.6}
@media(prefers-color-scheme:dark){text{fill:#e6e8ec}.quiet{fill:#a3abb8}.page{fill:#15181d}.grid{stroke:#343a44}.even{stroke:#a3abb8}
.same{fill:#56b4e9}.other{fill:#f0a35e}}"""
PANELS = (("memory, GiB", ("allocated", "reserved", "nvidia-smi"), "GiB"), ("time, ms", ("time",), "ms"))


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def line(x: float, y: float, to_x: float, to_y: float, kind: str) -> str:
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" class="{kind}"/>'


def dot(x: float, y: float, one) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" class="{"same" if one.same == "yes" else "other"}"/>'


def values(judged: list, kinds: tuple, unit: str) -> list:
    """(published, tidemark, row), in the unit of the panel."""
    found = []
    for one in judged:
        pair = [rows.number(word) for word in (one.published, one.tidemark)]
        if one.kind in kinds and None not in pair and min(pair) > 0:
            pair = [rows.convert(value, one.unit, unit) for value in pair]
            found += [(*pair, one)] if None not in pair else []
    return found


def scatter(judged: list, left: float, title: str, kinds: tuple, unit: str) -> list:
    points = values(judged, kinds, unit)
    every = [value for point in points for value in point[:2]] or [1.0, 10.0]
    low, high = math.floor(math.log10(min(every))), math.ceil(math.log10(max(every)))
    high = max(high, low + 1)

    def at(value: float) -> float:
        return PANEL * (math.log10(value) - low) / (high - low)

    out = [text(left, TOP - 10, f"{title}: {len(points)} rows")]
    for power in range(low, high + 1):
        x, name = at(10.0**power), f"{10.0**power:g}"
        out += [line(left + x, TOP, left + x, TOP + PANEL, "grid"), line(left, TOP + PANEL - x, left + PANEL, TOP + PANEL - x, "grid")]
        if (power - high) % (2 if high - low > 6 else 1) == 0:
            out += [text(left + x, TOP + PANEL + 16, name, "quiet", "middle"), text(left - 6, TOP + PANEL - x + 4, name, "quiet", "end")]
    out += [line(left, TOP + PANEL, left + PANEL, TOP, "even"), text(left + PANEL / 2, TOP + PANEL + 34, "published", "quiet", "middle"),
            f'<text transform="translate({left - 48:.1f} {TOP + PANEL / 2:.1f}) rotate(-90)" class="quiet" text-anchor="middle">tidemark</text>']
    return out + [dot(left + at(published), TOP + PANEL - at(found), one) for published, found, one in points]


def strip(judged: list, family) -> tuple:
    """The lines of families, and the y below them."""
    groups = {}
    for one in judged:
        if one.difference:
            groups.setdefault((one.kind in ("time", "rate"), family(one)), []).append(one)
    top, left = TOP + PANEL + 90, 370
    wide = WIDTH - left - 30
    out = [text(LEFT - 50, top - 34, "difference by family (forecast less published)", "title")]

    def at(difference: float) -> float:
        return left + wide * (max(-REACH, min(REACH, difference)) + REACH) / (2 * REACH)

    y = top
    for (timed, name), group in sorted(groups.items()):
        what = "time" if timed else "memory"
        out += [text(LEFT - 50, y + 4, f"{name}, {what}"), text(left - 12, y + 4, str(len(group)), "quiet", "end"), line(left, y, left + wide, y, "grid")]
        out += [dot(at(float(one.difference)), y + 4 * ((index * 7) % 5 - 2) / 2, one) for index, one in enumerate(group)]
        y += LINE
    for mark in (-REACH, -20, 0, 20, REACH):
        out += [line(at(mark), top - 10, at(mark), y - 8, "even" if mark == 0 else "grid"), text(at(mark), top - 16, f"{mark:+d} %" if mark else "0", "quiet", "middle")]
    return out, y


def picture(judged: list, family) -> str:
    lines, bottom = strip(judged, family)
    height = bottom + 10
    head = [text(LEFT - 50, 24, "Published and forecast", "title"),
            '<circle cx="420" cy="20" r="4" class="same"/>', text(430, 24, "the same program", "quiet"),
            '<circle cx="570" cy="20" r="4" class="other"/>', text(580, 24, "an approximation of it", "quiet")]
    panels = [mark for index, (title, kinds, unit) in enumerate(PANELS) for mark in scatter(judged, LEFT + index * (PANEL + GAP), title, kinds, unit)]
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" viewBox="0 0 {WIDTH} {height:.0f}" role="img">',
                      "<title>Published memory and times of programs against those of the virtual card</title>", f"<style>{STYLE}</style>",
                      f'<rect width="{WIDTH}" height="{height:.0f}" class="page"/>', *head, *panels, *lines, "</svg>", ""])
