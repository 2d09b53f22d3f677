"""A runtime that is linked into a program or a library: check_linked.py TIDEMARK COMPILER FOLDER.

The runtime is runtime.c, so no CUDA is needed. FOLDER is where programs are built."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DONE = "the virtual card answered instead of the CUDA runtime that is linked into "
REFUSED = "a virtual card cannot serve NVIDIA's own CUDA runtime, which is linked into "


def need(condition, *what):
    if not condition:
        sys.exit("WRONG: " + " ".join(str(part) for part in what))


class Builder:
    def __init__(self, tidemark, compiler, folder):
        self.tidemark, self.compiler, self.folder = tidemark, compiler, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def build(self, name, *arguments):
        command = [self.compiler, "-g", "-O1", "-o", self.path(name), *arguments]
        subprocess.run(command, cwd=HERE, check=True)
        return self.path(name)

    def library(self, name, *options):
        return self.build(name, "-shared", "-fPIC", *options, "library.c", "runtime.c", "-ldl")

    def program(self, name, *options):
        return self.build(name, *options, "program.c", "-ldl")

    def linked(self, name, *options):
        return self.build(name, "-DLINKED", *options, "program.c", "runtime.c", "-ldl")

    def run(self, *command, preload=""):
        environment = dict(os.environ, XDG_STATE_HOME=self.folder, LD_LIBRARY_PATH=self.folder, LD_PRELOAD=preload)
        done = subprocess.run([self.tidemark, "run", "--device", "virtual:h100-80", "-o", "out.json.gz", "--", *command],
                              cwd=self.folder, env=environment, capture_output=True, text=True)
        need(done.returncode == 0, done.returncode, done.stdout, done.stderr)
        return done.stdout.splitlines(), done.stderr


def check_program(at):
    for name, options in (("program", []), ("fixed", ["-no-pie"]), ("exporting", ["-rdynamic"])):
        out, said = at.run(at.linked(name, *options))
        need(out == ["cudaMalloc 0"], name, out, said)
        need("it fits virtual:h100-80: the program allocated 64.00 MiB" in said, said)
        need("at take_memory (program.c:" in said, said)
        need(f"{DONE}{name} (CUDA 13.0)" in said, said)
        need("not simulated" not in said, said)


LIBRARY_LINES = ["constructor 0 1", "library cudaMalloc 0", "per thread 0", "properties 0", "version 13000"]


def check_libraries(at):
    """Before its constructors, at the start and by dlopen."""
    library = at.library("libown.so")
    started = at.program("started", "-Wl,--no-as-needed", library)
    for command in ([started], [at.program("opens"), library], [at.program("opens"), "libown.so"]):
        out, said = at.run(*command)
        need(out == LIBRARY_LINES, command, out, said)
        need("the program allocated 32.00 MiB" in said and "at take_memory (library.c:" in said, said)
        need(f"{DONE}libown.so (CUDA 13.0)" in said, said)


def check_versions(at):
    """The first version holds; functions that differ in the other are refused."""
    old = at.library("libold.so", "-DVERSION=12090")
    out, said = at.run(at.program("opens"), old)
    need(out == LIBRARY_LINES[:-1] + ["version 12090"], out, said)
    need(f"{DONE}libold.so (CUDA 12.9)" in said, said)
    out, said = at.run(at.linked("both"), old)
    need("properties 801" in out and "cudaMalloc 0" in out and "library cudaMalloc 0" in out, out)
    need("two versions of CUDA are in this process, 12 and 13" in said, said)
    need(f"{DONE}libold.so (CUDA 12.9), both (CUDA 13.0)" in said, said)  # in the order of their first calls
    older = at.library("libolder.so", "-DVERSION=11080")
    out, said = at.run(at.linked("both"), older)
    need("library cudaMalloc 500" in out and "cudaMalloc 0" in out, out)
    need("it is of CUDA 11, and the process also has a runtime of CUDA 13" in said, said)


def check_packages(at):
    """A package has the name that pip knows."""
    for folder, name in (("cupy_backends", "cupy"), ("cupy_backend", "cupy_backend")):
        os.makedirs(at.path(f"site-packages/{folder}/cuda"), exist_ok=True)
        out, said = at.run(at.program("opens"), at.library(f"site-packages/{folder}/cuda/runtime.so"))
        need(f"{DONE}the package {name} (CUDA 13.0)\n" in said, out, said)


def check_refusals(at):
    stripped = at.linked("stripped", "-s")
    out, said = at.run(stripped)
    need(out == ["cudaMalloc 500"], out)
    need(f"{REFUSED}the program stripped: its file was stripped, so the functions to replace cannot be found; "
         "build it with nvcc -cudart shared" in said, said)
    need(DONE not in said, said)
    os.makedirs(at.path("site-packages/pack"), exist_ok=True)
    library = at.library("site-packages/pack/core.so", "-s")
    out, said = at.run(at.program("opens"), library)
    need("library cudaMalloc 500" in out, out)
    need(f"{REFUSED}the library {library}: its file was stripped" in said, said)
    need("with pip, try another version of the package that has the folder pack" in said, said)
    guard = at.build("librefuses.so", "-shared", "-fPIC", "refuses_code.c")
    out, said = at.run(at.linked("guarded"), preload=guard)
    need(out == ["cudaMalloc 500"], out, said)
    need(DONE not in said, said)
    need("the system does not allow to change its code (Permission denied" in said, said)


def check_pages(at):
    """Code is never writable and executable at the same time."""
    guard = at.build("libboth.so", "-shared", "-fPIC", "-DBOTH", "refuses_code.c")
    out, said = at.run(at.linked("program"), preload=guard)
    need(out == ["cudaMalloc 0"], out, said)


def check_names_only(at):
    """Functions that only have CUDA's names stay the program's."""
    out, said = at.run(at.linked("names", "-DNAMES_ONLY"))
    need(out == ["cudaMalloc 500"], out, said)
    need(DONE not in said and "its functions were not replaced when it was loaded" in said, said)


def main():
    tidemark, compiler, folder = sys.argv[1], sys.argv[2], os.path.abspath(sys.argv[3])
    os.makedirs(folder, exist_ok=True)
    at = Builder(os.path.abspath(tidemark), compiler, folder)
    for check in (check_program, check_libraries, check_versions, check_packages, check_refusals, check_pages,
                  check_names_only):
        check(at)


main()
