"""Writes the tables of this folder from NVIDIA's public headers, and keeps the virtual card's rows complete.

  generate.py --site-packages DIR           writes data/cuda_api/*.def, and a row NOT_SERVED(name) for each new function
  generate.py --site-packages DIR --check   compares; writes nothing
  generate.py --rows                        only completes the rows of programs/virtual_cuda/libraries, from the tables

Headers: /usr/local/cuda/include, then the wheels in DIR (a PyTorch of CUDA 13 brings cuBLAS, cuDNN, NCCL, cuSPARSELt and
NVSHMEM), then those of EXTRA, which pip brings into a folder of their own. A function that the newest header does not
declare comes from CUDA 12.8. The tables have facts only: names, types and the version of CUDA, no text of the headers.
"""
import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from headers import Declaration, Group, read_group
from table import read_tables

HERE = Path(__file__).resolve().parent
ROWS = HERE.parents[1] / "programs" / "virtual_cuda" / "libraries"
TOOLKIT = Path("/usr/local/cuda/include")
EXTRA = ("nvidia-nvml-dev==13.0.87", "nvidia-nvjpeg==13.0.4.44")
OLDER = "nvidia-cuda-runtime-cu12==12.8.90"
ALL_VERSIONS = ("__CUDA_API_VERSION_INTERNAL",)  # declares older forms and those for the stream of a thread
WITHOUT_CPP = ("__CUDA_RUNTIME_H__",)            # the runtime's overloads for C++
# NVSHMEM's functions for each type of C and for the code of kernels: thousands of names, none of which a host calls by itself.
NVSHMEM = (r"nvshmem(?!x?_(?:float|double|char|schar|uchar|short|ushort|int|uint|long|ulong|longlong|ulonglong|u?int(?:8|16|32|64)"
           r"|size|ptrdiff|half|bfloat16)_)(?!\w*_(?:warp|block)\b)\w+")
RUNTIME = Group(["cuda_runtime_api.h", "cuda_profiler_api.h", "cuda_gl_interop.h", "cuda_egl_interop.h", "vdpau/vdpau.h",
                 "cuda_vdpau_interop.h", "undeclared/cudart.h"], ALL_VERSIONS + WITHOUT_CPP)
LIBRARIES: dict[str, tuple[str, list[Group]]] = {
    "driver": (r"cu[A-Z](?!ile)\w+", [Group(["cuda.h", "cudaProfiler.h", "cudaGL.h", "cudaEGL.h", "vdpau/vdpau.h", "cudaVDPAU.h"], ALL_VERSIONS)]),
    "cudart": (r"(?:__)?cuda[A-Z]\w+", [RUNTIME]),
    "nvml": (r"nvml[A-Z]\w+", [Group(["nvml.h"], ("NVML_NO_UNVERSIONED_FUNC_DEFS",))]),
    "cublas": (r"cublas(?!Lt)\w+", [Group(["cublas_v2.h", "cublasXt.h"]), Group(["cublas.h"])]),
    "cublaslt": (r"cublasLt\w+", [Group(["cublasLt.h"])]),
    "cudnn": (r"cudnn\w+", [Group(["cudnn.h", "cudnn_backend.h", "undeclared/cudnn.h"])]),
    "cufft": (r"cufft\w+", [Group(["cufft.h", "cufftXt.h"])]),
    "cufile": (r"cuFile\w+", [Group(["cufile.h"])]),
    "cupti": (r"cupti\w+", [Group([
        "cupti.h", "cupti_checkpoint.h", "cupti_pcsampling.h", "cupti_pcsampling_util.h", "cupti_pmsampling.h", "cupti_profiler_host.h",
        "cupti_profiler_target.h", "cupti_range_profiler.h", "cupti_sass_metrics.h", "cupti_target.h"])]),
    "curand": (r"curand\w+", [Group(["curand.h"])]),
    "cusolver": (r"cusolver\w+", [Group(["cusolverDn.h", "cusolverSp.h", "cusolverRf.h", "cusolverMg.h", "cusolverSp_LOWLEVEL_PREVIEW.h"])]),
    "cusparse": (r"cusparse(?!Lt)\w+", [Group(["cusparse.h"])]),
    "cusparselt": (r"cusparseLt\w+", [Group(["cusparseLt.h"])]),
    "nccl": (r"p?nccl\w+", [Group(["nccl.h", "nccl_device/core.h"])]),
    "nvjpeg": (r"nvjpeg\w+", [Group(["nvjpeg.h"])]),
    "nvrtc": (r"nvrtc\w+", [Group(["nvrtc.h"])]),
    "nvshmem": (NVSHMEM, [Group(["nvshmem_host.h", "host/nvshmem_api.h", "host/nvshmemx_api.h"])]),
    "nvtx": (r"nvtx\w+", [Group(["nvtx3/nvToolsExt.h", "nvtx3/nvToolsExtCudaRt.h"], ("NVTX_NO_IMPL",))]),
}
# They name a driver's function by its plain name and the version of CUDA that brought this form of it.
TYPEDEFS = ("cudaTypedefs.h", "cudaProfilerTypedefs.h", "cudaGLTypedefs.h", "cudaEGLTypedefs.h", "cudaVDPAUTypedefs.h")
PER_THREAD = r"(_ptsz|_ptds)?"
# They need no card, so that the real library answers.
LEFT = re.compile(r"(GetVersion(_v2)?|GetProperty|(Error|Status|Result)(String|Name)|GetCudartVersion|LastError|LastErrorString)$")
ROW = re.compile(r"^[A-Z_0-9]+\((\w+)")


