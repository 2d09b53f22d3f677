"""Writes and verifies the tables of programs/virtual_cuda/libraries against NVIDIA's headers and an installed PyTorch.

  make_tables.py --site-packages DIR            adds a row for every function that torch needs and no table has
  make_tables.py --site-packages DIR --check    verifies every row, and that no function is missing; writes nothing
  make_tables.py --runtime DIR ...              verifies only our runtime and driver, with the headers of another CUDA

Existing rows are kept: a person decides what a function does; this program proposes and verifies. --headers DIR may
name further folders of headers.
"""
import argparse
import re
import sys
from pathlib import Path

from check_list import has_row, needed_by, rows
from prototypes import Argument, Prototype, read_core, read_prototypes

ROOT = Path(__file__).resolve().parents[2]
TABLES = ROOT / "programs" / "virtual_cuda" / "libraries"
# The table of a name, by its beginning; the first that fits.
LIBRARIES = {
    "cublasLt": "cublaslt", "cublas": "cublas", "cudnn": "cudnn", "cufft": "cufft", "cusolver": "cusolver",
    "cusparseLt": "cusparselt", "cusparse": "cusparse", "curand": "curand", "cupti": "cupti", "nccl": "nccl",
    "cuFile": "cufile", "nvshmem": "nvshmem", "nvjpeg": "nvjpeg", "nvrtc": "nvrtc", "nvtx": "nvtx", "nvml": "nvml",
    "cuda": "cudart", "__cuda": "cudart", "cu": "driver",
}
FUNCTION = re.compile(r"(\w+), (.*)\)$")
EFFECT = re.compile(r'(\w+)(?:\((-?\d+)(?:, (\d+|""))?((?:, \w+)*)\))?')
# The numbers in a work area's effect that are integer-class arguments.
ARGUMENTS = {"WORK_AREA": (4, 5), "WORK_AREAS": (4, 5, 6), "WORK_AREA_TYPED": (3, 4, 5), "WORK_AREAS_TYPED": (3, 4, 5, 6)}
# By how a value travels and its size; M8 is cuFile's pair of two statuses, where 0 means success. For a launch log's
# effect: by place, the meaning of an argument, from its name in the header.
PRODUCT = ("transa", "transb", "m", "n", "k")
LOGGED = {
    "PRODUCT": PRODUCT,
    "PRODUCTS": (*PRODUCT, None, "batchCount"),
    "PRODUCT_TYPED": (*PRODUCT, "Atype", "Ctype", "computeType"),
    "PRODUCTS_TYPED": (*PRODUCT, "Atype", "Ctype", "computeType", "batchCount"),
    "PRODUCT_TYPED_BY_MODE": (*PRODUCT, "Atype", "Ctype"),
    "PRODUCT_DESCRIBED": ("computeDesc", "Adesc", "Ddesc", "stream"),
    "MOVES": ("n",),
    "MOVES_MATRIX": ("m", "n"),
    "CONVOLUTION": ("xDesc", "wDesc", "convDesc", "yDesc"),
    "CONVOLUTION_DATA": ("dxDesc", "wDesc", "convDesc", "dyDesc"),
    "CONVOLUTION_FILTER": ("xDesc", "dwDesc", "convDesc", "dyDesc"),
    "PASSES": ("xDesc",),
}
# The type of all three matrices, by the letter of a function's name.
LETTERS = {"S": "FP32", "D": "FP64", "C": "COMPLEX64", "Z": "COMPLEX128"}
RETURNS = {"I4": "STATUS", "M8": "STATUS", "V0": "VOID", "I8": "SIZE", "P8": "POINTER"}
N_WORDS = 28


def library_of(name: str) -> str:
    return next((table for start, table in LIBRARIES.items() if name.startswith(start)), "")


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
    returns = RETURNS.get(f"{prototype.returns.travels}{prototype.returns.n_bytes}", "")
    if not returns or any(a.type.travels == "M" for a in prototype.arguments):
        return f"HAND_WRITTEN({prototype.name})"
    return wrapped(f"FUNCTION({prototype.name}, {returns}, {effects or 'HARMLESS'})")


def wrapped(row: str) -> str:
    """Rows over 100 columns continue on the next line, as a table's reader expects them."""
    if len(row) <= 100:
        return row
    at = row.index(", ", row.index(", ") + 1) + 1
    return row[:at] + "\n        " + row[at:]


def check_target(name: str, effect: str, argument: Argument, size: int | None) -> list[str]:
    kind, faults = argument.type, []
    if kind.travels != "P" or (kind.is_const and effect != "DESTROYS"):
        return [f"{name}: {effect}({argument.register}): the argument is no address of an output"]
    if effect == "WRITES_DESCRIBED":
        return [] if kind.target == "o" else [f"{name}: {effect}({argument.register}): the argument is no descriptor"]
    if effect in ("OUTPUT", "WORKSPACE") and kind.target_bytes != size:
        faults.append(f"{name}: {effect}({argument.register}, {size}): the header's type has {kind.target_bytes} bytes")
    if effect == "WORKSPACE" and kind.target != "i":
        faults.append(f"{name}: WORKSPACE({argument.register}): the argument is no size")
    if effect == "CREATES" and kind.target != "p":
        faults.append(f"{name}: CREATES({argument.register}): the argument is no address of a handle")
    if effect == "DESTROYS" and kind.target not in "osv":
        faults.append(f"{name}: DESTROYS({argument.register}): the argument is no handle")
    return faults


