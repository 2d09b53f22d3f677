"""Programs that nvcc builds in the usual ways: check_nvcc.py TIDEMARK NVCC COMPILER FOLDER."""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DONE = "the virtual card answered instead of the CUDA runtime that is linked into "
# As on a card, 256 MiB, a request of 32 TiB that fails, and 5 MiB of managed memory.
LINES = ["constructor 0 1", "symbol 0", "malloc 0", "launch 0", "graph 0", "graph launch 0", "attributes 0 1",
         "properties 0", "card NVIDIA H100 80GB HBM3 132", "malloc 2", "last 2", "wait 0"]


def need(condition, *what):
    if not condition:
        sys.exit("WRONG: " + " ".join(str(part) for part in what))


class Builder:
    def __init__(self, tidemark, nvcc, compiler, folder):
        self.tidemark, self.nvcc, self.compiler, self.folder = os.path.abspath(tidemark), nvcc, compiler, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def build(self, name, *arguments, tool=None):
        command = [*(tool or [self.nvcc, "-arch=sm_90", "-g"]), *arguments, "-o", self.path(name)]
        subprocess.run(command, cwd=HERE, check=True)
        return self.path(name)

    def opener(self):
        return self.build("opens", "program.c", "-ldl", tool=[self.compiler, "-g"])

    def run(self, *command):
        runtime = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(self.nvcc))), "lib64")
        environment = dict(os.environ, XDG_STATE_HOME=self.folder, LD_LIBRARY_PATH=f"{self.folder}:{runtime}")
        done = subprocess.run([self.tidemark, "run", "--device", "virtual:h100-80", "-o", "out.json.gz", "--", *command],
                              cwd=self.folder, env=environment, capture_output=True, text=True, errors="replace")
        return done.returncode, done.stdout.splitlines(), done.stderr


def check(at, linked, *command):
    """The program ends as on a card, with its bytes and lines. `linked`: the file that has the runtime."""
    status, out, said = at.run(*command)
    need(status == 0 and out == LINES, command, status, out, said)
    need("the program allocated 261.00 MiB and reserved 261.00 MiB at their peaks; 78.20 GiB are left" in said, said)
    need("the program caught 1 out-of-memory error" in said, said)
    need("Nearly all of the peak, 261.00 MiB, is at take_memory (kernels.cu:22)" in said, said)
    version = r" \(CUDA \d+\.\d+\)$"
    need(bool(re.search(re.escape(DONE + linked) + version, said, re.M)) == (linked != ""), said)
    need(DONE in said or linked == "", said)
    need("cudaMallocManaged: managed memory counts as allocated, but is host memory here, and the card is not charged for it; up to 5.00 MiB more"
         in said, said)
    need("none of the 2 kernels that the program launched ran, so results are not real" in said, said)
    for word in ("not simulated", "retries", "torch", "PyTorch"):
        need(word not in said, word, said)
    shown = subprocess.run([at.tidemark, "summary", "out.json.gz"], cwd=at.folder, capture_output=True, text=True).stdout
    need("cuda_runtime.h" not in shown and "take_memory (" in shown, shown)


def main():
    tidemark, nvcc, compiler, folder = sys.argv[1:5]
    os.makedirs(folder, exist_ok=True)
    at = Builder(tidemark, nvcc, compiler, os.path.abspath(folder))
    check(at, "default", at.build("default", "-DWITH_MAIN", "kernels.cu"))
    # Without lines a free and the next allocation have one stack, as in a cache that is emptied for a request.
    status, out, said = at.run(at.build("lineless", "-DWITH_MAIN", "kernels.cu", tool=[nvcc, "-arch=sm_90", "-O2"]))
    need(status == 0 and out == LINES and "retries" not in said, said)
    check(at, "separate", at.build("separate", "-rdc=true", "-DWITH_MAIN", "kernels.cu"))
    check(at, "", at.build("shared", "-cudart", "shared", "-DWITH_MAIN", "kernels.cu"))
    check(at, "threads", at.build("threads", "-default-stream", "per-thread", "-DWITH_MAIN", "kernels.cu"))
    library = at.build("libkernels.so", "-shared", "-Xcompiler", "-fPIC", "kernels.cu")
    tool = [compiler, "-g"]
    started = at.build("started", "program.c", "-ldl", "-Wl,--no-as-needed", library, tool=tool)
    check(at, "libkernels.so", started)
    check(at, "libkernels.so", at.opener(), library)
    separate = at.build("libseparate.so", "-shared", "-rdc=true", "-Xcompiler", "-fPIC", "kernels.cu")
    check(at, "libseparate.so", at.opener(), separate)
    stripped = at.build("stripped", "-DWITH_MAIN", "-Xlinker", "-s", "kernels.cu")
    status, out, said = at.run(stripped)  # it prints names that nothing filled in
    need("malloc 500" in out and "the program stripped: its file was stripped, so the functions to replace cannot be "
         "found; build it with nvcc -cudart shared" in said, status, out, said)


main()
