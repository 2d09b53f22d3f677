"""A stripped module of Python with a runtime of its own: check_capsules.py TIDEMARK COMPILER FOLDER."""
import os
import subprocess
import sys
import sysconfig

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = """
import importlib.machinery, json
before = importlib.machinery.ExtensionFileLoader.exec_module
from cuda.bindings._internal import runtime
print(runtime.work() if WORKS else "idle")
import _json, array
print(before is importlib.machinery.ExtensionFileLoader.exec_module)
"""


def need(condition, *what):
    if not condition:
        sys.exit("WRONG: " + " ".join(str(part) for part in what))


def main():
    tidemark, compiler, folder = os.path.abspath(sys.argv[1]), sys.argv[2], os.path.abspath(sys.argv[3])
    include = sysconfig.get_paths()["include"]
    if not os.path.exists(os.path.join(include, "Python.h")):
        print("skipped: Python.h is absent")
        sys.exit(77)
    inner = os.path.join(folder, "site-packages", "cuda", "bindings", "_internal")
    os.makedirs(inner, exist_ok=True)
    for place in (inner, os.path.dirname(inner)):
        open(os.path.join(place, "__init__.py"), "w").close()
    subprocess.run([compiler, "-O2", "-s", "-shared", "-fPIC", "-isystem", include, "module.c", "runtime.c", "-o",
                    os.path.join(inner, "runtime" + sysconfig.get_config_var("EXT_SUFFIX"))], cwd=HERE, check=True)
    environment = dict(os.environ, XDG_STATE_HOME=folder, PYTHONPATH=os.path.join(folder, "site-packages"))

    def run(works):
        return subprocess.run([tidemark, "run", "--device", "virtual:h100-80", "-o", "out.json.gz", "--", sys.executable, "-c",
                               PROGRAM.replace("WORKS", str(works))], cwd=folder, env=environment, capture_output=True, text=True)

    done = run(False)
    need(done.returncode == 0 and done.stdout == "idle\nTrue\n" and "linked into" not in done.stderr, done.stdout, done.stderr)
    done = run(True)
    need(done.returncode == 0 and done.stdout == "(0, 1, 0)\nTrue\n", done.stdout, done.stderr)
    need("the program allocated 48.00 MiB" in done.stderr, done.stderr)
    need("linked into the package cuda-bindings (CUDA 13.0)\n" in done.stderr, done.stderr)
    need("not simulated" not in done.stderr, done.stderr)


main()
