"""Compares the list of functions (programs/virtual_cuda/libraries/*.def) with the preloaded object, with the prototypes of
NVIDIA's headers (data/cuda_api) and with what PyTorch needs.

  check_list.py LIBRARY --needed FILE           with what released versions of PyTorch need, as FILE has it
  check_list.py LIBRARY --torch DIR             with what the PyTorch in this folder (its site-packages) needs
  check_list.py --write FILE VERSION=DIR ...    adds these versions of PyTorch to FILE

A name that PyTorch needs and that is neither offered nor knowingly left to the real library is a fault; so is a row
that the object does not keep.
"""
import argparse
import re
import sys
from pathlib import Path

from check_rows import check_rows
from symbols import NotElf, dynamic_symbols

ROOT = Path(__file__).resolve().parents[2]
TABLES = ROOT / "programs" / "virtual_cuda" / "libraries"
ROW = re.compile(r"^(FUNCTION|FUNCTION_64|HAND_WRITTEN|WITHOUT_OUTPUT|REFUSED_BY_HAND|INEXACT_BY_HAND|PARTLY_BY_HAND|LEFT_TO_REAL|NOT_SERVED|NOT_SIMULATED|SAME_AS|PER_THREAD|PER_THREAD_NULL)\((\w+)(.*)$")
# NVIDIA's names, by their prefixes and by the versions of symbols.
FAMILY = re.compile(r"^(cu[A-Z]|cu(blas|dnn|fft|file|pti|rand|solver|sparse|da)|__cuda|p?nccl|nv(ml|rtc|shmem|jpeg|tx|JitLink|ptx))")
VERSION = re.compile(r"^(lib(cu|nv|nccl)|NVSHMEM)")
# The names that PyTorch looks up with cudaGetDriverEntryPoint and dlsym: texts in its one library that does so.
BY_NAME = re.compile(rb"\0((?:cu|nvml)[A-Z][a-z]\w{3,60})(?=\0)")
SUFFIXES = ("", "_v2", "_v3")


def rows() -> dict[str, tuple[str, str]]:
    """name -> kind of row and its rest; a row may continue on the next line."""
    found: dict[str, tuple[str, str]] = {}
    for table in sorted(TABLES.glob("*.def")):
        text = re.sub(r"/\*.*?\*/", "", table.read_text(), flags=re.S)
        for line in filter(str.strip, re.sub(r"\n +", " ", text).splitlines()):
            row = ROW.match(line)
            if not row or row[2] in found:
                sys.exit(f"{table.name}: not a row, or a second one: {line}")
            found[row[2]] = (row[1], row[3])
    return found


def needed_by(site_packages: Path) -> set[str]:
    """NVIDIA's functions that the libraries of PyTorch leave to others, and those that they look up by name."""
    needed, defined = set(), set()
    for folder in ("torch/lib", "torch", "torchvision"):
        for file in sorted((site_packages / folder).glob("*.so")):
            try:
                its, others = dynamic_symbols(file)
            except NotElf:
                continue
            defined |= its
            needed |= {n for n, version in others.items() if FAMILY.match(n) or VERSION.match(version)}
    c10 = site_packages / "torch/lib/libc10_cuda.so"
    by_name = {n.decode() for n in BY_NAME.findall(c10.read_bytes())} if c10.exists() else set()
    return (needed | {n for n in by_name if n.startswith("nvml") or is_driver_name(n)}) - defined


def is_driver_name(name: str) -> bool:
    return re.match(r"cu(Mem|Ctx|Dev|Get|Green|Stream|Launch|Func|Module|Link|Logs|Multicast|Pointer|Occ|Tensor|Init)", name) is not None


def read_needed(path: Path) -> dict[str, set[str]]:
    """name -> versions. Lines "versions: 2.3.1 2.4.1" begin a group; a name a line follows."""
    needed: dict[str, set[str]] = {}
    versions: set[str] = set()
    for line in path.read_text().splitlines():
        if line.startswith("versions: "):
            versions = set(line.split()[1:])
        elif line and not line.startswith("#"):
            needed[line] = versions
    return needed


