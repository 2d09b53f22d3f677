"""The grid of model/bench/pytorch/: cells, targets, rows and what counts as missed. Needs no PyTorch."""

from __future__ import annotations

import argparse
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "model" / "bench" / "pytorch"))

import grid
import programs
from grid import COMPILED, EAGER, TIDEMARK, Cell, Outcome

GIB = 2**30


def side(ms: float, peak_bytes: int | None = None, recording: float | None = None) -> Outcome:
    """An outcome whose samples are all alike, of two rounds."""
    phases = {name: [ms, ms] for name in ("forward", "backward", "optimizer", "step")}
    one = programs.Result(phases, 1, {}, 0.0, peak_bytes, peak_bytes, recording)
    return Outcome([one, one])


def sides(ours: float, theirs: float, compiled: float) -> dict[str, Outcome]:
    """All three sides."""
    return {
        TIDEMARK: side(ours, 3 * GIB, 0.004),
        EAGER: side(theirs, 4 * GIB),
        COMPILED: side(compiled, 2 * GIB),
    }


SMALL = Cell("small", 128, "fp32")


class Cells(unittest.TestCase):
    def test_every_combination_is_a_cell(self) -> None:
        found = grid.cells(["small", "xl"], [128, 512], ["fp32", "tf32"])
        self.assertEqual(len(found), 8)
        self.assertEqual(found[0], SMALL)
        self.assertEqual(found[-1], Cell("xl", 512, "tf32"))

    def test_a_cell_is_named_as_both_programs_name_it(self) -> None:
        words = ["--size", "small", "--context", "128", "--precision", "fp32"]
        self.assertEqual(SMALL.words(), words)

    def test_targets(self) -> None:
        for cell, phase, expected in (
            (SMALL, "forward", 0.5),
            (SMALL, "step", None),
            (Cell("small", 512, "fp32"), "backward", 0.8),
            (Cell("small", 512, "tf32"), "backward", 0.5),
            (Cell("2.7B", 512, "fp32"), "forward", 1.0),
        ):
            self.assertEqual(grid.target(cell, phase, "in-place"), expected, f"{cell} {phase}")

    def test_no_target_of_the_optimizer_is_below_what_the_bytes_allow(self) -> None:
        # fp32 bytes a parameter: ours 28; eager's loop in place 80, out of place 132.
        for optimizer, eager_bytes in (("in-place", 80), ("out-of-place", 132)):
            for cell in grid.cells(["small", "2.7B"], [512], ["fp32", "bf16-mixed"]):
                found = grid.target(cell, "optimizer", optimizer)
                self.assertGreater(found, 28 / eager_bytes, f"{cell} {optimizer}")
        self.assertAlmostEqual(grid.optimizer_target("in-place"), 1.1 * 0.35)
        self.assertEqual(grid.optimizer_target("out-of-place"), 0.3)

    def test_more_pairs_where_recording_has_a_target(self) -> None:
        runs = grid.Grid.__new__(grid.Grid)
        for device, cell, expected in (
            ("cuda:0", SMALL, ["--overhead-pairs", "30"]),
            ("cuda", Cell("2.7B", 512, "tf32"), ["--overhead-pairs", "10"]),
            ("cuda", Cell("xl", 512, "tf32"), []),
            ("cpu", SMALL, []),
        ):
            runs.device = device
            self.assertEqual(runs.pairs(cell), expected)

    def test_the_page_says_what_it_holds_for(self) -> None:
        runs = grid.Grid.__new__(grid.Grid)
        runs.options = argparse.Namespace(
            rounds=2, steps=5, warmup=1, attention="naive", optimizer="in-place"
        )
        runs.outcomes = {SMALL: sides(1.0, 2.0, 3.0)}
        device = {"name": "NVIDIA H100", "total_bytes": 80, "compute_capability": -1}
        tool = {"version": "0.1.0", "build": "gcc"}
        host = {"computed_by": "NVIDIA H100, cuBLAS 12.8.4"}
        ours = runs.outcomes[SMALL][TIDEMARK].rounds[0].details
        ours.update(device=device, tool=tool, host=host)
        blas = ["/site/libcublas.so.12", "/site/libcublasLt.so.12"]
        theirs = runs.outcomes[SMALL][EAGER].rounds[0].details
        theirs.update(torch="2.11", python="3.12", blas=blas, cublas="12.8.4")
        runs.variables = {"TIDEMARK_CUBLAS": blas[0]}
        said = "\n".join(runs.facts())
        self.assertIn("- device: name NVIDIA H100, total_bytes 80\n", said)
        self.assertIn("- PyTorch 2.11, Python 3.12\n", said)
        self.assertIn("- rounds: 2; steps of each side in a round: 5 measured after 1", said)
        self.assertIn("computed by NVIDIA H100, cuBLAS 12.8.4\n", said)
        self.assertIn("cuBLAS: 12.8.4, /site/libcublas.so.12, which tidemark opens, too\n", said)
        runs.variables = {"TIDEMARK_CUBLAS": "/mine/libcublas.so.13"}
        self.assertIn("which tidemark does not open", "\n".join(runs.facts()))


