"""Makes the hand-made twin of a program: the printed lines, at the printed places."""
import ast


def parts_of(facts, key):
    """The pairs of a place and lines of an applied change."""
    lines, place = facts["lines." + key], facts["place." + key]
    if not lines.startswith("# at "):
        return [(place, lines)]
    pairs = []
    for line in lines.split("\n"):
        if line.startswith("# at "):
            pairs.append((line[len("# at "):], []))
        else:
            pairs[-1][1].append(line)
    return [(place, "\n".join(text)) for place, text in pairs]


def insert(source, name, parts):
    """The source of a program with lines added. parts: pairs of a place in the file `name` and lines."""
    lines = source.split("\n")
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
    added = []
    for place, text in parts:
        is_before = place.startswith("before ")
        file, _, number = place.removeprefix("before ").rpartition(":")
        if file != name:
            raise ValueError(f"{place} is not in {name}")
        number = int(number)
        of = [n for n in nodes if (n.lineno if is_before else n.end_lineno) == number]
        column = min((node.col_offset for node in of if not hasattr(node, "body")), default=0)
        own = [" " * column + line if line else line for line in text.split("\n")]
        added.append((number - 1 if is_before else number, len(added), own))
    for at, _, own in sorted(added, reverse=True):
        lines[at:at] = own
    return "\n".join(lines)
