#!/usr/bin/env python3
"""How `tidemark run` starts a program and what it says at the end: starts.py TIDEMARK LIBRARIES PACKAGE [COMPILER]

TIDEMARK is the program, LIBRARIES the folder of the libraries that it preloads, PACKAGE that of the Python package.
No program here needs PyTorch: each writes to files, and none may change but in the view.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TIDEMARK, LIBRARIES, PACKAGE = (Path(path).resolve() for path in sys.argv[1:4])
COMPILER = sys.argv[4] if len(sys.argv) > 4 else None

WRITES = """
import ctypes, os, subprocess, sys
open("ck.pt", "w").write("changed")
subprocess.run(["sh", "-c", "echo changed > ck.pt"], env={}, check=True)
print(ctypes.CDLL("libcuda.so.1").cuInit(0))
import tidemark
"""

# What Go's linker leaves in each program.
GO = """
#include <stdio.h>
__asm__(".pushsection .note.go.buildid,\\"a\\",@note\\n.long 4, 4, 4\\n.asciz \\"Go\\\\0\\"\\n.ascii \\"abcd\\"\\n.popsection\\n");
int main(int n, char **arguments) {
    FILE *file = n > 1 ? fopen(arguments[1], "w") : 0;
    return file == 0 || fclose(file) != 0;
}
"""


class Starts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.top = Path(self.folder.name).resolve()
        self.work = self.top / "work"
        self.work.mkdir()
        (self.work / "ck.pt").write_text("precious")
        (self.work / "writes.py").write_text(WRITES)
        (self.top / "home").mkdir()

    def tearDown(self):
        self.folder.cleanup()

    def run_it(self, *command, program=TIDEMARK, options=(), **environment):
        whole = {key: value for key, value in os.environ.items() if not key.startswith(("TIDEMARK_", "WANDB_"))}
        whole.update({"HOME": str(self.top / "home"), **environment})
        whole.pop("XDG_STATE_HOME", None)
        return subprocess.run([program, "run", "--device", "virtual:h100-80", *options, "--", *map(str, command)],
                              cwd=self.work, env=whole, capture_output=True, text=True, timeout=250, check=False)

    def install(self, name):
        """A copy of the program in a folder of this name."""
        for part in ("cli", "virtual_cuda", "python"):
            (self.top / name / part).mkdir(parents=True)
        shutil.copy(TIDEMARK, self.top / name / "cli")
        for library in LIBRARIES.glob("libtidemark_*.so"):
            shutil.copy(library, self.top / name / "virtual_cuda")
        shutil.copytree(PACKAGE, self.top / name / "python/package")
        return self.top / name / "cli/tidemark"

    def compile(self, name, text, *options):
        if COMPILER is None:
            self.skipTest("no compiler")
        (self.top / "program.c").write_text(text)
        result = subprocess.run([COMPILER, *options, "-o", self.work / name, self.top / "program.c"],
                                capture_output=True, check=False)
        if result.returncode != 0:
            self.skipTest(f"{' '.join(options)} cannot be linked here")

    def expect_kept(self, result, status=0):
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual((self.work / "ck.pt").read_text(), "precious")

    # ---- before the program ----

    def test_paths_that_lists_are_split_at(self):
        for name in ("my tools", "a:b", "x$ORIGIN;y"):
            result = self.run_it(sys.executable, "writes.py", program=self.install(name))
            self.expect_kept(result)
            self.assertEqual(result.stdout, "0\n")
            self.assertNotIn("ld.so", result.stderr)
            self.assertIn("ck.pt", result.stderr)

    def test_folders_for_temporary_files(self):
        for name in ("t m p", "tm:p", "tm;p"):
            (self.top / name).mkdir()
            result = self.run_it(sys.executable, "writes.py", TMPDIR=str(self.top / name))
            self.expect_kept(result)
            self.assertEqual(result.stdout, "0\n")
            self.assertEqual(list((self.top / name).iterdir()), [])

    def test_libraries_of_the_user_stay(self):
        result = self.run_it("sh", "-c", "echo $LD_PRELOAD; echo $LD_LIBRARY_PATH", LD_LIBRARY_PATH="/of/user",
                             LD_PRELOAD="libm.so.6")
        preloaded, folders = result.stdout.splitlines()
        self.assertTrue(preloaded.endswith(":libm.so.6"), preloaded)
        self.assertTrue(folders.endswith(":/of/user"), folders)

    def test_nothing_starts_without_the_libraries(self):
        for name in ("libtidemark_scratch.so", "libtidemark_virtual_cuda.so", "libtidemark_live.so"):
            program = self.install(f"damaged {name}")
            (program.parents[1] / "virtual_cuda" / name).write_text("no library")
            result = self.run_it("sh", "-c", "echo started; echo changed > ck.pt", program=program)
            self.expect_kept(result, 125)
            self.assertEqual(result.stdout, "")
            self.assertIn(f"was not started, because {name} cannot be loaded into it", result.stderr)

    def test_no_home_is_made(self):
        result = self.run_it("true", HOME=str(self.top / "no/home"))
        self.assertEqual(result.returncode, 0)
        self.assertFalse((self.top / "no").exists())

    # ---- at the end ----

    def test_every_ending_says_what_became_of_writes(self):
        none = "it wrote no file (writes are kept away)"
        for command, status, words in (("true", 0, none), ("exit 3", 3, none), ("kill -9 $$", -9, none),
                                       ("echo x > ck.pt", 0, "1 file was kept away (2 B): ck.pt"),
                                       ("echo x > ck.pt; exit 3", 3, "1 file was kept away (2 B): ck.pt"),
                                       ("rm ck.pt; kill -9 $$", -9, "1 deletion was kept away")):
            result = self.run_it("sh", "-c", command)
            self.expect_kept(result, status)
            self.assertIn(words, result.stderr, command)
        result = self.run_it("true", options=("--writes", "allow"))
        self.assertIn("its writes were real (--writes allow)", result.stderr)

    def test_programs_without_the_view_are_named(self):
        self.compile("static", GO.replace(".note.go.buildid", ".note.other").replace("Go", "Og"), "-static")
        self.compile("go", GO)
        result = self.run_it("sh", "-c", "./static a; ./go; true")
        self.assertIn("writes are kept away; ./go is a Go program, ./static is linked statically: what they wrote is real",
                      result.stderr)
        opened = "import os; os.execve(os.open('static', os.O_RDONLY), ['static', 'a'], os.environ)"
        result = self.run_it(sys.executable, "-c", opened)
        self.assertIn(f"{self.work}/static is linked statically: what it wrote is real", result.stderr)
        (self.work / "script").write_text("#!%s\n" % (self.work / "static"))
        result = self.run_it("sh", "-c", "cp script mine; chmod +x mine; ./mine; true")
        self.assertIn(f"mine runs {self.work}/static, which is linked statically", result.stderr)
        self.assertNotIn("writes/files", result.stderr)
        result = self.run_it("./go", "ck.pt")
        self.expect_kept(result, 125)
        self.assertIn("./go is a Go program", result.stderr)

    def test_a_program_of_the_linker_is_not_accused(self):
        linker = "/lib64/ld-linux-x86-64.so.2"
        result = self.run_it("sh", "-c", f"{linker} {shutil.which('rm')} ck.pt; true")
        self.expect_kept(result)
        self.assertTrue(result.stderr.endswith("1 deletion was kept away\n"), result.stderr)

    # ---- trackers of experiments ----

    def test_trackers(self):
        shown = ("sh", "-c", "echo $WANDB_MODE $NEPTUNE_MODE $SWANLAB_MODE $MLFLOW_TRACKING_URI")
        result = self.run_it(*shown)
        self.assertEqual(result.stdout, "disabled offline offline\n")
        self.assertNotIn("instead of", result.stderr)
        result = self.run_it(*shown, WANDB_MODE="disabled", NEPTUNE_MODE="debug", SWANLAB_MODE="local",
                             MLFLOW_TRACKING_URI="sqlite:///x.db")
        self.assertEqual(result.stdout, "disabled debug local sqlite:///x.db\n")
        self.assertNotIn("instead of", result.stderr)
        result = self.run_it(*shown, WANDB_MODE="online", MLFLOW_TRACKING_URI="https://server")
        self.assertEqual(result.stdout, "disabled offline offline file:./mlruns\n")
        self.assertIn("WANDB_MODE was disabled instead of online", result.stderr)
        self.assertIn("MLFLOW_TRACKING_URI was file:./mlruns instead of https://server", result.stderr)
        result = self.run_it(*shown, WANDB_MODE="online", options=("--writes", "allow"))
        self.assertEqual(result.stdout, "online\n")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