def write_needed(path: Path, torches: list[str]) -> None:
    """Adds these versions, or replaces them; others stay."""
    by_version: dict[str, set[str]] = {}
    for name, versions in (read_needed(path) if path.exists() else {}).items():
        for version in versions:
            by_version.setdefault(version, set()).add(name)
    by_version.update((v, needed_by(Path(folder))) for v, folder in (t.split("=", 1) for t in torches))
    order = sorted(by_version, key=lambda v: [int(n) for n in v.split(".")])
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in sorted(set().union(*by_version.values())):
        groups.setdefault(tuple(v for v in order if name in by_version[v]), []).append(name)
    text = "# NVIDIA's functions that released versions of PyTorch (CUDA builds from PyPI) need; check_list.py --write makes it.\n"
    for versions, names in sorted(groups.items(), key=lambda g: (-len(g[0]), g[0])):
        text += "\n".join(["versions: " + " ".join(versions), *names]) + "\n"
    path.write_text(text)


def has_row(name: str, known: dict[str, tuple[str, str]]) -> bool:
    return any(name + suffix in known and known[name + suffix][0] not in ("NOT_SERVED", "NOT_SIMULATED") for suffix in SUFFIXES)


def check_object(library: Path, known: dict[str, tuple[str, str]]) -> list[str]:
    offered = {n for n in dynamic_symbols(library)[0] if FAMILY.match(n)}
    left = {n for n, (kind, _) in known.items() if kind == "LEFT_TO_REAL"}
    faults = [f"{n}: the object offers it, and no table of programs/virtual_cuda/libraries has a row for it" for n in offered - set(known)]
    faults += [f"{n}: a table has it, and the object does not offer it" for n in set(known) - offered - left]
    faults += [f"{n}: is left to the real library, and the object offers it" for n in left & offered]
    return faults + check_words(known)


def check_words(known: dict[str, tuple[str, str]]) -> list[str]:
    """The row of a hand-written function agrees with its C file, and vice versa."""
    faults = []
    sources = re.sub(r'"\s*"', "", "".join(f.read_text() for f in (ROOT / "programs" / "virtual_cuda").rglob("*.[ch]")))
    for name, (kind, rest) in known.items():
        words = re.search(r'"([^"]*)"', re.sub(r'"\s*"', "", rest))
        if kind in ("REFUSED_BY_HAND", "INEXACT_BY_HAND", "PARTLY_BY_HAND") and (words is None or words[1] not in sources):
            faults.append(f"{name}: its row says why it is refused or not exact, and no C file says it in these words")
    for call, name in set(re.findall(r'\btide_vc_(inexact|refused)(?:_bytes)?\(\s*"(\w+)"', sources)):
        kinds = ("INEXACT_BY_HAND",) if call == "inexact" else ("REFUSED_BY_HAND", "PARTLY_BY_HAND")
        if name in known and known[name][0] not in kinds:
            faults.append(f"{name}: a C file says what of it is {call}, and its row does not")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path, nargs="?")
    parser.add_argument("--needed", type=Path)
    parser.add_argument("--torch", type=Path)
    parser.add_argument("--write", nargs="+", metavar=("FILE", "VERSION=DIR"))
    options = parser.parse_args()
    if options.write:
        write_needed(Path(options.write[0]), options.write[1:])
        return 0
    known = rows()
    faults = check_object(options.library, known) + check_rows(known) if options.library else []
    needed = read_needed(options.needed) if options.needed else {}
    if options.torch:
        needed.update({n: {"this one"} for n in needed_by(options.torch)})
    faults += [f"{n}: PyTorch ({', '.join(sorted(v))}) needs it, and no row of programs/virtual_cuda/libraries serves it"
               for n, v in needed.items() if not has_row(n, known)]
    for fault in sorted(faults):
        print(fault, file=sys.stderr)
    print(f"{len(known)} functions in the list, {len(needed)} that PyTorch needs: {len(faults)} faults")
    return 1 if faults or not needed or not known else 0


if __name__ == "__main__":
    sys.exit(main())
