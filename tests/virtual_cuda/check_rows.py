"""Verifies the rows of programs/virtual_cuda/libraries against the prototypes of data/cuda_api.

check_list.py calls check_rows(). Alone, with the headers of another CUDA in these folders:

  check_rows.py --runtime DIR ...    verifies the runtime and the driver that are written by hand
"""
import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "data" / "cuda_api"))
from headers import Group, read_group  # noqa: E402
from table import Argument, Prototype, name_of, parse, read_tables, split_parameters  # noqa: E402

CARD = ROOT / "programs" / "virtual_cuda"
LIVE = ROOT / "programs" / "live" / "entries"
FUNCTION = re.compile(r"^, (.*)\)$")
EFFECT = re.compile(r'(\w+)(?:\((-?\d+)(?:, (\d+|""))?((?:, \w+)*)\))?')
# The numbers in a work area's effect that are integer-class arguments.
ARGUMENTS = {"WORK_AREA": (4, 5), "WORK_AREAS": (4, 5, 6), "WORK_AREA_TYPED": (3, 4, 5), "WORK_AREAS_TYPED": (3, 4, 5, 6)}
# For a launch log's effect: by place, the meaning of an argument, from its name in the header.
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
LETTERS = {"H": "FP16", "S": "FP32", "D": "FP64", "C": "COMPLEX64", "Z": "COMPLEX128"}
N_WORDS = 32


def check_target(name: str, effect: str, argument: Argument, size: int | None) -> list[str]:
    kind, faults = argument.type, []
    if kind.travels != "P" or (kind.is_const and effect != "DESTROYS"):
        return [f"{name}: {effect}({argument.register}): the argument is no address of an output"]
    if effect in ("WRITES_DESCRIBED", "COUNTS_NONZERO"):
        return [] if kind.target == "o" else [f"{name}: {effect}({argument.register}): the argument is no descriptor"]
    if effect == "WRITES" and is_on_host(argument):
        faults.append(f"{name}: WRITES({argument.register}): {argument.name} is on the host and would stay unset")
    if effect == "OUTPUT" and kind.target == "p" and name not in NULL_IS_AN_ANSWER:
        faults.append(f"{name}: OUTPUT({argument.register}): {argument.name} would be NULL with a status of success")
    if effect in ("OUTPUT", "OUTPUTS", "WORKSPACE") and kind.target_bytes != size:
        faults.append(f"{name}: {effect}({argument.register}, {size}): the header's type has {kind.target_bytes} bytes")
    if effect == "WORKSPACE" and kind.target != "i":
        faults.append(f"{name}: WORKSPACE({argument.register}): the argument is no size")
    if effect == "CREATES" and kind.target != "p":
        faults.append(f"{name}: CREATES({argument.register}): the argument is no address of a handle")
    if effect == "DESTROYS" and kind.target not in "osv":
        faults.append(f"{name}: DESTROYS({argument.register}): the argument is no handle")
    return faults


# Lists of 64-bit integers on the card; other outputs of that type are sizes on the host.
ON_CARD = ("ipiv", "outputPtr")
# No address is an answer of its own here: the stream has no green context, and no record is left.
NULL_IS_AN_ANSWER = ("cuStreamGetGreenCtx", "cuptiActivityGetNextRecord")


def is_on_host(argument: Argument) -> bool:
    """WRITES only forgets bytes of the card. These outputs are the host's, or its by the default pointer mode."""
    kind = argument.type
    is_size = kind.target == "i" and kind.target_bytes == 8 and argument.name not in ON_CARD
    return is_size or re.match(r"h_|num_|residual$|result$|tol$|boost_val$", argument.name) is not None


# Descriptors of cuSPARSE that a function may write to, and the functions that write to none.
WRITABLE_DESCRIPTOR = re.compile(r"\bcusparse(SpMat|SpVec|DnMat|DnVec)Descr_t\b")
ONLY_READS = re.compile(r"_(bufferSize|preprocess|estimateMemory|workEstimation|compute|nnz)$|SpS[MV]_analysis$|(Get|Set)[A-Z]|^cusparse(Destroy|Create)")