class Rows(unittest.TestCase):
    def test_times_beside_both(self) -> None:
        row = grid.time_row(SMALL, "forward", sides(2.0, 8.0, 4.0), "in-place")
        self.assertEqual(row[:4], ["small", "128", "fp32", "forward"])
        self.assertEqual(row[6:10], ["0.250", "0.250 to 0.250", "at most 0.5", "met"])
        self.assertEqual(row[11], "0.500")
        self.assertEqual(len(row), len(grid.HEADER))

    def test_a_target_is_missed_above_it(self) -> None:
        for ours, expected in ((4.1, "missed"), (4.0, "met")):
            row = grid.time_row(SMALL, "forward", sides(ours, 8.0, 4.0), "in-place")
            self.assertEqual(row[9], expected)

    def test_no_targets_hold_on_the_cpu(self) -> None:
        row = grid.time_row(SMALL, "forward", sides(9.0, 8.0, 4.0), None)
        self.assertEqual(row[8:10], ["", ""])

    def test_what_did_not_run_says_why_and_counts_as_missed(self) -> None:
        found = sides(2.0, 8.0, 4.0)
        found[EAGER] = Outcome(absent="CUDA out of memory")
        row = grid.time_row(SMALL, "forward", found, "in-place")
        self.assertEqual(row[5], "CUDA out of memory")
        self.assertEqual(row[9], "not measured")
        self.assertEqual(row[11], "0.500")
        self.assertEqual(grid.n_missed([row], []), 1)

    def test_peaks_and_recording(self) -> None:
        virtual = programs.Result({}, 1, {}, 0.0, 3 * GIB, 3 * GIB - 512)
        row = grid.memory_row(SMALL, sides(2.0, 8.0, 4.0), virtual, True)
        self.assertEqual(row[3:8], ["3.000", "4.000", "0.750", "below 1", "met"])
        self.assertEqual(row[8:], ["0", "512", "+0.40 %", "at most 1 %", "met"])
        self.assertEqual(len(row), len(grid.MEMORY_HEADER))

    def test_recording_above_its_bound_is_missed(self) -> None:
        found = sides(2.0, 8.0, 4.0)
        found[TIDEMARK] = side(2.0, 3 * GIB, 0.02)
        row = grid.memory_row(SMALL, found, None, True)
        self.assertEqual(row[12], "missed")
        self.assertEqual(grid.n_missed([], [row]), 1)

    def test_no_bound_is_stated_for_other_sizes(self) -> None:
        row = grid.memory_row(Cell("xl", 128, "fp32"), sides(2.0, 8.0, 4.0), None, True)
        self.assertEqual(row[11:], ["", ""])
        self.assertEqual(grid.n_missed([], [row]), 0)


class Recording(unittest.TestCase):
    def test_the_cost_is_the_median_of_the_pairs(self) -> None:
        pairs = {"recorded_ms": [11.0, 10.2, 90.0], "unrecorded_ms": [10.0, 10.0, 9.0]}
        found = programs.cost_of_recording({"recorder_pairs": pairs})
        self.assertAlmostEqual(found, 0.1)

    def test_no_pairs_are_no_cost(self) -> None:
        self.assertIsNone(programs.cost_of_recording({}))


def parsed(*words: str) -> argparse.Namespace:
    """Options as beside_pytorch.py has them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--size", default="small")
    parser.add_argument("--context", type=int)
    grid.add_options(parser)
    return parser.parse_args(words)


class Options(unittest.TestCase):
    def test_a_gpu_means_the_whole_grid(self) -> None:
        options = parsed("--device", "cuda")
        self.assertTrue(grid.wanted(options))
        self.assertEqual(options.contexts, [128, 512])
        self.assertEqual(options.sizes[-1], "2.7B")
        self.assertEqual(options.precisions, ["fp32", "tf32", "bf16-mixed"])

    def test_a_list_means_a_grid_on_the_cpu(self) -> None:
        self.assertFalse(grid.wanted(parsed()))
        options = parsed("--contexts", "16,32")
        self.assertTrue(grid.wanted(options))
        self.assertEqual((options.sizes, options.contexts), (["small"], [16, 32]))

    def test_unknown_names_are_refused(self) -> None:
        with self.assertRaises(argparse.ArgumentTypeError):
            grid.names(["small"])("small,tiny")


if __name__ == "__main__":
    unittest.main()
