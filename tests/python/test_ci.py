#!/usr/bin/env python3
"""Checks python -m tidemark.ci, and the steps of action.yml as a script: test_ci.py FOLDER TIDEMARK | --installed

FOLDER has the package. --installed: this interpreter has the wheel. The program allocates memory of the driver, so it needs no PyTorch.
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

PATHS = {}
if sys.argv[1] == "--installed":
    del sys.argv[1]
else:
    FOLDER, TIDEMARK = map(os.path.abspath, (sys.argv.pop(1), sys.argv.pop(1)))
    sys.path.insert(0, FOLDER)
    PATHS = {"PYTHONPATH": FOLDER, "TIDEMARK_CI_PROGRAM": TIDEMARK}
from tidemark.ci import markdown, runs  # noqa: E402
from tidemark.ci.__main__ import _is_relative, parse  # noqa: E402

try:
    import yaml
except ImportError:
    yaml = None

MIB = 1 << 20
PROGRAM = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
context, device, pointer = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0 and cuda.cuDeviceGet(ctypes.byref(device), 0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0 and cuda.cuCtxSetCurrent(context) == 0
def weights(n_mib):
    if cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(n_mib << 20)) != 0:
        sys.exit("no memory")
def main():
    weights(64)
main()
"""


class Jobs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.git("init", "-q")
        os.mkdir(os.path.join(self.folder, "sub"))
        self.change(PROGRAM)
        self.git("add", ".")
        self.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "base")
        self.git("branch", "base")

    def git(self, *words):
        return subprocess.run(["git", *words], cwd=self.folder, check=True, capture_output=True, text=True).stdout

    def change(self, text):
        with open(os.path.join(self.folder, "sub", "train.py"), "w") as file:
            file.write(text)

    def environment(self, **more):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TIDEMARK", "GITHUB"))}
        return {**kept, **PATHS, "PYTHONDONTWRITEBYTECODE": "1", "GITHUB_STEP_SUMMARY": os.path.join(self.folder, "summary"),
                "GITHUB_OUTPUT": os.path.join(self.folder, "output"), **more}

    def run_job(self, *options, command=(sys.executable, "train.py")):
        """The status, what is printed, and stderr."""
        done = subprocess.run([sys.executable, "-m", "tidemark.ci", "--device", "virtual:h100-80", *options, "--", *command],
                              cwd=os.path.join(self.folder, "sub"), env=self.environment(), capture_output=True, text=True,
                              check=False)
        return done.returncode, done.stdout, done.stderr

    def read(self, *name):
        with open(os.path.join(self.folder, *name)) as file:
            return file.read()

    def test_a_change_is_compared_with_the_base(self):
        self.change(PROGRAM.replace("weights(64)", "weights(64)\n    weights(16)"))
        status, text, stderr = self.run_job("--base-ref", "base", "--fail-if", "peak_allocated > +2%", "--fail-if",
                                            "peak_reserved > 1GiB")
        self.assertEqual(status, 4, stderr)
        for words in ("### GPU memory: 80.00 MiB at the peak on virtual:h100-80, +16.00 MiB (+25.0 %)\n",
                      "| peak allocated | 64.00 MiB | 80.00 MiB | +16.00 MiB (+25.0 %) |\n",
                      "| all | 64.00 MiB | 80.00 MiB | +16.00 MiB (+25.0 %) |\n",
                      "| weights (train.py:8) | 64.00 MiB | 80.00 MiB | +16.00 MiB (+25.0 %) |\n",
                      "- `peak_allocated > +2%`: **fails**\n", "- `peak_reserved > 1GiB`: passes\n",
                      "- it fits virtual:h100-80: "):
            self.assertIn(words, text)
        self.assertIn("\n\nThe change raises the peak by 25.0 %, from 64.00 MiB to 80.00 MiB: 16.00 MiB more at weights ", text)
        self.assertNotIn(".json.gz", text)
        self.assertEqual(self.read("summary"), text[:-1])
        self.assertEqual(self.read("sub", "tidemark-ci", "comment.md"), f"<!-- tidemark: GPU memory -->\n{text[:-1]}")
        self.assertRegex(self.read("output"), f"^comment=tidemark-ci/comment.md\nstatus=4\nsnapshot=/.*/head.json.gz\npeak-bytes={80 * MIB}\n$")
        self.assertEqual(self.git("worktree", "list").count("\n"), 1)

    def test_no_change_passes(self):
        status, text, stderr = self.run_job("--base-ref", "base", "--fail-if", "peak_allocated > +0")
        self.assertEqual(status, 0, stderr)
        self.assertIn("64.00 MiB at the peak on virtual:h100-80, as before\n", text)
        self.assertNotIn("Peak by line", text)

    def test_the_snapshot_of_an_earlier_job_is_a_base(self):
        status, text, _ = self.run_job("--base", "kept.json.gz", "--fail-if", "peak_allocated > +2%", "--fail-if",
                                       "peak_allocated > 32MiB")
        self.assertEqual(status, 4)
        self.assertIn("This job has no base yet, so nothing is compared.", text)
        self.assertIn("- `peak_allocated > 32MiB`: **fails**\n", text)
        self.assertIn("- peak\\_allocated > +2%: not checked, because the job has no base\n", text)
        self.assertEqual(self.run_job("--base", "kept.json.gz", "--fail-if", "peak_allocated > +2%")[0], 0)
        os.rename(os.path.join(self.folder, "sub/tidemark-ci/head.json.gz"), os.path.join(self.folder, "sub/kept.json.gz"))
        self.change(PROGRAM.replace("weights(64)", "weights(16)"))
        status, text, _ = self.run_job("--base", "kept.json.gz", "--fail-if", "peak_allocated > +2%")
        self.assertEqual(status, 0)
        self.assertIn("| peak allocated | 64.00 MiB | 16.00 MiB | -48.00 MiB (-75.0 %) |\n", text)

    def test_the_base_may_have_the_name_of_the_change(self):
        self.run_job()
        kept = os.path.join(self.folder, "sub", "kept")
        os.mkdir(kept)
        os.rename(os.path.join(self.folder, "sub/tidemark-ci/head.json.gz"), os.path.join(kept, "head.json.gz"))
        self.change(PROGRAM.replace("weights(64)", "weights(80)"))
        for base in ("kept/head.json.gz", os.path.join(kept, "head.json.gz")):
            text = self.run_job("--base", base)[1]
            self.assertIn("\n\nThe change raises the peak by 25.0 %, from 64.00 MiB to 80.00 MiB: 16.00 MiB more at weights ", text)
            self.assertNotIn(".json.gz", text)

    def test_the_base_may_be_in_the_output_folder(self):
        self.run_job()
        self.change(PROGRAM.replace("weights(64)", "weights(80)"))
        status, text, _ = self.run_job("--base", "tidemark-ci/head.json.gz", "--fail-if", "peak_allocated > +2%")
        self.assertEqual(status, 4, text)
        self.assertIn("| peak allocated | 64.00 MiB | 80.00 MiB | +16.00 MiB (+25.0 %) |\n", text)

    def test_a_program_that_fails_fails_the_job(self):
        self.change("import sys\nsys.exit(3)\n")
        status, text, _ = self.run_job("--base-ref", "base", "--fail-if", "peak_allocated > +2%")
        self.assertEqual(status, 1)
        self.assertIn("### GPU memory: no result on virtual:h100-80\n", text)
        self.assertIn("The command of the change ended with status 3.\n", text)
        self.assertIn("- peak\\_allocated > +2%: not checked, because the command has no snapshot\n", text)
        self.change(PROGRAM.replace("weights(64)", "weights(99 << 10)"))
        self.assertEqual(self.run_job("--base-ref", "base")[0], 1)

    def test_a_base_that_fails_fails_the_job(self):
        status, text, _ = self.run_job("--base-ref", "base", "--fail-if", "peak_allocated > +2%",
                                       command=("bash", "-c", "[ -e here ] && exec python3 train.py"))
        self.assertEqual(status, 1)
        with open(os.path.join(self.folder, "sub", "here"), "w"):
            pass
        status, text, _ = self.run_job("--base-ref", "base", "--fail-if", "peak_allocated > +2%",
                                       command=("bash", "-c", "[ -e here ] && exec python3 train.py"))
        self.assertEqual(status, 1)
        self.assertIn("The command of the base ended with status 1.\n", text)
        status, _, stderr = self.run_job("--base-ref", "unknown")
        self.assertEqual(status, 1)
        self.assertRegex(stderr, "tidemark.ci: git worktree add .*: fetch unknown first")

    def test_a_wrong_condition_fails_the_job(self):
        status, text, _ = self.run_job("--base-ref", "base", "--fail-if", "peak_of_all > +2%")
        self.assertEqual(status, 1)

    def test_a_condition_without_a_forecast_fails_the_job(self):
        self.change(PROGRAM.replace("weights(64)", "weights(80)"))
        status, text, _ = self.run_job("--base-ref", "base", "--fail-if", "time_step > +5%", "--fail-if", "peak_allocated > 1GiB")
        self.assertEqual(status, 1)
        self.assertIn("\n- `time_step > +5%`: **cannot be judged**\n- `peak_allocated > 1GiB`: passes\n", text)
        status, text, _ = self.run_job("--base", "none.json.gz", "--fail-if", "time_step > +5%")
        self.assertEqual(status, 0)
        self.assertIn("- time\\_step > +5%: not checked, because the job has no base\n", text)

    @unittest.skipIf(yaml is None, "PyYAML is absent")
    def test_the_steps_of_the_action(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../action.yml")) as file:
            action = yaml.safe_load(file)
        inputs = {name: one.get("default", "") for name, one in action["inputs"].items()}
        inputs.update({"command": f"'{sys.executable}' train.py", "device": "virtual:h100-80", "base-ref": "base", "time": "false",
                       "fail-if": "peak_allocated > +2%\npeak_reserved > 1GiB\n", "title": 'A "title" $(exit 7)'})
        self.change(PROGRAM.replace("weights(64)", "weights(80)"))
        statuses = []
        for step in action["runs"]["steps"]:
            done = self.run_step(step, inputs)
            statuses.append(done.returncode)
        self.assertEqual(statuses, [0, 4], done.stderr)
        self.assertIn('### A "title" $(exit 7): 80.00 MiB at the peak on virtual:h100-80, +16.00 MiB (+25.0 %)\n', self.read("summary"))
        outputs = dict(line.split("=", 1) for line in self.read("output").splitlines())
        named = [re.fullmatch(r"\$\{\{ steps\.compare\.outputs\.([\w-]+) \}\}", one["value"])[1] for one in action["outputs"].values()]
        self.assertEqual(sorted(named), sorted(outputs))
        if not PATHS:
            return
        done = self.run_step(action["runs"]["steps"][0], inputs, PYTHONPATH="")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, "^::error::tidemark is not installed in .*: name its wheel with the input package\n$")

    def run_step(self, step, inputs, **more):
        self.assertNotIn("${{", step["run"])
        given = {name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: inputs[found[1]], value)
                 for name, value in step["env"].items()}
        self.assertNotIn("${{", "".join(given.values()))
        return subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], check=False,
                              cwd=os.path.join(self.folder, "sub"), env=self.environment(**given, **more), capture_output=True,
                              text=True)