def check_described(prototype: Prototype, effects: str) -> list[str]:
    """A function that works on a result makes it unknown."""
    declaration = prototype.declaration
    parameters = split_parameters(declaration[declaration.index("(") + 1:declaration.rindex(")")])
    is_reuse = prototype.name == "cusparseSpGEMMreuse_compute"
    if ONLY_READS.search(prototype.name) and not is_reuse:
        return []
    return [f"{prototype.name}: argument {a.register} ({a.name}) may be written to, and no WRITES_DESCRIBED names it"
            for a, parameter in zip(prototype.arguments, parameters)
            if WRITABLE_DESCRIPTOR.search(parameter) and f"WRITES_DESCRIBED({a.register}," not in effects]


SIZES = ("m", "n", "k", "batchCount")


def check_logged(prototype: Prototype, effect: str, words: list[str], is_wide: bool) -> list[str]:
    """The arguments of a launch log's effect are the named ones; each is read as 32 bits or an address. FUNCTION_64
    reads sizes as 64 bits."""
    name, faults, integers = prototype.name, [], prototype.integers()
    if effect in ("PRODUCT", "PRODUCTS") and words[5] != LETTERS.get(name[len("cublas")]):
        faults.append(f"{name}: {effect}: the type {words[5]} is not the name's")
    for word, meaning in zip(words, LOGGED[effect]):
        if meaning is None:
            continue
        argument = integers.get(int(word))
        if argument is None or argument.name.lower() != meaning.lower():
            faults.append(f"{name}: {effect}: argument {word} is {argument.name if argument else 'none'}, not {meaning}")
        elif argument.type.travels == "I" and argument.type.n_bytes != (8 if is_wide and meaning in SIZES else 4):
            faults.append(f"{name}: {effect}: argument {word} has {argument.type.n_bytes} bytes")
    return faults


def verify(prototype: Prototype, effects: str, is_wide: bool = False) -> list[str]:
    name, faults, named, refused = prototype.name, [], set(), False
    integers = prototype.integers()
    if prototype.result in ("FLOATING", "STRUCTURE"):
        faults.append(f"{name}: its result travels in other registers: it must be written by hand")
    if any(a.type.travels == "M" for a in prototype.arguments) and not effects.startswith("REFUSED"):
        faults.append(f"{name}: passes a structure by value and must be written by hand")
    if sum(a.type.travels == "F" for a in prototype.arguments) > 8:
        faults.append(f"{name}: has floating arguments on the stack, where they would be counted")
    for found in EFFECT.finditer(re.sub(r'"[^"]*"', '""', effects)):
        effect, first, second = found[1], found[2], found[3]
        if effect in LOGGED:
            faults += check_logged(prototype, effect, re.findall(r"\w+", found[0])[1:], is_wide)
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
        size = int(second) if second and effect in ("OUTPUT", "OUTPUTS", "WORKSPACE") else None
        faults += check_target(name, effect, integers[index], size)
        if effect in ("OUTPUT_OF", "LENDS") and (int(second) not in integers or integers[int(second)].type.n_bytes != 8):
            faults.append(f"{name}: {effect}({index}, {second}): the second argument is no size")
    faults += [] if refused else check_described(prototype, effects)
    for index, argument in integers.items():
        writable = argument.type.travels == "P" and not argument.type.is_const and argument.type.target not in "oc"
        if writable and index not in named and not refused and not is_input(name, argument):
            faults.append(f"{name}: argument {index} ({argument.name}) may be an output, and no effect names it")
    return faults


# Arguments that the headers do not declare constant, although the function only reads or keeps them.
INPUTS = {
    "cuCoredumpSetAttribute": ("value", "size"), "cuCoredumpSetAttributeGlobal": ("value", "size"),
    "cuLinkAddFile": ("options", "optionValues"), "cuParamSetv": ("ptr",), "cuTensorMapReplaceAddress": ("tensorMap", "globalAddress"),
    "cublasSetFixedPointEmulationMantissaBitCountPointer": ("mantissaBitCount",), "cudaLogsRegisterCallback": ("userData",),
    "cudaSetDoubleForDevice": ("d",), "cudaSetDoubleForHost": ("d",), "cudaSetValidDevices": ("device_arr",),
    "cudnnRestoreDropoutDescriptor": ("states",), "cudnnSetCallback": ("udata",),
    "pncclCommRegister": ("buff",), "pncclCommWindowRegister": ("buff",),
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
            or (name.endswith("_numericBoost") and argument.name in ("tol", "boost_val"))
            or ("bufferSize" in name and (target in "vf" or not re.search("work|size|bytes|buffer", argument.name, re.I)))
            or (name.endswith("LoggerSetFile") and argument.name == "file")
            or ("Batched" in name and target == "p"))


