"""Plants each kind of fault once and expects check_list.py to find it: test_check_list.py LIBRARY."""
import sys
import tempfile
import unittest
from pathlib import Path

import check_list
import check_rows

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

    def test_a_function_that_only_refuses_meets_no_need(self):
        self.known["cudaMalloc"] = ("NOT_SERVED", ")")
        self.assertFalse(check_list.has_row("cudaMalloc", self.known))

    def rows(self):
        return "\n".join(check_rows.check_rows(self.known))

    def test_the_rows_agree_with_the_headers(self):
        self.assertEqual(self.rows(), "")

    def test_a_declared_function_without_a_row(self):
        del self.known["cudaMalloc"]
        self.assertRegex(self.rows(), r"^cudaMalloc: a header declares it, and no table")

    def test_a_row_that_no_header_declares(self):
        self.known["cudaMallocOnTheMoon"] = ("HAND_WRITTEN", ")")
        self.assertRegex(self.rows(), r"^cudaMallocOnTheMoon: a table has it, and no header declares it")

    def test_effects_on_the_wrong_arguments(self):
        self.known["cuCtxGetCacheConfig"] = ("FUNCTION", ", OUTPUT(0, 8))")
        self.known["cufftDestroy"] = ("FUNCTION", ", OUTPUT(0, 4))")
        self.known["curandGenerate"] = ("FUNCTION", ", HARMLESS)")
        faults = self.rows()
        self.assertIn("cuCtxGetCacheConfig: OUTPUT(0, 8): the header's type has 4 bytes", faults)
        self.assertIn("cufftDestroy: OUTPUT(0): the argument is no address of an output", faults)
        self.assertIn("curandGenerate: argument 1 (outputPtr) may be an output, and no effect names it", faults)

    def test_outputs_of_the_host_that_would_stay_unset(self):
        self.known["cusparseSpGEMM_getNumProducts"] = ("FUNCTION", ", WRITES(1))")
        self.known["cusparseSpVV"] = ("FUNCTION", ", WRITES(4) WRITES(6))")
        self.known["cusolverDnXgesvdp"] = ("FUNCTION", ", WRITES(23))")
        self.known["cusolverDnXgesvdjGetResidual"] = ("FUNCTION", ", WRITES(2))")
        self.known["cusolverDnSgesvdaStridedBatched"] = ("FUNCTION", ", OUTPUTS(19, 4, 20))")
        self.known["cusolverDnIRSInfosGetResidualHistory"] = ("FUNCTION", ", OUTPUT(1, 8))")
        faults = self.rows()
        for name, index, argument in (("cusparseSpGEMM_getNumProducts", 1, "num_prods"), ("cusparseSpVV", 4, "result"),
                                      ("cusolverDnXgesvdp", 23, "h_err_sigma"), ("cusolverDnXgesvdjGetResidual", 2, "residual")):
            self.assertIn(f"{name}: WRITES({index}): {argument} is on the host and would stay unset", faults)
        self.assertIn("cusolverDnSgesvdaStridedBatched: OUTPUTS(19, 4): the header's type has 8 bytes", faults)
        self.assertIn("cusolverDnIRSInfosGetResidualHistory: OUTPUT(1): residual_history would be NULL", faults)

    def test_a_result_that_stays_known(self):
        self.known["cusparseSparseToDense"] = ("FUNCTION", ", WRITES(4))")
        self.known["cusparseSpGEMMreuse_compute"] = ("FUNCTION", ", WORKS)")
        faults = self.rows()
        self.assertIn("cusparseSparseToDense: argument 2 (matB) may be written to, and no WRITES_DESCRIBED names it", faults)
        self.assertIn("cusparseSpGEMMreuse_compute: argument 7 (matC) may be written to", faults)

    def test_a_stream_in_another_place(self):
        prototypes = check_rows.read_tables()
        late = "void *to, const void *from, size_t n_bytes, void *stream, void *other"
        self.assertEqual(check_rows.verify_stream("cudaMemcpyAsync", late, prototypes), ["cudaMemcpyAsync: its stream is argument 3, by the header 4"])
        self.assertEqual(check_rows.verify_stream("cudaMallocAsync", "void **ret, size_t n_bytes, void *stream", prototypes), [])

    def test_a_result_in_another_register(self):
        self.known["cublasSdot"] = ("FUNCTION", ", HARMLESS)")
        self.assertIn("cublasSdot: its result travels in other registers", self.rows())

    def test_arguments_that_are_not_the_header_s(self):
        prototypes = check_rows.read_tables()
        wrong = check_rows.verify_parameters("cudaMalloc", ["P8", "I4"], prototypes)
        self.assertEqual(wrong, ["cudaMalloc: is written with P8 I4, by the header P8 I8"])
        self.assertEqual(check_rows.verify_parameters("cudaMalloc", ["P8", "I8"], prototypes), [])
        del prototypes["cudaMallocAsync"]
        prototypes["cudaMalloc"].arguments.pop()
        faults = "\n".join(check_rows.verify_live(prototypes))
        self.assertIn("cudaMallocAsync: the live recorder stands in for it, and no table", faults)
        self.assertIn("cudaMalloc: the stand-in has 2 arguments", faults)

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
