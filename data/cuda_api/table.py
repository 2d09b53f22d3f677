"""Reads the tables of this folder: the functions that NVIDIA's headers declare, and how their arguments travel.

headers.py explains the words, such as "I4 P8>p8": an integer of 4 bytes, and the address of a pointer of 8.
"""
import re
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROW = re.compile(r'^PROTOTYPE\((\w+), (\w+), (\d+), "([^"]*)", "([^"]*)"\)$', re.M)
WORD = re.compile(r"([PIFMV])(\d+)(?:([<>])([a-z])(\d+))?")


@dataclass
class Type:
    travels: str
    n_bytes: int
    is_const: bool = False  # the rest describes what a pointer points to
    target: str = ""
    target_bytes: int = 0


@dataclass
class Argument:
    type: Type
    name: str
    register: int  # counted over the integer class; -1 where the argument is not of it


@dataclass
class Prototype:
    name: str
    library: str
    result: str  # STATUS, NUMBER, SIZE, POINTER, TEXT, FLOATING, STRUCTURE or VOID
    since: int   # the version of CUDA from which a program means this one by the name without its suffix; 0: unknown
    declaration: str
    returns: Type
    arguments: list[Argument] = field(default_factory=list)

    def integers(self) -> dict[int, Argument]:
        return {a.register: a for a in self.arguments if a.register >= 0}


def parse_type(word: str) -> Type:
    found = WORD.fullmatch(word)
    if found is None:
        raise ValueError(f"not a type: {word}")
    return Type(found[1], int(found[2]), found[3] == "<", found[4] or "", int(found[5] or 0))


def split_parameters(text: str) -> list[str]:
    parts, depth, word = [], 0, ""
    for letter in text + ",":
        depth += (letter in "([<") - (letter in ")]>")
        if letter == "," and depth == 0:
            parts.append(word)
            word = ""
        else:
            word += letter
    return parts


def name_of(parameter: str) -> str:
    """The last word of a parameter; of one without a name, a word that matches no rule."""
    pointer = re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", parameter)
    words = [pointer[1]] if pointer else re.findall(r"\w+", re.sub(r"\[[^\]]*\]", "", parameter))
    return words[-1] if words else ""


def parse(library: str, row: tuple[str, str, str, str, str]) -> Prototype:
    name, result, since, declaration, words = row
    returns, *arguments = [parse_type(w) for w in words.split()]
    made = Prototype(name, library, result, int(since), declaration, returns)
    names = [name_of(p) for p in split_parameters(declaration[declaration.index("(") + 1:declaration.rindex(")")])]
    # A value larger than two registers is returned through a pointer that takes the first one.
    register = 1 if returns.travels == "M" and returns.n_bytes > 16 else 0
    for i, kind in enumerate(arguments):
        counted = kind.travels in "PI"
        made.arguments.append(Argument(kind, names[i] if i < len(names) else "", register if counted else -1))
        register += counted
    return made


def read_tables() -> dict[str, Prototype]:
    found: dict[str, Prototype] = {}
    for path in sorted(HERE.glob("*.def")):
        for row in ROW.findall(path.read_text()):
            found[row[0]] = parse(path.stem, row)
    return found
