"""Plants each kind of fault once and expects check_list.py to find it: test_check_list.py LIBRARY."""
import sys
import tempfile
import unittest
from pathlib import Path

import check_list

LIBRARY = Path(sys.argv.pop(1))


class Faults(unittest.TestCase):
    def setUp(self):
        self.known = check_list.rows()

    def faults(self):
        return "\n".join(check_list.check_object(LIBRARY, self.known))

    def test_the_tables_themselves_have_none(self):
        self.assertEqual(self.faults(), "")

    def test_a_function_without_a_row(self):
        del self.known["cudaMalloc"]
        self.assertRegex(self.faults(), r"^cudaMalloc: the object offers it, and no table")

    def test_a_row_without_a_function(self):
        self.known["cudaMallocOnTheMoon"] = ("HAND_WRITTEN", ")")
        self.assertRegex(self.faults(), r"^cudaMallocOnTheMoon: a table has it, and the object does not")

    def test_a_function_that_is_not_left_to_the_real_library(self):
        self.known["cudaMalloc"] = ("LEFT_TO_REAL", ")")
        self.assertRegex(self.faults(), r"^cudaMalloc: is left to the real library, and the object offers it")

    def test_a_refusal_in_other_words(self):
        self.known["cudaMalloc"] = ("REFUSED_BY_HAND", ', 801, "no memory is to be had on Sundays")')
        self.assertRegex(self.faults(), r"^cudaMalloc: its row says why it is refused")

    def test_what_is_not_exact_and_no_row_says_so(self):
        self.known["cudaEventElapsedTime"] = ("HAND_WRITTEN", ")")
        self.assertRegex(self.faults(), r"^cudaEventElapsedTime: a C file says what of it is inexact, and its row does not")

    def test_a_need_that_no_row_meets(self):
        self.assertTrue(check_list.has_row("cudaMalloc", self.known))
        self.assertTrue(check_list.has_row("cuMemGetInfo", self.known), "the driver's newer variant serves the plain name")
        self.assertFalse(check_list.has_row("cudaMallocOnTheMoon", self.known))

    def test_groups_of_versions_are_read(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("# a comment\nversions: 2.3.1 2.6.0\ncudaFree\nversions: 2.6.0\ncudaMalloc\n")
            file.flush()
            needed = check_list.read_needed(Path(file.name))
        self.assertEqual(needed, {"cudaFree": {"2.3.1", "2.6.0"}, "cudaMalloc": {"2.6.0"}})

    def test_what_a_file_needs_is_read_from_its_symbols(self):
        defined, needed = check_list.dynamic_symbols(LIBRARY)
        self.assertIn("cudaMalloc", defined)
        self.assertEqual(needed["getenv"][:6], "GLIBC_")
        self.assertNotIn("cudaMalloc", needed)


if __name__ == "__main__":
    unittest.main()
