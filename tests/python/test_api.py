#!/usr/bin/env python3
"""Checks what a program can call: test_api.py PACKAGES STAND_IN TIDEMARK

PACKAGES: the folder of the package. STAND_IN: a library with the functions of the recording. TIDEMARK: the program;
without it, tests that need a virtual card are skipped.
"""
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

PACKAGES, STAND_IN = sys.argv[1:3]
TIDEMARK = sys.argv[3] if len(sys.argv) > 3 else None

TENSORS = """
class Storage:
    def __init__(self, address):
        self.address = address
    def data_ptr(self):
        return self.address
class Device:
    index = 0
class Tensor:
    device = Device()
    def __init__(self, address, is_cuda=True):
        self.storage, self.is_cuda = Storage(address), is_cuda
    def untyped_storage(self):
        return self.storage
class Array:
    __cuda_array_interface__ = {"data": (0x70, False)}
"""

CALLS = """
import sys, tidemark
tidemark.step()
with tidemark.scope("outer"):
    inner = tidemark.scope("inner")
    with inner, inner:
        pass
    try:
        with tidemark.scope("fails"):
            raise KeyError("the program's own")
    except KeyError:
        pass
tidemark.category(Tensor(0x10), "kv cache", "cache")
tidemark.category([{"k": Tensor(0x20)}, (Tensor(0x30), Tensor(0x40, False))], "kv cache", "layer")
tidemark.category(Array(), "workspace")
print(tidemark.snapshot("now.json.gz"), tidemark.snapshot("/no/such/file"))
"""

WRONG = """
import tidemark
class Breaks:
    is_cuda = True
    def untyped_storage(self):
        raise RuntimeError("no memory of its own")
for _ in range(3):
    tidemark.category(Breaks(), "kv cache")
    tidemark.category(object(), "kv cache")
with tidemark.scope("\\ud800"):
    print("goes on")
tidemark.snapshot(None)
"""

# The library is there, and PyTorch's history records: `--method history`, or a PyTorch that the library does not know.
HISTORY = """
import sys, types
history = types.ModuleType("recording")
history.is_on = history.is_by_history = lambda: True
history.mark_own_step = lambda: print("step")
history.name_own_block = print
sys.modules["_tidemark_recorder.recording"] = history
import tidemark
tidemark.step()
tidemark.category([Tensor(16), Array()], "kv cache", "cache")
print(tidemark.snapshot("now.json.gz"))
"""

# The program's own module has the name of the package, and PyTorch has only begun to load.
OWN_MODULE = """
import ctypes, os, sys, types
torch, cuda = types.ModuleType("torch"), types.ModuleType("torch.cuda")
torch.Tensor, torch.cuda = object, cuda
cuda._lazy_call, cuda.is_initialized, cuda._queued_calls = print, lambda: False, []
sys.modules.update({"torch": torch, "torch.cuda": cuda})
import tidemark
print(ctypes.CDLL("libcuda.so.1").cuInit(0))
for _ in range(100):
    pass
print(tidemark.__file__ == os.path.abspath("tidemark.py"), len(cuda._queued_calls))
"""

IMPORTS = """
import ctypes, sys, tidemark
names = [name for name in sys.modules if name.split(".")[0] in ("torch", "numpy")]
print(tidemark.__file__, names)
ctypes.CDLL("libcuda.so.1").cuInit(0)
tidemark.step()
tidemark.category(None, "none")
with tidemark.scope("here"):
    print(tidemark.snapshot("x.json.gz"))
"""