def check_logged(prototype: Prototype, effect: str, words: list[str]) -> list[str]:
    """The arguments of a launch log's effect are the named ones; each is read as 32 bits or an address."""
    name, faults, integers = prototype.name, [], prototype.integers()
    if effect in ("PRODUCT", "PRODUCTS") and words[5] != LETTERS.get(name[len("cublas")]):
        faults.append(f"{name}: {effect}: the type {words[5]} is not the name's")
    for word, meaning in zip(words, LOGGED[effect]):
        if meaning is None:
            continue
        argument = integers.get(int(word))
        if argument is None or argument.name.lower() != meaning.lower():
            faults.append(f"{name}: {effect}: argument {word} is {argument.name if argument else 'none'}, not {meaning}")
        elif argument.type.travels == "I" and argument.type.n_bytes != 4:
            faults.append(f"{name}: {effect}: argument {word} has {argument.type.n_bytes} bytes")
    return faults


def verify(prototype: Prototype, returns: str, effects: str) -> list[str]:
    name, faults, named, refused = prototype.name, [], set(), False
    integers = prototype.integers()
    kind = f"{prototype.returns.travels}{prototype.returns.n_bytes}"
    expected = "TEXT" if kind == "P8" and prototype.returns.is_const and prototype.returns.target_bytes == 1 else RETURNS.get(kind)
    if returns != expected:
        faults.append(f"{name}: returns {returns}, by the header {expected}")
    if any(a.type.travels == "M" for a in prototype.arguments) and not effects.startswith("REFUSED"):
        faults.append(f"{name}: passes a structure by value and must be written by hand")
    if sum(a.type.travels == "F" for a in prototype.arguments) > 8:
        faults.append(f"{name}: has floating arguments on the stack, where they would be counted")
    for found in EFFECT.finditer(re.sub(r'"[^"]*"', '""', effects)):
        effect, first, second = found[1], found[2], found[3]
        if effect in LOGGED:
            faults += check_logged(prototype, effect, re.findall(r"\w+", found[0])[1:])
            continue
        if effect in ("HARMLESS", "REFUSED", "ANSWERS", "SAYS", "WORKS"):
            refused |= effect == "REFUSED"
            continue
        if effect.startswith("WORK_AREA"):
            numbers = [int(n) for n in re.findall(r"\d+", found[0])]
            faults += [f"{name}: {found[0]}: argument {numbers[i]} is no integer" for i in ARGUMENTS.get(effect, ())
                       if numbers[i] not in integers or integers[numbers[i]].type.travels != "I"]
            if effect == "WORK_AREA_OF" and integers[numbers[2]].type.target != "o":
                faults.append(f"{name}: {found[0]}: argument {numbers[2]} is no descriptor")
            effect = "WORKSPACE"
        index = int(first)
        if index not in integers:
            faults.append(f"{name}: {effect}({index}): there is no such argument")
            continue
        named.add(index)
        if index >= N_WORDS:
            faults.append(f"{name}: {effect}({index}): a stub takes {N_WORDS} words")
        size = int(second) if second and effect in ("OUTPUT", "WORKSPACE") else None
        faults += check_target(name, effect, integers[index], size)
        if effect in ("OUTPUT_OF", "LENDS") and (int(second) not in integers or integers[int(second)].type.n_bytes != 8):
            faults.append(f"{name}: {effect}({index}, {second}): the second argument is no size")
    for index, argument in integers.items():
        writable = argument.type.travels == "P" and not argument.type.is_const and argument.type.target not in "oc"
        if writable and index not in named and not refused and not is_input(name, argument):
            faults.append(f"{name}: argument {index} ({argument.name}) may be an output, and no effect names it")
    return faults


# Arguments that the headers do not declare constant, although the function only reads or keeps them.
INPUTS = {
    "cudnnRestoreDropoutDescriptor": ("states",),
    "cufftSetWorkArea": ("workArea",), "cuptiSubscribe": ("userdata",),
    "cuptiActivitySetAttribute": ("valueSize", "value"), "cuptiActivityGetNextRecord": ("buffer",),
    "cusparseSpMatSetAttribute": ("data",), "cusparseLtMatmul": ("streams",), "cusparseLtMatmulSearch": ("streams",),
    "ncclCommRegister": ("buff",), "ncclCommWindowRegister": ("buff",), "ncclRedOpCreatePreMulSum": ("scalar",),
    "cuFileHandleDeregister": ("fh",), "cuLinkAddFile_v2": ("options", "optionValues"), "cuLogsRegisterCallback": ("userData",), "nvshmem_free": ("ptr",),
    "nvshmemid_hostlib_finalize": ("device_ctx", "transport_device_ctx"),
}


