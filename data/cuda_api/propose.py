"""Proposes rows of the virtual card: propose.py NAME ...

Prints the prototype of each function and a row for programs/virtual_cuda/libraries that its types suggest. A person
reads it before it is committed: types do not show what a function does.
"""
import re
import sys

from table import Argument, Prototype, read_tables


def is_handle_output(argument: Argument) -> bool:
    return argument.type.travels == "P" and argument.type.target == "p" and not argument.type.is_const


def asks_for_work_area(prototype: Prototype, argument: Argument) -> bool:
    return argument.type.target == "i" and (
        re.search(r"bufferSize|WorkspaceSize|GetWorkspace|workEstimation|ReserveSpaceSize|CompressedSize", prototype.name) is not None
        and re.search(r"work|size|bytes|buffer", argument.name, re.I) is not None)


def effect_of(prototype: Prototype, argument: Argument) -> str:
    """What the function probably does to this argument; a person reads it before it is committed."""
    kind, i = argument.type, argument.register
    if kind.travels != "P" or kind.is_const or kind.target in "oc":
        return ""
    if kind.target == "p":
        return f"CREATES({i})" if re.search(r"Create|Init|create", prototype.name) else f"OUTPUT({i}, 8)"
    if kind.target == "v":
        return f"WRITES({i})"
    if asks_for_work_area(prototype, argument):
        return f"WORKSPACE({i}, {kind.target_bytes})"
    if kind.target == "f" and argument.name not in ("result", "a", "b", "c", "s"):
        return f"WRITES({i})"
    return f"OUTPUT({i}, {kind.target_bytes})"


def derive(prototype: Prototype) -> str:
    integers = prototype.integers()
    if re.search(r"Destroy|destroyDescr", prototype.name) and integers and integers[0].type.target in "ov":
        effects = "DESTROYS(0)"
    else:
        effects = " ".join(filter(None, (effect_of(prototype, a) for a in integers.values())))
    if prototype.result in ("FLOATING", "STRUCTURE") or any(a.type.travels == "M" for a in prototype.arguments):
        return f"HAND_WRITTEN({prototype.name})"
    return wrapped(f"FUNCTION({prototype.name}, {effects or 'HARMLESS'})")


def wrapped(row: str) -> str:
    """Rows over 100 columns continue on the next line, as a table's reader expects them."""
    if len(row) <= 100:
        return row
    at = row.index(", ") + 1
    return row[:at] + "\n        " + row[at:]


def main(names: list[str]) -> int:
    prototypes = read_tables()
    for name in names:
        if name not in prototypes:
            print(f"{name}: no header declares it", file=sys.stderr)
            continue
        print(f"{prototypes[name].library}.def: {prototypes[name].declaration}\n{derive(prototypes[name])}")
    return 0 if names and all(n in prototypes for n in names) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
