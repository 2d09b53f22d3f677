"""model/bench/pytorch/beside_pytorch.py on a tiny model, and its PyTorch model against every recorded fp32 case.

Needs PyTorch and the program in TIDEMARK_CLI; exits with 77 to say that it was skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "model" / "bench" / "pytorch"))

import programs

SCRIPT = ROOT / "model" / "bench" / "pytorch" / "beside_pytorch.py"
RECORDED = sorted((ROOT / "tests" / "reference").glob("*_fp32.safetensors"))
TINY = "--d-model 32 --layers 2 --heads 4 --d-ff 64 --vocab 61 --batch 2 --context 16".split()
SHORT = "--rounds 2 --warmup 1 --steps 3 --threads 1".split()

# Planted in the PyTorch model: RoPE that turns the halves of a head instead of adjacent pairs, a
# loop that forgets the weight decay, a mask that lets a token see its successor.
FAULTS = {
    "rope": "m.Rope.forward = lambda s, x: torch.cat("
    "(s.cos * a(x) - s.sin * b(x), s.sin * a(x) + s.cos * b(x)), -1)",
    "decay": "i = m.AdamW.__init__; m.AdamW.__init__ = lambda s, p, **k: i(s, p, **{**k,"
    " 'weight_decay': 0.0})",
    "mask": "i = m.Attention.mix; m.Attention.mix = lambda s, q, k, v: (setattr(s, 'future',"
    " s.future.triu(2)), i(s, q, k, v))[1]",
}
CHECK_WITH_FAULT = """
import sys; sys.path.insert(0, {bench!r})
from pathlib import Path
import torch, pytorch_model as m, reference_check
a = lambda x: x.chunk(2, -1)[0]
b = lambda x: x.chunk(2, -1)[1]
{fault}
sys.exit(0 if reference_check.check(Path({file!r}), "naive")["agrees"] else 3)
"""


class Run(unittest.TestCase):
    python: str

    def bench(self, *words: str) -> subprocess.CompletedProcess:
        """The script with this build's program."""
        command = [sys.executable, str(SCRIPT), "--tidemark", os.environ["TIDEMARK_CLI"]]
        return subprocess.run([*command, *TINY, *SHORT, *words], capture_output=True, text=True)

    def test_a_small_run_measures_all_sides_and_writes_a_page(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "page.md"
            done = self.bench("-o", str(path))
            self.assertEqual(done.returncode, 0, done.stderr)
            page = path.read_text(encoding="utf-8")
        self.assertIn("### tidemark fp32 over PyTorch fp32", done.stdout)
        self.assertIn("### tidemark bf16-mixed over tidemark fp32", done.stdout)
        judged = r"\| forward \+ backward \| .* \| at most 1 \| (met|missed) \|"
        self.assertRegex(done.stdout, judged)
        for phase in ("forward", "backward", "optimizer", "step"):
            for side in ("tidemark fp32", "PyTorch fp32"):
                for number in (1, 2):
                    line = rf"\| {side} \| {phase} \| {number} \| [0-9.]+ [0-9.]+ [0-9.]+ \|"
                    self.assertRegex(page, line)
        self.assertIn("24,544 parameters", page)
        self.assertNotIn(folder, page)

    def test_a_grid_has_a_row_for_every_cell(self) -> None:
        lists = ["--contexts", "16,24", "--precisions", "fp32", "--no-compile", "--card", "h100-80"]
        done = self.bench(*lists)
        self.assertEqual(done.returncode, 0, done.stderr)
        for context in (16, 24):
            for phase in ("forward", "backward", "optimizer", "step"):
                times = r"[0-9.]+ \([0-9.]+ to [0-9.]+\)"
                cell = rf"\| small \| {context} \| fp32 \| {phase} \|"
                line = rf"{cell} {times} \| {times} \| [0-9.]+ \|"
                self.assertRegex(done.stdout, line)
        # The cpu has no cuBLAS workspace; the card has 32 MiB.
        self.assertEqual(done.stdout.count("| -33554432 | -33554432 |"), 2)

    def test_the_model_agrees_with_every_recorded_case(self) -> None:
        self.assertGreater(len(RECORDED), 0)
        for file in RECORDED:
            command = [self.python, str(programs.STEPS), "--check-reference", str(file)]
            done = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            found = json.loads(done.stdout)
            self.assertTrue(found["agrees"], found)

    def test_another_model_is_found_out(self) -> None:
        for name, fault in {**FAULTS, "none": ""}.items():
            scripts = str(ROOT / "model" / "bench" / "pytorch")
            words = {"bench": scripts, "file": str(programs.REFERENCE), "fault": fault}
            command = [self.python, "-c", CHECK_WITH_FAULT.format(**words)]
            done = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0 if name == "none" else 3, f"{name}: {done.stderr}")

    def test_what_is_not_here_is_one_line(self) -> None:
        for option, value in (("--check-reference", "absent.safetensors"), ("--device", "cuda:99")):
            command = [self.python, str(programs.STEPS), option, value]
            done = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
            self.assertIn(value, done.stderr)


if __name__ == "__main__":
    try:
        Run.python = programs.find_python(None)
    except programs.BenchError as reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main()