STREAM = re.compile(r"\b(CUstream|cudaStream_t)\b(?!\s*\*)")


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


def written_words(parameters: str) -> list[str]:
    return [written_type(p) for p in parameters.split(",") if p.strip() not in ("", "void")]


# Ours also reads the last argument of an older version, which the header does not have: the stream of CUDA 12.
LONGER_BEFORE = {"cudaMemcpyBatchAsync": ["P8"]}


def verify_parameters(name: str, ours: list[str], prototypes: dict[str, Prototype]) -> list[str]:
    """Unread arguments at the end may be omitted."""
    if name not in prototypes:
        return []
    theirs = [f"{a.type.travels}{a.type.n_bytes}" if a.type.travels != "M" else "M" for a in prototypes[name].arguments]
    if ours == theirs[:len(ours)] or ours == theirs + LONGER_BEFORE.get(name, []):
        return []
    return [f"{name}: is written with {' '.join(ours)}, by the header {' '.join(theirs)}"]


def verify_stream(name: str, parameters: str, prototypes: dict[str, Prototype]) -> list[str]:
    """A parameter named `stream` is the header's stream: two pointers in each other's place have the same words."""
    ours = [name_of(p) for p in parameters.split(",")]
    declaration = prototypes[name].declaration if name in prototypes else "()"
    theirs = split_parameters(declaration[declaration.index("(") + 1:declaration.rindex(")")])
    place = next((i for i, p in enumerate(theirs) if STREAM.search(p)), None)
    if place is None or ours.count("stream") != 1 or ours.index("stream") == place:
        return []
    return [f"{name}: its stream is argument {ours.index('stream')}, by the header {place}"]


def verify_by_hand(prototypes: dict[str, Prototype]) -> list[str]:
    """The declarations in the virtual card's C files."""
    text = "".join(f.read_text() for f in sorted(CARD.rglob("*.c")))
    faults = []
    for found in re.finditer(r"^TIDE_VC_EXPORT ([\w *]+?)\b(\w+)\(([^)]*)\)[;\s]", text, re.M):
        faults += verify_parameters(found[2], written_words(found[3]), prototypes)
        faults += verify_stream(found[2], found[3], prototypes)
        if found[2] in prototypes and (found[1].strip() == "void") != (prototypes[found[2]].result == "VOID"):
            faults.append(f"{found[2]}: returns {found[1].strip()}, by the header {prototypes[found[2]].declaration.split('(')[0]}")
    return faults


def verify_live(prototypes: dict[str, Prototype]) -> list[str]:
    """The stand-ins of the live recorder, each for a function of CUDA that returns a status."""
    text = "".join(f.read_text() for f in sorted(LIVE.glob("*.c")))
    faults, n = [], 0
    for found in re.finditer(r"^TIDE_LIVE_STAND_IN\((\w+),([^{]*?)\) \{$", text, re.M):
        name, parameters, n = found[1], re.sub(r"\([^()]*\)", "", found[2].replace("(*", "*(")), n + 1
        ours = written_words(parameters)
        if name not in prototypes:
            faults.append(f"{name}: the live recorder stands in for it, and no table of data/cuda_api has it")
        elif prototypes[name].result != "STATUS" or len(ours) != len(prototypes[name].arguments):
            faults.append(f"{name}: the stand-in has {len(ours)} arguments, by the header {prototypes[name].declaration}")
        faults += verify_parameters(name, ours, prototypes)
    return faults if n > 0 else ["programs/live/entries: no stand-in was found"]


