#!/usr/bin/env python3
"""Checks the pytest plugin with a stand-in for the program: test_pytest_plugin.py FOLDER|--installed

FOLDER has the package. --installed: this interpreter has the wheel, whose entry point pytest finds. The stand-in runs the command of `tidemark run` on no card, and its snapshot has
the peak that the test asks for. What needs PyTorch is in tests/pytorch/pytest_plugin.
"""
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
import xml.etree.ElementTree

IS_INSTALLED = sys.argv[1] == "--installed"
FOLDER = os.path.abspath(sys.argv.pop(1))
PATHS = {} if IS_INSTALLED else {"PYTHONPATH": FOLDER}
if not IS_INSTALLED:
    sys.path.insert(0, FOLDER)
try:
    import pytest  # noqa: F401
except ImportError:
    print("skipped: pytest is absent")
    sys.exit(77)

from tidemark import bytes_text  # noqa: E402
from tidemark.pytest_plugin import answers, limits  # noqa: E402

MIB = 1 << 20
STAND_IN = """#!{python}
import json, os, subprocess, sys
if sys.argv[1] == "explain":
    print(open(sys.argv[-1]).read())
    sys.exit(0)
command = sys.argv[sys.argv.index("--") + 1:]
output = sys.argv[sys.argv.index("-o") + 1]
asked = output + ".asked"
done = subprocess.run(command, close_fds=False, env={{**os.environ, "STAND_IN": asked, "TIDEMARK_RUN_FOLDER": "here"}})
print("tidemark run: it fits", sys.argv[sys.argv.index("--device") + 1], file=sys.stderr)
print("tidemark run: the snapshot is", output, file=sys.stderr)
for i, peaks in enumerate(open(asked).read().split("\\n") if os.path.exists(asked) else []):
    allocated, reserved = map(int, peaks.split())
    with open(output if i == 0 else output.replace(".json", "-process%d.json" % i), "w") as file:
        json.dump({{"figures": {{"allocated_peak_bytes": allocated << 20, "reserved_peak_bytes": reserved << 20}},
                   "tables": {{"peak_lines": {{"rows": [{{"place": "step (a.py:%d)" % allocated, "bytes": 1 << 20}}]}}}}}}, file)
sys.exit(done.returncode if done.returncode >= 0 else 128 - done.returncode)
"""
HEADER = """
import os
import pytest
limit = pytest.mark.limit_gpu_memory
def use(allocated, reserved=None, name="STAND_IN"):
    with open(os.environ[name], "w") as file:
        file.write(f"{allocated} {reserved or allocated}")
"""


def marker(*args, **kwargs):
    return limits.from_marker(args, kwargs, "")