def is_input(name: str, argument: Argument) -> bool:
    """A descriptor whose structure the header shows, and the names in a query for a size or an array of addresses."""
    target = argument.type.target
    return (argument.name in INPUTS.get(name, ())
            or (target == "s" and re.search(r"desc(r)?$|pref|layout|config|plan|^algo|algSelection", argument.name, re.I) is not None)
            or ("bufferSize" in name and target in "vf")
            or ("Batched" in name and target == "p"))


def written_type(text: str) -> str:
    """How a parameter of our C file travels, and its size, in the probe's notation: P8, I4, I8 or M."""
    if "*" in text:
        return "P8"
    if re.search(r"\b(size_t|u?int64_t|uintptr_t|long long)\b", text):
        return "I8"
    if "unsigned char" in text:
        return "I1"
    if "unsigned short" in text:
        return "I2"
    return "I4" if re.search(r"\b(int|unsigned|int32_t|uint32_t)\b", text) else "M"


def verify_by_hand(prototypes: dict[str, Prototype]) -> list[str]:
    """The declarations in our C files against the headers. Unread arguments at the end may be omitted."""
    text = "".join(f.read_text() for f in sorted(TABLES.parent.rglob("*.c")))
    faults = []
    for found in re.finditer(r"^TIDE_VC_EXPORT int (\w+)\(([^)]*)\)[;\s]", text, re.M):
        prototype = prototypes.get(found[1])
        ours = [written_type(parameter) for parameter in found[2].split(",") if parameter.strip() != "void"]
        if prototype is None:
            continue
        theirs = [f"{a.type.travels}{a.type.n_bytes}" if a.type.travels != "M" else "M" for a in prototype.arguments]
        if ours != theirs[:len(ours)]:
            faults.append(f"{found[1]}: is written with {' '.join(ours)}, by the header {' '.join(theirs)}")
    return faults


# Functions whose arguments changed with CUDA 12 or 13. What ours do is right for either: they ask for the runtime's
# version, or read none of the arguments that moved.
CHANGED = {
    "cudaGetDriverEntryPoint", "cudaGraphAddNode", "cudaGraphInstantiate", "cudaGraphNodeGetDependencies", "cudaMemAdvise",
    "cudaStreamGetCaptureInfo", "cudaStreamUpdateCaptureDependencies",
}
# Those written in a form that fits both.
IN_BOTH_FORMS = {"cudaGraphExecUpdate", "cudaMemPrefetchAsync"}


def check_runtime(includes: list[Path]) -> int:
    prototypes = read_core(sorted(rows()), includes)
    faults = [f for f in verify_by_hand(prototypes) if f.split(":")[0] not in CHANGED | IN_BOTH_FORMS]
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{len(prototypes)} functions of the runtime and the driver: {len(faults)} faults")
    return 1 if faults or len(prototypes) < 150 else 0


def write_missing(missing: list[str], prototypes: dict[str, Prototype]) -> None:
    for name in missing:
        table = TABLES / f"{library_of(name)}.def"
        if not table.exists():
            table.write_text(f"/* {table.name} - what the virtual card answers: see stub_friend.h. */\n")
        row = derive(prototypes[name]) if name in prototypes else f"HAND_WRITTEN({name})"
        with table.open("a") as out:
            out.write(row + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site-packages", type=Path)
    parser.add_argument("--runtime", type=Path, nargs="+")
    parser.add_argument("--headers", type=Path, action="append", default=[])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.runtime:
        return check_runtime(options.runtime)
    includes = options.headers + sorted(options.site_packages.glob("nvidia/*/include"))
    known = rows()
    needed = needed_by(options.site_packages)
    prototypes = read_prototypes(sorted(needed | set(known)), includes, [Path("/usr/local/cuda/include")])
    missing = sorted(n for n in needed if not has_row(n, known))
    if not options.check:
        write_missing(missing, prototypes)
        print(f"{len(missing)} rows added; read them before they are committed")
        return 0
    faults = [f"{n}: torch needs it, and no table has it" for n in missing]
    faults += [f"{n}: torch needs it, and no header declares it" for n in sorted(needed & set(known))
               if n not in prototypes and known[n][0] == "FUNCTION" and "REFUSED" not in known[n][1]]
    for name, (kind, rest) in known.items():
        if kind == "FUNCTION" and name in prototypes:
            faults += verify(prototypes[name], *FUNCTION.match(rest.lstrip(", ")).groups())
    faults += [f for f in verify_by_hand(prototypes) if f.split(":")[0] not in IN_BOTH_FORMS]
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{len(known)} rows, {len(needed)} functions that torch needs, {len(prototypes)} prototypes: {len(faults)} faults")
    return 1 if faults or not needed else 0


if __name__ == "__main__":
    sys.exit(main())