def place_of_stream(prototype: Prototype) -> int | None:
    """The word of the arguments that is the first stream, by the calling convention; None: it has no stream."""
    declaration = prototype.declaration
    parameters = split_parameters(declaration[declaration.index("(") + 1:declaration.rindex(")")])
    n_registers = n_stack = 0
    for argument, parameter in zip(prototype.arguments, parameters):
        n_words = (argument.type.n_bytes + 7) // 8
        on_stack = n_words > 2 or n_registers + n_words > 6
        at = 6 + n_stack if on_stack else n_registers
        n_stack, n_registers = n_stack + n_words * on_stack, n_registers + n_words * (not on_stack)
        if STREAM.search(parameter):
            return at
    return None


def verify_same(prototype: Prototype, kind: str, words: list[str], known: dict[str, tuple[str, str]],
                prototypes: dict[str, Prototype]) -> list[str]:
    """Both functions have the same arguments, the other one is served, and the stream is where the row says."""
    name, other = prototype.name, words[0]
    if other not in prototypes or known.get(other, ("NOT_SERVED", ""))[0] in ("NOT_SERVED", "NOT_SIMULATED", "FUNCTION", "LEFT_TO_REAL"):
        return [f"{name}: {kind}: {other} is not written by hand"]
    types = [[(a.type.travels, a.type.n_bytes) for a in p.arguments] for p in (prototype, prototypes[other])]
    faults = [] if types[0][:len(types[1])] == types[1] else [f"{name}: {kind}: the arguments of {other} are others"]
    place = place_of_stream(prototype)
    if kind == "PER_THREAD" and place != int(words[1]):
        faults.append(f"{name}: {kind}: the stream is word {place}, not {words[1]}")
    return faults


# Functions whose arguments changed with CUDA 12 or 13. What ours do is right for either: they ask for the runtime's
# version, or read none of the arguments that moved.
CHANGED = {
    "cudaGetDriverEntryPoint", "cudaGraphAddNode", "cudaGraphInstantiate", "cudaGraphNodeGetDependencies", "cudaMemAdvise",
    "cudaStreamGetCaptureInfo", "cudaStreamUpdateCaptureDependencies",
}
# Those written in a form that fits both.
IN_BOTH_FORMS = {"cudaGraphExecUpdate", "cudaMemPrefetchAsync", "cudaMemcpyBatchAsync"}


RUNTIME = Group(["cuda.h", "cuda_runtime_api.h"], ("__CUDA_RUNTIME_H__",))


def check_runtime(includes: list[Path]) -> int:
    found = read_group(RUNTIME, r"(?:__)?cu(?:da)?[A-Z]\w+", includes, set())
    prototypes = {d.name: parse("", (d.name, "VOID" if d.words.startswith("V0") else "STATUS", "0", f"{d.returns} ({d.parameters})", d.words))
                  for d in found}
    faults = [f for f in verify_by_hand(prototypes) if f.split(":")[0] not in CHANGED | IN_BOTH_FORMS]
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{len(prototypes)} functions of the runtime and the driver: {len(faults)} faults")
    return 1 if faults or len(prototypes) < 150 else 0


def check_rows(known: dict[str, tuple[str, str]]) -> list[str]:
    """`known`: kind of row and its rest by name, as check_list.rows() reads them."""
    prototypes = read_tables()
    faults = [f"{n}: a header declares it, and no table of programs/virtual_cuda/libraries has a row for it" for n in set(prototypes) - set(known)]
    faults += [f"{n}: a table has it, and no header declares it: see data/cuda_api/headers.py" for n in set(known) - set(prototypes)]
    for name, (kind, rest) in known.items():
        if kind in ("FUNCTION", "FUNCTION_64") and name in prototypes:
            faults += verify(prototypes[name], FUNCTION.match(rest)[1], kind == "FUNCTION_64")
        if kind in ("SAME_AS", "PER_THREAD", "PER_THREAD_NULL") and name in prototypes:
            faults += verify_same(prototypes[name], kind, rest.strip(" ,)").split(", "), known, prototypes)
    faults += [f for f in verify_by_hand(prototypes) if f.split(":")[0] not in IN_BOTH_FORMS]
    return faults + verify_live(prototypes)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runtime", type=Path, nargs="+", required=True)
    return check_runtime(parser.parse_args().runtime)


if __name__ == "__main__":
    sys.exit(main())