def since_versions(names: set[str]) -> dict[str, int]:
    """name -> version. A function's forms and its versions are both in order: cuMemAlloc of 2000, cuMemAlloc_v2 of 3020."""
    versions: dict[tuple[str, str], set[int]] = {}
    for header in TYPEDEFS:
        for found in re.finditer(r"\*PFN_(\w+?)_v(\d+)" + PER_THREAD + r"\)", (TOOLKIT / header).read_text()):
            versions.setdefault((found[1], found[3] or ""), set()).add(int(found[2]))
    since: dict[str, int] = {}
    for (base, thread), known in versions.items():
        form = re.compile(re.escape(base) + r"(?:_v(\d+))?" + thread)
        forms = sorted((int(m[1] or 1), n) for n in names if (m := form.fullmatch(n)))
        if len(forms) == len(known):
            since.update({n: v for (_, n), v in zip(forms, sorted(known))})
    return since


def result_of(library: str, d: Declaration) -> str:
    word = d.words.split()[0]
    if word == "I4":
        is_number = library != "nvshmem" and re.search(r"\b(int|unsigned|uint32_t)\b", d.returns)
        return "NUMBER" if is_number else "STATUS"
    if word == "M8" and "Error" in d.returns:
        return "STATUS"  # cuFile's pair of two statuses
    if word.startswith("P"):
        return "TEXT" if word == "P8<i1" else "POINTER"
    return {"I8": "SIZE", "V0": "VOID", "I1": "NUMBER", "I2": "NUMBER"}.get(word, "FLOATING" if word[0] == "F" else "STRUCTURE")


def read_library(library: str, includes: list[Path], older: list[Path]) -> dict[str, Declaration]:
    pattern, groups = LIBRARIES[library]
    found: dict[str, Declaration] = {}
    for group in groups:
        found |= {d.name: d for d in read_group(group, pattern, includes, set(found))}
    if not found:
        sys.exit(f"{library}: no header declares a function of it")
    if library == "cudart":
        found |= {d.name: d for d in read_group(RUNTIME, pattern, older, set(found))}
    return found


def table_of(library: str, found: dict[str, Declaration], since: dict[str, int]) -> str:
    text = f"/* {library}.def - the functions that NVIDIA's headers declare; made by generate.py, which explains the rows. */\n"
    for name in sorted(found):
        d = found[name]
        result = result_of(library, d)
        text += f'PROTOTYPE({name}, {result}, {since.get(name, 0)}, "{d.returns} ({d.parameters})", "{d.words}")\n'
    return text


def rows_of(text: str) -> tuple[str, dict[str, str]]:
    """The comment at the head of a file of rows, and its rows by name; a row may continue on further lines."""
    head, rows, name = "", {}, ""
    for line in text.splitlines(keepends=True):
        found = ROW.match(line)
        if found:
            name = found[1]
            rows[name] = line
        elif name:
            rows[name] += line
        else:
            head += line
    return head, rows


def complete(library: str, names: set[str], text: str) -> str:
    """Existing rows stay: a person decides what a function does."""
    head, rows = rows_of(text)
    rows = {n: r for n, r in rows.items() if n in names or not r.startswith("NOT_SERVED")}
    for name in names - set(rows):
        is_left = library in ("nvrtc", "nvtx") or (library not in ("driver", "cudart", "nvml") and LEFT.search(name))
        rows[name] = f"LEFT_TO_REAL({name})\n" if is_left else f"NOT_SERVED({name})\n"
    return head + "".join(rows[n] for n in sorted(rows))


def bring(package: str, folder: Path) -> Path:
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-q", "--no-deps", "--target", str(folder), package], check=True)
    return next(iter(sorted(folder.glob("nvidia/*/include"))))


def wanted_tables(site_packages: Path) -> dict[Path, str]:
    with tempfile.TemporaryDirectory() as name:
        extra = [bring(package, Path(name) / str(i)) for i, package in enumerate(EXTRA)]
        older = bring(OLDER, Path(name) / "older")
        includes = [TOOLKIT, *sorted(site_packages.glob("nvidia/*/include")), *extra]
        found = {library: read_library(library, includes, [older, TOOLKIT]) for library in LIBRARIES}
    since = since_versions(set(found["driver"]))
    return {HERE / f"{library}.def": table_of(library, found[library], since) for library in LIBRARIES}


def wanted_rows() -> dict[Path, str]:
    names: dict[str, set[str]] = {}
    for prototype in read_tables().values():
        names.setdefault(prototype.library, set()).add(prototype.name)
    return {path: complete(path.stem, names[path.stem], path.read_text()) for path in sorted(ROWS.glob("*.def"))}


def differing(wanted: dict[Path, str], is_check: bool) -> list[Path]:
    changed = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    for path in [] if is_check else changed:
        path.write_text(wanted[path])
    return changed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--site-packages", type=Path)
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.site_packages is None and not options.rows:
        parser.error("--site-packages or --rows is needed")
    changed = differing(wanted_tables(options.site_packages), options.check) if options.site_packages else []
    changed += differing(wanted_rows(), options.check)
    for path in changed:
        print(f"{path.name}: {'is not what the headers give' if options.check else 'written'}", file=sys.stderr)
    print(f"{len(read_tables())} functions: {len(changed)} files {'differ' if options.check else 'written'}")
    return 1 if options.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