class Words(unittest.TestCase):
    def test_conditions_with_a_sign_need_a_base(self):
        for condition, is_relative in (("peak_allocated > +2%", True), ("peak_allocated>=-5MiB", True), ("n_allocs > +0", True),
                                       ("peak_reserved > 24GiB", False), ("time_step<150ms", False), ("", False)):
            self.assertEqual(_is_relative(condition), is_relative, condition)

    def test_intervals(self):
        def run(step, low, high):
            return runs.Run(time={"step_ms": step, "low_ms": low, "high_ms": high})

        self.assertEqual(markdown._time(run(1.286, 1.078, 1.658)), "1.29 ms (1.08 to 1.66)")
        self.assertEqual(markdown._time(run(None, 3.0, None)), "3.00 ms or more")
        self.assertEqual(markdown._time(run(1234.5, 19, 20345)), "1234 ms (19.0 to 20345)")
        self.assertEqual(markdown._compare_times(run(1, 0.8, 1.2), run(1.1, 0.9, 1.3)), "+10.0 %; the intervals overlap")
        self.assertEqual(markdown._compare_times(run(1, 0.8, 1.2), run(2, 1.6, 2.4)), "+100.0 %")
        self.assertEqual(markdown._compare_times(run(1, 0.8, 1.2), run(None, 1.6, None)), "")

    def test_times_are_printed_as_the_program_prints_them(self):
        for value, text in ((1234.5, "1234"), (100, "100"), (99.97, "100"), (99.95, "100"), (99.94, "99.9"), (9.996, "10.0"),
                            (9.994, "9.99"), (0.9996, "1.00"), (0.482, "0.482"), (0.0482, "0.048"), (0.00001, "0.000")):
            self.assertEqual(markdown._ms(value), text)

    def test_runs_have_words_in_place_of_names(self):
        def name(text, *names):
            return markdown._name_runs(text, {"tables": {"runs": {"rows": [{"run": one, "file": f"/in/{one}"} for one in names]}}})

        self.assertEqual(name("/a/x.json.gz is above x.json.gz.", "x.json.gz", "/a/x.json.gz"), "The change is above the base.")
        self.assertEqual(name("x.gz, /in/x.gz, ax.gz, x.gz-1", "x.gz", "y.gz"), "The base, the base, ax.gz, x.gz-1")

    def test_lines_are_paired(self):
        def run(*rows):
            return runs.Run(lines=[{"function": function, "file": f"/x/{file}", "line": line, "bytes": n_mib * MIB,
                                    "place": f"{function} ({file}:{line})"} for function, file, line, n_mib in rows])

        base = run(("f", "a.py", 3, 1), ("f", "a.py", 5, 2), ("g", "a.py", 9, 4), ("gone", "a.py", 20, 8))
        head = run(("f", "a.py", 4, 1), ("f", "a.py", 6, 3), ("g", "a.py", 10, 4), ("g", "a.py", 11, 16))
        self.assertEqual([row[:3] for row in markdown._lines(base, head)],
                         [("g (a.py)", "4.00 MiB", "20.00 MiB"), ("gone (a.py:20)", "8.00 MiB", "0 B"),
                          ("f (a.py:6)", "2.00 MiB", "3.00 MiB")])

    def test_text_of_the_user_is_no_markdown(self):
        self.assertEqual(markdown._escape("a|b_c <i> `x`\n[y]"), "a\\|b\\_c &lt;i> \\`x\\` \\[y\\]")

    def test_arguments(self):
        with self.assertRaises(SystemExit):
            parse(["--device", "virtual:h100-80", "--base", "a", "--base-ref", "b", "--", "true"])
        with self.assertRaises(SystemExit):
            parse(["--device", "virtual:h100-80"])
        self.assertEqual(parse(["--device", "d", "--", "a", "--time"]).command, ["a", "--time"])
        for condition, has_time in ((" time_step > +5%", True), ("peak_allocated > +2%", False)):
            self.assertEqual(parse(["--device", "d", "--fail-if", condition, "--", "a"]).time, has_time)


if __name__ == "__main__":
    unittest.main()