class Words(unittest.TestCase):
    def test_sizes_are_read_as_the_program_reads_them(self):
        for text, n_bytes in (("2 GiB", 2 << 30), ("2GB", 2 << 30), ("2g", 2 << 30), ("1.5 KiB", 1536), ("100B", 100),
                              ("1048576", MIB), (7, 7), (" 512 MiB ", 512 * MIB), ("3 TiB", 3 << 40)):
            self.assertEqual(bytes_text.parse_bytes(text), n_bytes, text)
        for text in ("", "GiB", "2 XB", "-1", "1e9", "2 GiB more", "2 iB", None, 1.5, True, -1):
            with self.assertRaises(ValueError, msg=text):
                bytes_text.parse_bytes(text)

    def test_sizes_are_printed_as_the_program_prints_them(self):
        for n_bytes, text in ((0, "0 B"), (1023, "1023 B"), (1024, "1.00 KiB"), (MIB - 1, "1.00 MiB"), (1152, "1.13 KiB"),
                              (5 << 30, "5.00 GiB")):
            self.assertEqual(bytes_text.format_bytes(n_bytes), text)

    def test_arguments_of_the_marker(self):
        self.assertEqual(marker("2 GiB", device="h100-80"), limits.Limit(2 << 30, "virtual:h100-80", "allocated"))
        self.assertEqual(marker("1MiB", "virtual:h100-80x2", "reserved"), limits.Limit(MIB, "virtual:h100-80x2", "reserved"))
        self.assertEqual(limits.from_marker(["1MiB"], {}, "a100-40").device, "virtual:a100-40")

    def test_wrong_arguments_are_named(self):
        for args, kwargs, words in (((), {}, "needs a limit"), (("1 GiB",), {}, "needs a card"),
                                    (("1 GiB",), {"devise": "x"}, "not devise="), (("1", "2", "3", "4"), {}, "4 arguments"),
                                    (("1", "x"), {"device": "y"}, "device twice"),
                                    (("big", "x"), {}, "'big' is not a size"),
                                    (("1", "x"), {"memory": "active"}, "memory='active' is unknown")):
            with self.assertRaisesRegex(ValueError, words):
                marker(*args, **kwargs)

    def test_sentences_leave_out_files_that_are_removed(self):
        text = "warning\ntidemark run: it fits\ntidemark run: the snapshot is x; it wrote no file\nmore\n"
        self.assertEqual(answers.split_output(text), (["it fits"], "warning\nmore"))

    def test_ends_of_a_process(self):
        from tidemark.pytest_plugin.outside import _name

        self.assertEqual([_name(status) for status in (3, 139, 125, -9)],
                         ["status 3", "status 139 (SIGSEGV)", "status 125", "signal 9 (SIGKILL)"])

    def test_a_failure_says_how_much_is_above(self):
        text = answers.complain(answers.Answer(3 * MIB, "", 0, 2), limits.Limit(MIB, "virtual:a", "reserved"), ["one", "two"])
        self.assertEqual(text, "3.00 MiB of GPU memory reserved at the peak on virtual:a: 2.00 MiB more than the limit of "
                               "1.00 MiB (the highest of 2 processes)\none\ntwo")


