"""Reads the prototypes of NVIDIA's headers with a C++ compiler: how each argument travels, and what it points to."""
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

# The runtime and the driver, without the overloads for C++ that other headers bring along.
CORE = re.compile(r"cuda|cu[A-Z](?!ile)|nvml")
CORE_HEADERS = ["cuda.h", "cuda_runtime_api.h", "cuComplex.h", "nvml.h"]
HEADERS = [
    "nvjpeg.h", "curand.h", "cublas_v2.h", "cublasLt.h", "cudnn.h", "cusolverDn.h", "cusparse.h", "cusparseLt.h", "cufftXt.h", "nccl.h",
    "nccl_device/core.h", "cupti.h", "cufile.h", "nvshmem_host.h", "host/nvshmem_api.h", "host/nvshmemx_api.h",
]
STANDARD = ["cstdio", "type_traits"]

# Prints a line a function: its name, its return type, and its arguments. Of each type: how it travels (P pointer,
# I integer or enumeration, F floating register, M by value in memory or in several registers, V void), its size, and
# for a pointer whether the target is constant, what kind of thing it is and its size.
PROBE = r"""
template <class T, class = void> struct bytes { static constexpr unsigned value = 0; };
template <class T> struct bytes<T, std::void_t<decltype(sizeof(T))>> { static constexpr unsigned value = sizeof(T); };
template <> struct bytes<void> { static constexpr unsigned value = 0; };
template <class T> constexpr bool is_floating = std::is_floating_point_v<T> || std::is_same_v<T, cuComplex> ||
                                                std::is_same_v<T, cuDoubleComplex>;
template <class T> constexpr char travels() {
    if (std::is_void_v<T>) return 'V';
    if (std::is_pointer_v<T>) return 'P';
    if (std::is_integral_v<T> || std::is_enum_v<T>) return 'I';
    return is_floating<T> ? 'F' : 'M';
}
template <class T> constexpr char target() {
    if (std::is_void_v<T>) return 'v';
    if (std::is_function_v<T>) return 'c';
    if (std::is_pointer_v<T>) return 'p';
    if (is_floating<T>) return 'f';
    if (std::is_integral_v<T> || std::is_enum_v<T>) return 'i';
    return bytes<T>::value ? 's' : 'o';
}
template <class T> void show() {
    using to = std::remove_pointer_t<T>;
    using plain = std::remove_cv_t<to>;
    std::printf(" %c:%u", travels<T>(), bytes<T>::value);
    if (std::is_pointer_v<T>)
        std::printf(":%d:%c:%u", std::is_const_v<to>, target<plain>(), std::is_function_v<plain> ? 0 : bytes<plain>::value);
}
template <class R, class... A> void show_function(const char *name, R (*)(A...)) {
    std::printf("%s", name);
    show<R>();
    (show<std::remove_cv_t<A>>(), ...);
    std::printf("\n");
}
"""


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
    returns: Type
    arguments: list[Argument] = field(default_factory=list)

    def integers(self) -> dict[int, Argument]:
        return {a.register: a for a in self.arguments if a.register >= 0}


def compiler_flags(includes: list[Path], fallback: list[Path]) -> list[str]:
    return [f"-I{i}" for i in includes] + [x for i in fallback for x in ("-idirafter", str(i))]


def available_headers(headers: list[str], flags: list[str]) -> list[str]:
    def compiles(header: str) -> bool:
        return subprocess.run(["g++", "-w", "-std=c++17", "-E", "-xc++", "-", *flags], input=f"#include <{header}>\n",
                              capture_output=True, text=True).returncode == 0
    return [h for h in headers if compiles(h)]


def parse_type(word: str) -> Type:
    parts = word.split(":")
    if parts[0] == "P":
        return Type("P", int(parts[1]), parts[2] == "1", parts[3], int(parts[4]))
    return Type(parts[0], int(parts[1]))


def argument_names(text: str, name: str) -> list[str]:
    """The last word of each parameter; a prototype without names gives words that match no rule."""
    found = re.search(r"\b" + name + r" ?\(((?:[^()]|\([^()]*\))*)\)", text)
    if not found:
        return []
    names, depth, word = [], 0, ""
    for letter in found.group(1) + ",":
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            last = re.findall(r"\w+", re.sub(r"\[[^\]]*\]", "", word))
            names.append(last[-1] if last else "")
            word = ""
        else:
            word += letter
    return names


def read_prototypes(names: list[str], includes: list[Path], fallback: list[Path]) -> dict[str, Prototype]:
    """The prototypes of those names that the headers declare."""
    flags = compiler_flags(includes, fallback)
    others = [n for n in names if not CORE.match(n)]
    return read_core(names, includes + fallback) | read_from(available_headers(HEADERS, flags), others, flags)


def read_core(names: list[str], includes: list[Path]) -> dict[str, Prototype]:
    """Those of the runtime, the driver and NVML."""
    flags = compiler_flags(includes, [])
    return read_from(available_headers(CORE_HEADERS, flags), [n for n in names if CORE.match(n)], flags)


def read_from(headers: list[str], names: list[str], flags: list[str]) -> dict[str, Prototype]:
    source = "".join(f"#include <{h}>\n" for h in [*STANDARD, *headers])
    text = subprocess.run(["g++", "-w", "-std=c++17", "-E", "-P", "-xc++", "-", *flags], input=source,
                          capture_output=True, text=True, check=True).stdout
    # Inline overloads for C++ would make the address of a function ambiguous.
    text = re.sub(r"(static inline cublasStatus_t) (cublasGemm\w*Ex) ?\(", r"\1 inline_\2(", text)
    preprocessed, text = text, re.sub(r"\s+", " ", text)
    # A word that a parenthesis follows: the compiler distinguishes a declaration from a mention.
    words = set(re.findall(r"\b(\w+) ?\(", text))
    declared = [n for n in names if n in words]
    calls = "".join(f'    show_function("{n}", static_cast<decltype(&{n})>(nullptr));\n' for n in declared)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "probe"
        # Only the types are used, so the libraries need not be linked.
        subprocess.run(["g++", "-w", "-std=c++17", "-xc++", "-", "-o", str(program)],
                       input=preprocessed + PROBE + "int main() {\n" + calls + "}\n", text=True, check=True)
        lines = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.splitlines()
    return {p.name: p for p in (parse_line(line, text) for line in lines)}


def parse_line(line: str, text: str) -> Prototype:
    name, returns, *words = line.split()
    prototype = Prototype(name, parse_type(returns))
    names = argument_names(text, name)
    # A value larger than two registers is returned through a pointer that takes the first one.
    register = 1 if prototype.returns.travels == "M" and prototype.returns.n_bytes > 16 else 0
    for i, word in enumerate(words):
        kind = parse_type(word)
        counted = kind.travels in "PI"
        prototype.arguments.append(Argument(kind, names[i] if i < len(names) else "", register if counted else -1))
        register += counted
    return prototype