class Programs(unittest.TestCase):
    """Runs programs in a folder of their own."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(textwrap.dedent(text))

    def run_program(self, command, text, **environment):
        """Its output and error output; it must succeed."""
        self.write("program.py", text)
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("TIDEMARK", "PYTHON"))}
        done = subprocess.run([*command, sys.executable, "-B", "program.py"], cwd=self.folder.name,
                              env=inherited | environment, capture_output=True, text=True, timeout=250)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, done.stderr


class Api(Programs):
    """With a library that replaces the recording, or without any."""

    def run_preloaded(self, text):
        """Output, error output and the calls that the library has seen."""
        calls = self.path("calls")
        seen = self.run_program([], text, PYTHONPATH=PACKAGES, LD_PRELOAD=STAND_IN, STAND_IN=calls)
        if not os.path.exists(calls):
            return *seen, []
        with open(calls) as file:
            return *seen, file.read().splitlines()

    def test_calls_reach_the_library(self):
        out, err, calls = self.run_preloaded(TENSORS + CALLS)
        self.assertEqual(out, "True False\n")
        self.assertEqual(err, "tidemark: snapshot(): /no/such/file could not be written\n")
        self.assertEqual(calls, [
            "mark own step",
            "begin 0 outer", "begin 1 inner", "begin 2 inner", "end 2", "end 1",
            "begin 3 fails", "end 3", "end 0",
            "label 10 kv cache cache 2",
            "label 20 kv cache layer.0.k 2", "label 30 kv cache layer.1.0 2",
            "label 70 workspace - 2",
            "snapshot now.json.gz", "snapshot /no/such/file",
        ])

    def test_calls_reach_the_history(self):
        out, err, calls = self.run_preloaded(TENSORS + HISTORY)
        self.assertEqual(out, "step\n0 16 kv cache cache.0\nFalse\n")
        self.assertIn("read when the program ends", err)
        self.assertEqual(calls, [])

    def test_nothing_happens_without_a_recording(self):
        out, err = self.run_program([], TENSORS + CALLS + WRONG, PYTHONPATH=PACKAGES)
        self.assertEqual((out, err), ("False False\ngoes on\n", ""))

    def test_what_goes_wrong_is_told_once(self):
        out, err, calls = self.run_preloaded(WRONG)
        self.assertEqual(out, "goes on\n")
        self.assertEqual([line.split("():")[0] for line in err.splitlines()],
                         ["tidemark: category", "tidemark: scope", "tidemark: snapshot"])
        self.assertIn("no memory of its own", err)
        self.assertEqual(calls, [])

    def test_categories_have_a_limit(self):
        loop = "import tidemark\nfor i in range(70):\n    tidemark.category(Tensor(i), f'c{i}' + 'x' * 200)\n"
        _, err, calls = self.run_preloaded(TENSORS + loop)
        self.assertEqual(len(calls), 64)
        self.assertEqual(len(calls[0].split()[2]), 127)
        self.assertIn("is left out", err)

    def test_a_fork_of_the_program_is_recorded(self):
        fork = "import os, tidemark\nif os.fork() == 0:\n    tidemark.step()\n    os._exit(0)\nos.wait()\n"
        self.assertEqual(self.run_preloaded(fork)[2], ["mark own step"])


class Steps(unittest.TestCase):
    """Which marks of a history count."""

    def told(self, rows, has_own):
        sys.path.insert(0, PACKAGES)
        from tidemark import steps

        marks = steps.Marks()
        marks.rows, marks.has_own, marks.has_optimizer = [[name, [i]] for i, name in enumerate(rows)], has_own, True
        return [[name, here[0]] for name, here in marks.valid()]

    ROWS = ["step begins", "call begins", "optimizer begins", "step ends", "step begins", "optimizer begins",
            "step ends", "step begins", "own step", "optimizer begins", "step ends", "step begins", "own step"]

    def test_the_optimizer_ends_steps(self):
        rows = [name for name in self.ROWS if name != "own step"]
        told = self.told(rows, False)
        self.assertEqual([name for name, _ in told].count("step ends"), 3)
        self.assertEqual(len(told), len(rows) - 1)  # without the call

    def test_the_program_ends_steps(self):
        self.assertEqual(self.told(self.ROWS, True), [
            ["step begins", 0], ["optimizer begins", 2], ["optimizer ends", 3], ["optimizer begins", 5],
            ["optimizer ends", 6], ["step ends", 8], ["step begins", 8], ["optimizer begins", 9],
            ["optimizer ends", 10], ["step ends", 12], ["step begins", 12],
        ])

    def test_a_first_call_before_anything_ends_nothing(self):
        self.assertEqual(self.told(["own step", "own step"], True),
                         [["step begins", 0], ["step ends", 1], ["step begins", 1]])


@unittest.skipIf(TIDEMARK is None, "there is no virtual card")
class Recorded(Programs):
    """Under tidemark run."""

    command = [TIDEMARK, "run", "--device", "virtual:h100-80", "--"]

    def test_a_module_of_the_program_may_have_the_name(self):
        self.write("tidemark.py", "")
        out, err = self.run_program(self.command, OWN_MODULE)
        self.assertEqual(out, "0\nTrue 1\n")
        self.assertNotIn("not recorded", err)

    def test_the_package_is_there_to_import(self):
        out, err = self.run_program(self.command, IMPORTS)
        path, rest = out.splitlines()[0].rsplit(maxsplit=1)
        self.assertTrue(os.path.samefile(path, os.path.join(PACKAGES, "tidemark", "__init__.py")))
        self.assertEqual((rest, out.splitlines()[1]), ("[]", "False"))
        self.assertIn("x.json.gz could not be written", err)

    def test_the_path_of_the_program_comes_first(self):
        os.makedirs(self.path("first/tidemark"))
        self.write("first/tidemark/__init__.py", "print('mine')\n")
        out, _ = self.run_program(self.command,
                                  "import os, tidemark\nprint(os.environ['PYTHONPATH'].split(':')[0])\n",
                                  PYTHONPATH=self.path("first"))
        self.assertEqual(out, f"mine\n{self.path('first')}\n")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
