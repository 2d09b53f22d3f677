"""The arithmetic of model/bench/pytorch/: quantiles, ratios, intervals, tables, shapes. Needs no PyTorch."""

from __future__ import annotations

import argparse
import sys
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "model" / "bench" / "pytorch"))

import programs
import report
import samples
import shapes


class Quantiles(unittest.TestCase):
    def test_median_of_odd_and_even_counts(self) -> None:
        self.assertEqual(samples.median([3.0, 1.0, 2.0]), 2.0)
        self.assertEqual(samples.median([4.0, 1.0, 3.0, 2.0]), 2.5)

    def test_quartiles_lie_between_samples(self) -> None:
        values = [40.0, 10.0, 30.0, 20.0]
        self.assertEqual(samples.quantile(values, 0.25), 17.5)
        self.assertEqual(samples.quantile(values, 0.75), 32.5)
        self.assertEqual(samples.quantile(values, 0.0), 10.0)
        self.assertEqual(samples.quantile(values, 1.0), 40.0)

    def test_one_sample_is_every_quantile(self) -> None:
        self.assertEqual(samples.quantile([7.0], 0.25), 7.0)

    def test_no_samples_are_refused(self) -> None:
        with self.assertRaises(ValueError):
            samples.median([])


class Ratios(unittest.TestCase):
    def test_phases_are_added_step_by_step(self) -> None:
        self.assertEqual(
            samples.added([[1.0, 2.0], [3.0]], [[10.0, 20.0], [30.0]]), [[11.0, 22.0], [33.0]]
        )
        with self.assertRaises(ValueError):
            samples.added([[1.0, 2.0]], [[1.0]])

    def test_ratio_is_of_medians_not_of_means(self) -> None:
        self.assertEqual(samples.ratio_of_medians([[1.0, 2.0, 90.0]], [[4.0, 4.0, 4.0]]), 0.5)

    def test_an_outlier_widens_the_range_of_rounds_alone(self) -> None:
        found = samples.compare([[2.0] * 5, [2.0] * 5, [6.0] * 5], [[4.0] * 5] * 3)
        self.assertEqual(found.ratio, 0.5)
        self.assertEqual(found.round_range, (0.5, 1.5))

    def test_interval_of_equal_samples_is_a_point(self) -> None:
        self.assertEqual(samples.bootstrap_interval([[3.0, 3.0]] * 2, [[2.0] * 2] * 2), (1.5, 1.5))

    def test_interval_holds_the_ratio_and_repeats(self) -> None:
        numerator = [[10.0 + step + number for step in range(5)] for number in range(5)]
        denominator = [[20.0 + step for step in range(5)] for _ in range(5)]
        low, high = samples.bootstrap_interval(numerator, denominator)
        ratio = samples.ratio_of_medians(numerator, denominator)
        self.assertLess(low, ratio)
        self.assertGreater(high, ratio)
        self.assertEqual((low, high), samples.bootstrap_interval(numerator, denominator))

    def test_rounds_are_drawn_as_pairs(self) -> None:
        # Both sides are disturbed in the same rounds: the ratio is 0.5 whichever rounds are drawn.
        slowdowns = (1.0, 3.0, 9.0)
        numerator = [[2.0 * slowdown] * 3 for slowdown in slowdowns]
        denominator = [[4.0 * slowdown] * 3 for slowdown in slowdowns]
        self.assertEqual(samples.bootstrap_interval(numerator, denominator), (0.5, 0.5))


def row(ratio: float, target: float | None) -> report.Row:
    """A row whose sides have a ratio."""
    return report.Row("step", samples.compare([[ratio, ratio]], [[1.0, 1.0]]), target)


