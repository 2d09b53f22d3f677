"""Every way to NVIDIA's libraries ends at our objects on a virtual card, and at NVIDIA's without one:

    check_libraries.py TIDEMARK PROGRAM FOLDER

FOLDER has a made libcudart.so.13; the other libraries are copies of it.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

COPIES = ["libcudart-1a2b3c4d.so.12", "libcublas.so.13", "libnccl.so.2", "libcudnn.so.9", "libcudnn_graph.so.9",
          "libcusparse.so.12", "libcuda.so.1", "libnvidia-ml.so.1", "libnvrtc.so.13", "libmine.so"]
LIVE, CARD = "libtidemark_live.so", "libtidemark_virtual_cuda.so"
# Each way: who answers without a card, who with one, and who with one if the recorder is absent.
RUNTIME = ("libcudart.so.13", LIVE, CARD)
WAYS = {
    "libcudart.so.13 cudaMalloc": RUNTIME,
    "libcudart.so.13 cudaNoSuchFunction": ("libcudart.so.13",) * 3,
    "libcudart-1a2b3c4d.so.12 cudaMalloc": ("libcudart-1a2b3c4d.so.12", LIVE, CARD),
    "libcublas.so.13 cublasCreate_v2": ("libcublas.so.13", CARD, CARD),
    "libcublas.so.13 cublasGetVersion_v2": ("libcublas.so.13",) * 3,
    "libnccl.so.2 ncclCommInitRank": ("libnccl.so.2", CARD, CARD),
    "libcudnn.so.9 cudnnCreate": ("libcudnn.so.9", CARD, CARD),
    "libcudnn_graph.so.9 cudnnCreate": ("libcudnn_graph.so.9", CARD, CARD),
    "libcudnn.so.9 cudnnGetVersion": ("libcudnn.so.9",) * 3,
    "libcusparse.so.12 cusparseSpGEMM_copy": ("libcusparse.so.12", CARD, CARD),
    "libcuda.so.1 cuInit": ("libcuda.so.1", CARD, CARD),
    "libcuda.so.1 cuMemAlloc_v2": ("libcuda.so.1", LIVE, CARD),
    "libnvidia-ml.so.1 nvmlInit_v2": ("libnvidia-ml.so.1", CARD, CARD),
    "libnvrtc.so.13 nvrtcVersion": ("libnvrtc.so.13",) * 3,
    "libmine.so cudaMalloc": ("libmine.so",) * 3,
    "RTLD_DEEPBIND": RUNTIME,
    "dlvsym": RUNTIME,
    "dlmopen": RUNTIME,
    "dlmopen of the program's namespace": RUNTIME,
    "a driver that is not installed": ("none", LIVE, CARD),
    "dlsym of libc.so.6": RUNTIME,
    "user_linked": ("libcudart.so.13", CARD, CARD),
    "user_opened": ("libcublas.so.13", CARD, CARD),
    "RTLD_DEEPBIND user_linked": ("libcudart.so.13", CARD, CARD),
    "RTLD_DEEPBIND user_opened": ("libcublas.so.13", CARD, CARD),
    "dlmopen user_linked": ("libcudart.so.13", CARD, CARD),
    "dlmopen user_opened": ("libcublas.so.13", CARD, CARD),
    "RTLD_NEXT cudaMalloc": RUNTIME,
    "RTLD_NEXT cudaDeviceReset": ("libchain.so",) * 3,
    "RTLD_NEXT where_is_this": ("none",) * 3,
    "error after RTLD_NEXT": ("no",) * 3,
    "RTLD_DEFAULT cudaMalloc": RUNTIME,
    "cuDNN's own parts": ("found",) * 3,
    "error after success": ("no",) * 3,
    "error after NVIDIA's own": ("no",) * 3,
    "error after NVIDIA's own by version": ("no",) * 3,
    "error after failure": ("yes",) * 3,
    "error after failure by version": ("yes",) * 3,
    "error of dlopen": ("yes",) * 3,
    "error of dlmopen": ("yes",) * 3,
    "allocated MiB": ("no card", "64", "64"),
    "libraries held by RTLD_NEXT": ("0",) * 3,
}
# The recorder alone: calls of the driver are recorded; the runtime, which calls it, is NVIDIA's.
RECORDED = {"libcuda.so.1 cuMemAlloc_v2": LIVE}


def ways(command, environment=None):
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (command, done.returncode, done.stdout, done.stderr)
    rows = dict(line.split("\t") for line in done.stdout.splitlines() if "\t" in line)
    assert list(rows) == list(WAYS), set(rows) ^ set(WAYS)
    return rows, done.stderr


def check(name, rows, expected):
    wrong = [f"{name}: {way}: {rows[way]} answers, not {wanted}" for way, wanted in expected.items() if rows[way] != wanted]
    assert not wrong, "\n".join(wrong)


def column(i):
    return {way: answers[i] for way, answers in WAYS.items()}


def check_python(tidemark, folder):
    """ctypes: by a full path, and by find_library."""
    text = f"""import ctypes, ctypes.util
print(ctypes.CDLL({folder + '/libcudart.so.13'!r}).cudaGetDeviceCount(ctypes.byref(n := ctypes.c_int())), n.value)
print([ctypes.util.find_library(name) is not None for name in ("cuda", "nvidia-ml")])
print(hasattr(ctypes.CDLL("libcuda.so.1"), "cuNoSuchFunction"))"""
    command = [tidemark, "run", "--device", "virtual:h100-80x3", "-o", "out.json.gz", "--", sys.executable, "-c", text]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout == "0 3\n[True, True]\nFalse\n", (done.stdout, done.stderr)


def main():
    tidemark, program, made = sys.argv[1:]
    objects = pathlib.Path(tidemark).resolve().parent.parent / "programs"
    with tempfile.TemporaryDirectory(prefix="tidemark_doors_") as folder:
        os.chdir(folder)
        for file in pathlib.Path(made).iterdir():
            shutil.copy(file, folder)
        for copy in COPIES:
            shutil.copy(f"{made}/libcudart.so.13", copy)
        command = [program, folder]
        check("plain", ways(command)[0], column(0))
        run = [tidemark, "run", "--device", "virtual:h100-80"]
        for options, i in (([], 1), (["--writes", "allow"], 1), (["--method", "history"], 2)):
            rows, errors = ways([*run, *options, "-o", "out.json.gz", "--", *command])
            check(" ".join(["card", *options]), rows, column(i))
            assert i == 2 or "no process of the program allocated GPU memory" not in errors, errors
        environment = dict(os.environ, LD_PRELOAD=f"{objects / LIVE}:{objects / 'libtidemark_scratch.so'}",
                           TIDEMARK_LIVE=f"{folder}/%p.log")
        rows, _ = ways(command, environment)
        recorded = {way: answer for way, answer in column(0).items() if "cudaMalloc" not in way and way != "allocated MiB"}
        check("recorded", {**rows}, {**recorded, **RECORDED})
        check_python(tidemark, folder)


if __name__ == "__main__":
    main()