class Sessions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write("stand_in", STAND_IN.format(python=sys.executable))
        os.chmod(os.path.join(self.folder, "stand_in"), 0o755)
        plugin = "" if IS_INSTALLED else "-p tidemark.pytest_plugin "
        self.write("pytest.ini", f"[pytest]\ntidemark_device = h100-80\naddopts = {plugin}-p no:cacheprovider\n")

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(textwrap.dedent(text))

    def run_pytest(self, test, *options, typed=None, **settings):
        """The output, the outcome of each test by its name, and the properties of each test. `typed` is stdin."""
        self.write("test_it.py", HEADER + textwrap.dedent(test))
        others = ("PYTEST", "TIDEMARK", "CI", "BUILD_NUMBER")  # pytest prints more in CI
        environment = {name: value for name, value in os.environ.items() if not name.startswith(others)}
        environment.update({**PATHS, "TIDEMARK_PYTEST_PROGRAM": os.path.join(self.folder, "stand_in"),
                            "PYTHONDONTWRITEBYTECODE": "1", **settings})
        done = subprocess.run([sys.executable, "-m", "pytest", "--junitxml=all.xml", *options], cwd=self.folder,
                              env=environment, capture_output=True, text=True, check=False,
                              **({"stdin": subprocess.DEVNULL} if typed is None else {"input": typed}))
        self.status = done.returncode
        outcomes, properties = {}, {}
        for case in xml.etree.ElementTree.parse(os.path.join(self.folder, "all.xml")).iter("testcase"):
            kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
            outcomes[case.get("name")] = kinds[0] if kinds else "passed"
            properties[case.get("name")] = {figure.get("name"): figure.get("value") for figure in case.iter("property")}
        return done.stdout + done.stderr, outcomes, properties

    def test_the_peak_decides(self):
        output, outcomes, properties = self.run_pytest("""
            @limit("2 MiB")
            def test_below():
                use(2)
            @limit("2 MiB", device="a100-40")
            def test_above():
                use(3)
            @limit("2 MiB", memory="reserved")
            def test_reserved():
                use(1, 4)
            @limit("2 MiB")
            def test_allocated():
                use(1, 4)
            @limit("2 MiB")
            def test_no_memory():
                pass
            def test_unmarked():
                assert "STAND_IN" not in os.environ
        """, "--tidemark")
        self.assertEqual(outcomes, {"test_below": "passed", "test_above": "failure", "test_reserved": "failure",
                                    "test_allocated": "passed", "test_no_memory": "passed", "test_unmarked": "passed"})
        self.assertIn("3.00 MiB of GPU memory allocated at the peak on virtual:a100-40: 1.00 MiB more than the limit of "
                      "2.00 MiB\nit fits virtual:a100-40\n", output)
        self.assertIn("4.00 MiB of GPU memory reserved at the peak on virtual:h100-80: 2.00 MiB more", output)
        self.assertIn("test_it.py::test_below: 2.00 MiB allocated on virtual:h100-80 (limit 2.00 MiB), 1.00 MiB at step "
                      "(a.py:2)\n", output)
        self.assertIn("test_it.py::test_reserved: 4.00 MiB reserved on virtual:h100-80 (limit 2.00 MiB), 1.00 MiB of the "
                      "allocated peak at step", output)
        self.assertIn("test_it.py::test_no_memory: 0 B allocated on virtual:h100-80 (limit 2.00 MiB)\n", output)
        self.assertEqual(properties["test_below"]["tidemark_peak_bytes"], str(2 * MIB))
        self.assertEqual(properties["test_unmarked"], {})

    def test_the_highest_process_counts(self):
        output, outcomes, _ = self.run_pytest("""
            @limit("2 MiB")
            @pytest.mark.parametrize("peaks", ["1 1,5 5", "5 5,1 1", "1 1,2 2"])
            def test_two(peaks):
                with open(os.environ["STAND_IN"], "w") as file:
                    file.write(peaks.replace(",", "\\n"))
        """)
        self.assertEqual(outcomes, {"test_two[1 1,5 5]": "failure", "test_two[5 5,1 1]": "failure", "test_two[1 1,2 2]": "passed"})
        self.assertEqual(output.count("3.00 MiB more than the limit of 2.00 MiB (the highest of 2 processes)"), 2)

    def test_outcomes_are_those_of_the_test(self):
        output, outcomes, _ = self.run_pytest("""
            @limit("2 MiB")
            class TestAll:
                @pytest.mark.parametrize("n", [1, 2, 3])
                def test_of_class(self, n):
                    use(n)
                @limit("9 MiB")
                def test_own_limit(self):
                    use(3)
                def test_skip(self):
                    use(3)
                    pytest.skip("not now")
                def test_fail(self):
                    assert "one" == "two"
                def test_exit(self):
                    os._exit(3)
                @pytest.fixture
                def broken(self):
                    raise KeyError("mine")
                def test_setup(self, broken):
                    pass
                @pytest.fixture
                def breaks(self):
                    yield
                    raise KeyError("late")
                def test_teardown(self, breaks):
                    pass
                @pytest.mark.xfail(reason="large")
                def test_xfail(self):
                    use(3)
                @pytest.mark.xfail(reason="large", strict=True)
                def test_xfail_strict(self):
                    use(3)
                @pytest.mark.xfail(strict=True)
                def test_xpass(self):
                    use(1)
            @pytest.mark.parametrize("n", [pytest.param(1, marks=limit("2 MiB")), pytest.param(3, marks=limit("2 MiB")), 4])
            def test_marks_of_parameters(n):
                if n < 4:
                    use(n)
        """, "-rA")
        self.assertEqual(outcomes, {
            "test_of_class[1]": "passed", "test_of_class[2]": "passed", "test_of_class[3]": "failure",
            "test_own_limit": "passed", "test_skip": "skipped", "test_fail": "failure", "test_exit": "failure",
            "test_setup": "error", "test_teardown": "error", "test_xfail": "skipped", "test_xfail_strict": "skipped",
            "test_xpass": "failure", "test_marks_of_parameters[1]": "passed", "test_marks_of_parameters[3]": "failure",
            "test_marks_of_parameters[4]": "passed"})
        for words in ("assert 'one' == 'two'", "ended with status 3 before the test did\n", "KeyError: 'mine'",
                      "KeyError: 'late'", "[XPASS(strict)]", "XFAIL test_it.py::TestAll::test_xfail - large",
                      "XFAIL test_it.py::TestAll::test_xfail_strict - large"):
            self.assertIn(words, output)

    def test_wrong_markers_and_failed_starts_are_errors(self):
        output, outcomes, _ = self.run_pytest("""
            @limit("much")
            def test_size():
                pass
            if "STAND_IN" not in os.environ:
                @limit("1 MiB")
                def test_elsewhere():
                    pass
        """)
        self.assertEqual(outcomes, {"test_size": "error", "test_elsewhere": "error"})
        self.assertIn("'much' is not a size", output)
        self.assertIn("the test is not collected on the virtual card", output)
        output, outcomes, _ = self.run_pytest("""
            assert "STAND_IN" not in os.environ, "import fails there"
            @limit("1 MiB")
            def test_it():
                pass
        """)
        self.assertEqual(outcomes, {"test_it": "error"})
        self.assertIn("import fails there", output)
        self.write("stand_in", "#!/bin/sh\necho 'tidemark run: no such card' >&2; echo 'other words' >&2; exit 125\n")
        output, outcomes, _ = self.run_pytest("@limit('1 MiB')\ndef test_it():\n    pass\n")
        self.assertEqual(outcomes, {"test_it": "error"})
        self.assertIn("ended with status 125", output)
        self.assertIn("no such card", output)

    def test_the_test_runs_as_in_this_session(self):
        self.write("plugin_mine.py", "def pytest_configure(config):\n    config.mine = 5\n")
        self.write("conftest.py", "def pytest_addoption(parser):\n    parser.addoption('--mine', default='no')\n")
        os.mkdir(os.path.join(self.folder, "sub"))
        output, outcomes, _ = self.run_pytest("""
            import sys
            @limit("1 MiB")
            @pytest.mark.parametrize("n", ["a::b", "c[1]", "x"])
            def test_it(request, n, capfd, tmp_path):
                assert request.config.mine == 5 and request.config.getoption("--mine") == "yes"
                assert request.config.getini("markers")[0] == "slow: mine"
                assert os.getcwd() == os.path.dirname(__file__)
                assert request.node.nodeid == f"test_it.py::test_it[{n}]"
        """, "-p", "plugin_mine", "--mine=yes", "-o", "markers=slow: mine", "-k", "not x]", "--tb=short", "-W", "error")
        self.assertEqual(outcomes, {"test_it[a::b]": "passed", "test_it[c[1]]": "passed"}, output)

    def test_a_debugger_has_the_terminal(self):
        test = """
            @limit("1 MiB")
            def test_fails():
                value = 41
                print("printed before")
                assert value == 42
            @limit("1 MiB")
            def test_passes():
                pass
        """
        output, outcomes, _ = self.run_pytest(test, "--pdb", typed="p 'value is', value + 1000\nc\n")
        self.assertEqual(outcomes, {"test_fails": "failure", "test_passes": "passed"})
        for words in ("printed before", "assert 41 == 42", "entering PDB", "('value is', 1041)"):
            self.assertIn(words, output)
        self.assertLess(output.index("entering PDB"), output.index("('value is', 1041)"))
        output, outcomes, _ = self.run_pytest(test, "--pdb", typed="q\n")
        self.assertEqual(outcomes, {"test_fails": "failure"})
        self.assertRegex(output, "Exit: .*Quitting debugger")
        output, outcomes, _ = self.run_pytest(test, "--trace", "-k", "passes", typed="p 'in the test'\nc\n")
        self.assertEqual(outcomes, {"test_passes": "passed"})
        self.assertIn("'in the test'", output)

    def test_the_end_of_the_session_is_passed_on(self):
        for text, words, status in (("pytest.exit('enough')", "Exit: enough", 2), ("raise KeyboardInterrupt", "KeyboardInterrupt", 2),
                                    ("pytest.exit('enough', returncode=7)", "Exit: enough", 7)):
            output, outcomes, _ = self.run_pytest(f"""
                @limit("1 MiB")
                def test_a():
                    {text}
                def test_b():
                    pass
            """)
            self.assertNotIn("test_b", outcomes)
            self.assertIn(words, output)
            self.assertEqual(self.status, status)

    def test_plugins_of_pytest_may_be_off(self):
        for name in ("debugging", "capture"):
            output, outcomes, _ = self.run_pytest("@limit('1 MiB')\ndef test_a():\n    print('of the test')\n", "-p", f"no:{name}")
            self.assertEqual(outcomes, {"test_a": "passed"}, output)
            self.assertEqual("of the test" in output, name == "capture", output)

    def test_warnings_of_a_test_are_listed(self):
        self.write("own.py", "class OwnWarning(UserWarning):\n    def __init__(self, a, b):\n        super().__init__(f'{a}, {b}')\n")
        test = """
            import warnings
            warnings.warn("of the module")
            @limit("1 MiB")
            def test_it():
                import own
                warnings.warn("of the test", DeprecationWarning)
                warnings.warn(own.OwnWarning("two", "arguments"))
        """
        output, outcomes, _ = self.run_pytest(test)
        self.assertEqual(outcomes, {"test_it": "passed"})
        self.assertIn("3 warnings", output)
        self.assertEqual(output.count("of the module"), 2)  # the message and the line
        self.assertRegex(output, r"test_it.py::test_it\n +\S*test_it.py:\d+: DeprecationWarning: of the test\n")
        self.assertIn("Warning: two, arguments\n", output)
        output, outcomes, _ = self.run_pytest(test, "-W", "ignore")
        self.assertNotIn("of the test", output)
        output, outcomes, _ = self.run_pytest(test.replace('warnings.warn("of the module")', ""), "-W", "error")
        self.assertEqual(outcomes, {"test_it": "failure"})
        self.assertIn("DeprecationWarning: of the test", output)

    def test_a_crash_keeps_the_output_of_the_test(self):
        test = """
            import signal, sys
            @pytest.fixture
            def ready():
                print("output of setup")
            @limit("1 MiB")
            def test_it(ready):
                print("output of the test", flush=True)
                print("errors of the test", file=sys.stderr)
                os.system("echo output of a child")
                os.kill(os.getpid(), signal.SIGSEGV)
        """
        for options in ((), ("--capture=sys",), ("-s",)):
            output, outcomes, _ = self.run_pytest(test, *options)
            self.assertEqual(outcomes, {"test_it": "failure"})
            self.assertIn("ended with status 139 (SIGSEGV) before the test did\n", output)
            self.assertNotIn("the snapshot is", output)
            self.assertIn("Fatal Python error: Segmentation fault", output)
            self.assertRegex(output, r'  File "\S*/test_it.py", line \d+ in test_it\n(?!  File)')
            if options == ("--capture=sys",):  # what Python held is lost
                continue
            for words in ("output of the test", "errors of the test", "output of a child"):
                self.assertIn(words, output)
            self.assertEqual("Captured stdout call" in output, not options, output)
        output, outcomes, _ = self.run_pytest("""
            @limit("1 MiB")
            def test_it(capfd):
                print("seen")
                assert capfd.readouterr().out == "seen\\n"
                print("seen by pytest")
                assert False
        """)
        self.assertIn("seen by pytest", output)

    def test_fixtures_of_this_session_end(self):
        output, outcomes, _ = self.run_pytest("""
            @pytest.fixture(scope="session")
            def kept():
                yield 1
                print("end of kept, recorded:", "STAND_IN" in os.environ)
            @pytest.fixture(scope="class")
            def of_class():
                yield 1
                raise KeyError("end of class")
            class TestOne:
                def test_plain(self, kept, of_class):
                    pass
                @limit("1 MiB")
                def test_marked(self, kept):
                    pass
            @limit("1 MiB")
            def test_last():
                pass
        """, "-s")
        self.assertEqual(outcomes, {"test_plain": "passed", "test_marked": "error", "test_last": "passed"})
        self.assertIn("end of kept, recorded: False", output)
        self.assertIn("end of kept, recorded: True", output)
        self.assertIn("KeyError: 'end of class'", output)

    def test_a_session_stops_at_its_first_failure(self):
        test = "@limit('1 MiB')\ndef test_a():\n    use(2)\n@limit('1 MiB')\ndef test_b():\n    use(2)\n"
        self.assertEqual(self.run_pytest(test, "-x")[1], {"test_a": "failure"})

    def test_every_test_can_run_on_a_card(self):
        test = """
            @limit("2 MiB")
            def test_marked():
                use(3)
            def test_plain():
                use(5)
            class TestUnit:
                def test_in_class(self):
                    assert os.environ["STAND_IN"]
        """
        output, outcomes, properties = self.run_pytest(test, "--tidemark-all", "a100-40")
        self.assertEqual(outcomes, {"test_marked": "failure", "test_plain": "passed", "test_in_class": "passed"})
        self.assertIn("test_it.py::test_plain: 5.00 MiB allocated on virtual:a100-40, 1.00 MiB at step (a.py:5)\n", output)
        self.assertIn("3.00 MiB of GPU memory allocated at the peak on virtual:a100-40", output)
        self.assertNotIn("tidemark_limit_bytes", properties["test_plain"])
        output, outcomes, _ = self.run_pytest("def test_plain():\n    pass\n", "--tidemark")
        self.assertIn("no test with the marker limit_gpu_memory ran to its end; --tidemark-all CARD also runs tests without it", output)

    def test_snapshots_are_kept(self):
        self.run_pytest("@limit('1 MiB')\n@pytest.mark.parametrize('n', ['a/b'])\ndef test_a(n):\n    use(2)\n",
                        "--tidemark-folder", "kept")
        self.assertEqual(os.listdir(os.path.join(self.folder, "kept")), ["test_it.py-test_a[a-b].json.gz"])

    def test_a_recorded_session_says_that_it_checks_nothing(self):
        output, outcomes, _ = self.run_pytest("@limit('1 MiB')\ndef test_a():\n    use(2, name='OWN')\n",
                                              TIDEMARK_RUN_FOLDER="here", OWN=os.path.join(self.folder, "own"))
        self.assertEqual(outcomes, {"test_a": "passed"})
        self.assertIn("limit_gpu_memory is not checked: `tidemark run` runs pytest itself", output)
        for options in (("--tidemark-all", "a100-40"), ("--tidemark",)):
            output, outcomes, _ = self.run_pytest("def test_a():\n    pass\n", *options, TIDEMARK_RUN_FOLDER="here")
            self.assertEqual(outcomes, {"test_a": "passed"})
            self.assertIn("no test is measured separately: `tidemark run` runs pytest itself\n", output)
            self.assertNotIn("ran to its end", output)

    @unittest.skipUnless(IS_INSTALLED, "the program is not beside the package")
    def test_the_program_of_the_wheel(self):
        output, outcomes, properties = self.run_pytest("""
            import ctypes
            @limit("48 MiB")
            @pytest.mark.parametrize("n", [32, 64])
            def test_driver(n):
                cuda = ctypes.CDLL("libcuda.so.1")
                context, device, pointer = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_uint64()
                assert cuda.cuInit(0) == 0 and cuda.cuDeviceGet(ctypes.byref(device), 0) == 0
                assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
                assert cuda.cuCtxSetCurrent(context) == 0
                assert cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(n << 20)) == 0
        """, TIDEMARK_PYTEST_PROGRAM="")
        self.assertEqual(outcomes, {"test_driver[32]": "passed", "test_driver[64]": "failure"}, output)
        self.assertEqual(properties["test_driver[64]"]["tidemark_peak_bytes"], str(64 * MIB))
        self.assertIn("16.00 MiB more than the limit of 48.00 MiB", output)

    def test_markers_and_options_are_listed(self):
        self.assertIn("@pytest.mark.limit_gpu_memory(limit, device='h100-80', memory='allocated'): run the test",
                      self.ask("--markers"))
        self.assertIn("--tidemark-folder", self.ask("--help"))

    def ask(self, option):
        return subprocess.run([sys.executable, "-m", "pytest", option], cwd=self.folder, capture_output=True, text=True,
                              env={**os.environ, **PATHS}, check=True).stdout

    def test_workers_of_xdist(self):
        try:
            import xdist  # noqa: F401
        except ImportError:
            self.skipTest("pytest-xdist is absent")
        output, outcomes, properties = self.run_pytest("""
            @limit("2 MiB")
            @pytest.mark.parametrize("n", [1, 2, 3, 4])
            def test_it(n):
                use(n)
        """, "-n", "2", "--tidemark")
        self.assertEqual(outcomes, {"test_it[1]": "passed", "test_it[2]": "passed", "test_it[3]": "failure",
                                    "test_it[4]": "failure"}, output)
        self.assertEqual(properties["test_it[3]"]["tidemark_peak_bytes"], str(3 * MIB))
        self.assertEqual(output.count(" allocated on virtual:h100-80 (limit 2.00 MiB)"), 4)
        self.assertIn("4.00 MiB of GPU memory allocated at the peak", output)


if __name__ == "__main__":
    unittest.main()