class Tables(unittest.TestCase):
    def test_a_target_is_met_up_to_itself(self) -> None:
        self.assertEqual(report.verdict(row(1.0, 1.0)), "met")
        self.assertEqual(report.verdict(row(1.001, 1.0)), "missed")
        self.assertEqual(report.verdict(row(9.0, None)), "")

    def test_missed_targets_are_counted_and_absence_too(self) -> None:
        tables = [
            report.Table("a", "b", [row(2.0, 1.0), row(0.4, 0.5), row(9.0, None)]),
            report.Table("c", "a", [], absent="refused"),
        ]
        self.assertEqual(report.n_missed(tables), 2)

    def test_a_table_in_full(self) -> None:
        self.assertEqual(
            report.ratio_table(report.Table("a", "b", [row(250.0, 1.5)])),
            "### a over b\n\n"
            "| phase | a, ms: median (quartiles) | b, ms | ratio of medians | 95 % "
            "| within a round | target |  |\n"
            "| --- | --- | --- | --- | --- | --- | --- | --- |\n"
            "| step | 250.0 (250.0 to 250.0) | 1.000 (1.000 to 1.000) | 250.000 "
            "| 250.000 to 250.000 | 250.000 to 250.000 | at most 1.5 | missed |\n",
        )

    def test_a_reason_stands_where_figures_are_absent(self) -> None:
        text = report.ratio_table(report.Table("a", "b", [], absent="no bf16 here"))
        self.assertEqual(text, "### a over b\n\nNot measured: no bf16 here\n")

    def test_bars_in_cells_are_escaped(self) -> None:
        self.assertIn("a\\|b", report.markdown_table(["h"], [["a|b"]]))

    def test_the_page_has_every_sample(self) -> None:
        phases = {name: [[101.5, 2.25], [3.0, 4.0]] for name in report.MEASURED}
        page = report.document("T", [("machine", "M")], ["Note."], [], {"side": phases})
        self.assertTrue(page.startswith("# T\n"))
        for name in report.MEASURED:
            self.assertIn(f"| side | {name} | 1 | 101.5 2.250 |", page)
            self.assertIn(f"| side | {name} | 2 | 3.000 4.000 |", page)


def parsed(*words: str) -> argparse.Namespace:
    """Shape options as a command line gives them."""
    parser = argparse.ArgumentParser()
    shapes.add_shape_options(parser)
    return parser.parse_args(words)


class Shapes(unittest.TestCase):
    def test_parameters_of_the_presets(self) -> None:
        self.assertEqual(shapes.SIZES["small"].n_parameters(), 128625408)
        self.assertEqual(shapes.SIZES["2.7B"].n_parameters(), 3406809600)
        self.assertEqual(shapes.SIZES["10B"].n_parameters(), 12832823808)

    def test_options_change_a_preset_and_reach_the_programs(self) -> None:
        options = parsed("--size", "medium", "--layers", "2", "--batch", "1")
        expected = 2 * 10240000 + 2 * 16779264 + 1024
        self.assertEqual(shapes.shape_from(options).n_parameters(), expected)
        words = shapes.shape_words(options)
        self.assertEqual(words, ["--size", "medium", "--layers", "2", "--batch", "1"])

    def test_heads_must_divide_the_width_into_even_heads(self) -> None:
        for heads in ("5", "256"):
            with self.assertRaises(ValueError):
                shapes.shape_from(parsed("--heads", heads))


class Programs(unittest.TestCase):
    def test_missing_programs_name_their_remedy(self) -> None:
        with self.assertRaisesRegex(programs.BenchError, "cmake --build"):
            programs.find_tidemark("/absent/tidemark")
        with self.assertRaisesRegex(programs.BenchError, "apt-get install python3-torch"):
            programs.find_python("/absent/python3")

    def test_both_sides_get_the_same_threads(self) -> None:
        variables = programs.environment(3, "passive")
        self.assertEqual(variables["OMP_NUM_THREADS"], "3")
        self.assertEqual(variables["OMP_WAIT_POLICY"], "passive")
        self.assertNotIn("OMP_WAIT_POLICY", programs.environment(3, "default"))

    def test_a_failing_program_says_its_last_line(self) -> None:
        with self.assertRaisesRegex(programs.BenchError, "it broke"):
            programs.run(["sh", "-c", "echo it broke >&2; exit 1"], {})
        with self.assertRaises(programs.Refused):
            programs.run(["sh", "-c", "exit 2"], {})

    def test_a_child_is_not_another_program(self) -> None:
        # The child spins until it has used that much of a core; the rest of the machine's work belongs to
        # others.
        spin = "import time\nwhile time.process_time() < 0.3: pass"
        meter = programs.Meter()
        programs.run([sys.executable, "-c", spin], {})
        end = meter._now()
        with mock.patch.object(programs.Meter, "_now", return_value=end):  # one reading for both
            others = meter.other_cores()
        busy_s, children_s, wall_s = (b - a for a, b in zip(meter.begin, end))
        self.assertGreaterEqual(children_s, 0.25)
        self.assertAlmostEqual(others, max(0.0, busy_s - children_s) / wall_s)

    def test_phases_without_times_are_refused(self) -> None:
        self.assertEqual(
            programs.phases_of([{"name": "forward", "host_ms": [1, 2.5]}]), {"forward": [1.0, 2.5]}
        )
        with self.assertRaises(programs.BenchError):
            programs.phases_of([{"name": "forward", "host_ms": [-1]}])


if __name__ == "__main__":
    unittest.main()
