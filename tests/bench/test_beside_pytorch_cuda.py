"""The whole command line of `./dev bench cuda`, and of a carried build's `run.sh bench`.

The program with the emulated cuda device is tidemark's side, and a stub (stub/torch.py) is
PyTorch's. The tests check that both command lines run from end to end; the figures are meaningless.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SHAPE = "--d-model 16 --layers 2 --heads 2 --d-ff 24 --vocab 37 --batch 2".split()
GRID = "--sizes small --contexts 8 --rounds 1 --warmup 1 --steps 2 --threads 1".split()
PRECISIONS = ("fp32", "tf32", "bf16-mixed")
CUBLAS = os.environ["TIDE_FAKE_CUBLAS"]  # a library with cuBLAS' names
# The program, which also records which cuBLAS it should open.
PROGRAM = '#!/bin/sh\necho "$1 ${TIDEMARK_CUBLAS:-none}" >>"$CALLS"\nexec "%s" "$@"\n'


class Run(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.program = self.script("bin/tidemark", PROGRAM % os.environ["TIDEMARK_EMULATED"])
        self.variables = {
            **os.environ,
            "PYTHONPATH": str(HERE / "stub"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "STUB_TORCH_CUBLAS": CUBLAS,
            "CALLS": str(self.folder / "calls"),
        }
        self.variables.pop("TIDEMARK_CUBLAS", None)

    def script(self, name: str, text: str) -> Path:
        """A program of the test's folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    def run_bench(self, *words: str) -> str:
        """What `./dev bench cuda` prints, once it has built."""
        command = [sys.executable, "-B", str(ROOT / "model" / "bench" / "pytorch" / "beside_pytorch.py")]
        command += ["--device", "cuda", "--tidemark", str(self.program), *SHAPE, *GRID, *words]
        done = subprocess.run(command, env=self.variables, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def check_page(self, page: str) -> None:
        """Every cell was measured on both sides."""
        for precision in PRECISIONS:
            for phase in ("forward", "backward", "optimizer", "step"):
                times = r"[0-9.]+ \([0-9.]+ to [0-9.]+\)"
                cell = rf"\| small \| 8 \| {precision} \| {phase} \|"
                self.assertRegex(page, rf"{cell} {times} \| {times} \| [0-9.]+ \|")

    def test_the_grid_runs_from_the_command_line(self) -> None:
        page = self.run_bench()
        self.check_page(page)
        self.assertIn("| at most 0.385 |", page)

    def test_both_sides_open_one_cublas_and_both_versions_are_recorded(self) -> None:
        page = self.run_bench("--precisions", "fp32", "--no-compile")
        self.assertIn(f"PyTorch's cuBLAS: 13.1.7, {CUBLAS}, which tidemark opens, too\n", page)
        self.assertIn("tidemark's steps computed by Fake GPU 0, cuBLAS 13.1.0\n", page)
        calls = (self.folder / "calls").read_text().splitlines()
        self.assertEqual(set(calls), {f"profile {CUBLAS}"})

    def test_a_cublas_that_was_named_is_kept_and_the_page_says_so(self) -> None:
        self.variables["TIDEMARK_CUBLAS"] = "/mine/libcublas.so.13"
        page = self.run_bench("--precisions", "fp32", "--no-compile")
        self.assertIn(f"13.1.7, {CUBLAS}, which tidemark does not open\n", page)
        calls = (self.folder / "calls").read_text().splitlines()
        self.assertEqual(set(calls), {"profile /mine/libcublas.so.13"})

    def test_the_grid_runs_from_a_carried_build(self) -> None:
        carry = ROOT / "tests" / "gpu" / "carry_scripts.sh"
        subprocess.run(["bash", carry, ROOT, self.folder], check=True)
        self.script("tests/tide_gpu_probe", "#!/bin/sh\n")
        bin_folder = self.folder / "bin"  # python3 is this interpreter
        self.script("bin/python3", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        self.variables["PATH"] = f"{bin_folder}:{os.environ['PATH']}"
        self.variables["OUT"] = str(self.folder / "report")
        command = ["bash", str(self.folder / "run.sh"), "--seconds", "200", "bench", "--"]
        command += [*SHAPE, *GRID, "--no-compile"]
        done = subprocess.run(command, env=self.variables, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.check_page((self.folder / "report" / "bench.md").read_text())


if __name__ == "__main__":
    unittest.main()
