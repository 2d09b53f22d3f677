#!/usr/bin/env python3
"""How `tidemark run` starts a program and what it prints at the end: starts.py TIDEMARK LIBRARIES PACKAGE [COMPILER]

TIDEMARK is the program, LIBRARIES the folder of the libraries that it preloads, PACKAGE that of the Python package. No
program here needs PyTorch: each writes to files, and they may change only in the view.
"""
import concurrent.futures
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
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

# Allocates memory of the card only through the driver.
DRIVER = """
import ctypes, sys, time
cuda = ctypes.CDLL("libcuda.so.1")
context, address = ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0 and cuda.cuMemAlloc_v2(ctypes.byref(address), 1 << 20) == 0
print("ready", flush=True)
time.sleep(float(sys.argv[1]) if len(sys.argv) > 1 else 0)
"""

# The marks of Go's linker in each program.
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

    def run_it(self, *command, program=TIDEMARK, options=(), files=None, **environment):
        """files: bytes that a file may have"""
        whole = {key: value for key, value in os.environ.items() if not key.startswith(("TIDEMARK_", "WANDB_", "TORCH", "TRITON_"))}
        whole.update({"HOME": str(self.top / "home"), **environment})
        for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
            if name not in environment:
                whole.pop(name, None)
        return subprocess.run([program, "run", "--device", "virtual:h100-80", *options, "--", *map(str, command)],
                              cwd=self.work, env=whole, capture_output=True, text=True, timeout=250, check=False,
                              preexec_fn=None if files is None else
                              lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (files, files)))

    def install(self, name):
        """A copy of the program in a folder of this name."""
        for part in ("cli", "programs", "python"):
            (self.top / name / part).mkdir(parents=True)
        shutil.copy(TIDEMARK, self.top / name / "cli")
        for library in LIBRARIES.glob("libtidemark_*.so"):
            shutil.copy(library, self.top / name / "programs")
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
            (program.parents[1] / "programs" / name).write_text("no library")
            result = self.run_it("sh", "-c", "echo started; echo changed > ck.pt", program=program)
            self.expect_kept(result, 125)
            self.assertEqual(result.stdout, "")
            self.assertIn(f"was not started, because {name} cannot be loaded into it", result.stderr)

    def test_no_home_is_made(self):
        result = self.run_it("true", HOME=str(self.top / "no/home"))
        self.assertEqual(result.returncode, 0)
        self.assertFalse((self.top / "no").exists())

    def test_files_that_may_not_be_large(self):
        started = self.work / "started"
        for kib, options, reason in ((1024, (), "files may have 1.00 MiB here (ulimit -f), and its log needs 2.00 MiB"),
                                     (4096, ("--log-bytes", "16MiB"), "its log needs 16.00 MiB: allow larger files, or")):
            result = self.run_it("touch", str(started), options=options, files=kib << 10)
            self.assertEqual(result.returncode, 125)
            self.assertIn(reason, result.stderr)
        result = self.run_it(sys.executable, "-c", DRIVER, files=4 << 20)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("it fits virtual:h100-80: the program allocated 1.00 MiB", result.stderr)
        self.assertNotIn(" 0 B are left", result.stderr)

    # ---- at the end ----

    def test_every_ending_says_what_became_of_writes(self):
        none = "it wrote no file (writes are kept away)"
        for command, status, words in (("true", 0, none), ("exit 3", 3, none), ("kill -9 $$", -9, none),
                                       ("echo x > ck.pt", 0, "ck.pt (2 B) was not written to your disk"),
                                       ("echo x > ck.pt; exit 3", 3, "ck.pt (2 B) was not written to your disk"),
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

    # ---- names of files ----

    def files(self):
        return sorted(path.name for path in self.work.iterdir() if path.suffix in (".gz", ".html"))

    def test_no_run_replaces_the_files_of_another(self):
        (self.work / "driver.py").write_text(DRIVER)
        wanted = []
        for number in ("", "-2", "-3"):
            wanted += [f"driver-h100-80{number}.html", f"driver-h100-80{number}.json.gz"]
            result = self.run_it(sys.executable, "driver.py")
            self.assertIn(f"the report is {wanted[-2]}, the snapshot {wanted[-1]};", result.stderr)
            self.assertEqual(self.files(), sorted(wanted))
        (self.work / "driver-h100-80.json.gz").unlink()  # the page still has the number
        (self.work / "driver-h100-80-4.json.gz").write_text("of the user")
        (self.work / "driver-h100-80-2.html").unlink()  # and so has the snapshot
        result = self.run_it(sys.executable, "driver.py")
        self.assertIn("the snapshot driver-h100-80-5.json.gz", result.stderr)

    def test_runs_at_the_same_time_keep_both_results(self):
        (self.work / "driver.py").write_text(DRIVER)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            results = list(pool.map(lambda _: self.run_it(sys.executable, "driver.py", "1"), range(4)))
        self.assertEqual(len({result.stderr.split("the snapshot ")[1] for result in results}), 4)
        self.assertEqual(len(self.files()), 8)

    def test_names_that_are_refused(self):
        (self.work / "driver.py").write_text(DRIVER)
        for name in ("settings.json", "page.html", "q"):
            (self.work / name).write_text("of the user")
        for options in (("-o", "driver.py"), ("-o", "x"), ("-o", "x.pdf"), ("-o", "settings.json"), ("-o", "read.json.gz"),
                        ("--html", "x.pdf"), ("--html", "page.html"), ("--html", "driver.py"), ("--log", "q"), ("--log", "driver.py"),
                        ("--log", "no/folder")):
            result = self.run_it("sh", "-c", "echo started", "sh", "driver.py", "read.json.gz", options=options)
            self.assertEqual((result.returncode, result.stdout), (125, ""), (options, result.stderr))
            self.assertIn(options[1], result.stderr)
        for name in ("settings.json", "page.html", "q"):
            self.assertEqual((self.work / name).read_text(), "of the user")
        self.assertEqual((self.work / "driver.py").read_text(), DRIVER)
        for _ in range(2):  # it replaces its own files, if they are named
            result = self.run_it(sys.executable, "driver.py", options=("-o", "a.json.gz", "--html", "b.html", "--log", "c"))
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.files(), ["a.json.gz", "b.html", "page.html"])

    # ---- logs of killed runs ----

    def recover(self, *arguments):
        environment = dict(os.environ, HOME=str(self.top / "home"))
        environment.pop("XDG_STATE_HOME", None)
        return subprocess.run([TIDEMARK, "recover", *arguments], env=environment, capture_output=True, text=True, check=False)

    def killed_run(self, seconds):
        (self.work / "driver.py").write_text(DRIVER)
        environment = {key: value for key, value in os.environ.items() if key != "XDG_STATE_HOME"}
        run = subprocess.Popen([TIDEMARK, "run", "--device", "virtual:h100-80", "--log-bytes", "1MiB", "--", sys.executable, "driver.py", seconds],
                               cwd=self.work, env=dict(environment, HOME=str(self.top / "home")), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        run.stdout.readline()
        return run

    def test_logs_of_killed_runs(self):
        self.assertIn("no run has left a log", self.recover("--list").stdout)
        runs = [self.killed_run("1000") for _ in range(4)]
        self.assertEqual(self.recover("--list").stdout.count("running"), 4)
        self.assertIn("0 B removed in 0 runs", self.recover("--remove").stdout)
        for run in runs[1:]:
            run.kill()
            run.communicate()
        for _ in range(200):  # its processes end a moment later
            listed = self.recover("--list").stdout
            if listed.count("running") == 1:
                break
            time.sleep(0.05)
        self.assertEqual(listed.count(f"{sys.executable} driver.py 1000"), 4)
        self.assertIn("3 runs that ended left 3.", listed)
        names = [line.split()[0] for line in listed.splitlines()[:-1]]
        going = next(line.split()[0] for line in listed.splitlines() if " running " in line)
        result = self.recover("--remove", going)
        self.assertEqual(result.returncode, 2, result)
        self.assertIn("its run goes on", result.stderr)
        one, other, foreign = (name for name in names if name != going)
        state = self.top / "home/.local/state/tidemark"
        (state / foreign / "notes.txt").write_text("of the user")
        self.assertIn(f"removed {one}\n", self.recover("--remove", one).stdout)
        result = self.recover("--remove")
        self.assertEqual(result.returncode, 1, result)
        self.assertIn(f"removed {other}\n", result.stdout)
        self.assertIn("notes.txt", os.listdir(state / foreign))
        self.assertEqual(sorted(os.listdir(state)), sorted([going, foreign]))
        runs[0].terminate()
        self.assertIn(b"tidemark run: ", runs[0].communicate()[1])

    def test_many_logs_are_mentioned(self):
        for number in range(8):
            folder = self.top / f"home/.local/state/tidemark/run-00000{number}"
            folder.mkdir(parents=True)
            (folder / "1.log").write_bytes(b"x" * 5000)
        self.assertIn("logs of 8 earlier runs take ", self.run_it("true").stderr)
        self.recover("--remove")
        self.assertNotIn("earlier runs", self.run_it("true").stderr)

    # ---- caches of compilers ----

    def test_compilers_keep_what_they_make(self):
        shown = ("sh", "-c", "echo $TORCHINDUCTOR_CACHE_DIR:$TRITON_CACHE_DIR:$TORCH_EXTENSIONS_DIR")
        made = "mkdir -p $TRITON_CACHE_DIR $TORCH_EXTENSIONS_DIR/e; touch $TRITON_CACHE_DIR/kernel $TORCH_EXTENSIONS_DIR/e/lock"
        result = self.run_it("sh", "-c", made)
        self.assertIn("it wrote no file", result.stderr)
        inductor, triton, extensions = self.run_it(*shown).stdout.strip().split(":")
        top = self.top / "home/.cache/tidemark/compilers"
        for folder in (inductor, triton, extensions):
            self.assertTrue(folder.startswith(f"{top}/"), folder)
        self.assertTrue((Path(triton) / "kernel").exists())
        self.assertEqual(list((Path(extensions) / "e").iterdir()), [])  # PyTorch would wait for the holder
        other = self.run_it(*shown, options=("--values", "zero")).stdout
        self.assertNotIn(triton, other)
        real = self.run_it(*shown, options=("--writes", "allow")).stdout
        self.assertEqual(real, "::\n")
        chosen = self.run_it(*shown, TRITON_CACHE_DIR="/mine").stdout.strip().split(":")
        self.assertEqual(chosen, [inductor, "/mine", extensions])
        (self.top / "home/.cache/torch_extensions").mkdir()
        self.assertEqual(self.run_it(*shown).stdout, f"{inductor}:{triton}:\n")
        self.assertEqual(self.run_it(*shown, HOME=str(self.top / "no")).stdout, "::\n")
        (self.top / "c:c").mkdir()
        self.run_it("sh", "-c", made, XDG_CACHE_HOME=str(self.top / "c:c"))
        self.assertEqual(len(list((self.top / "c:c").glob("tidemark/compilers/*/triton/kernel"))), 1)

    def test_a_lock_of_a_run_that_goes_on_stays(self):
        (self.work / "driver.py").write_text(DRIVER.replace("time.sleep", """
import os
os.makedirs(os.environ["TORCH_EXTENSIONS_DIR"] + "/e")
lock = os.environ["TORCH_EXTENSIONS_DIR"] + "/e/lock"
open(lock, "w").close()
print("locked", flush=True)
time.sleep"""))
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "T"))}
        environment["HOME"] = str(self.top / "home")
        first = subprocess.Popen([TIDEMARK, "run", "--device", "virtual:h100-80", "--", sys.executable, "driver.py", "1000"],
                                 cwd=self.work, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        first.stdout.readline()
        first.stdout.readline()
        look = "import os; print(os.listdir(os.environ['TORCH_EXTENSIONS_DIR'] + '/e'))"
        self.assertEqual(self.run_it(sys.executable, "-c", look).stdout, "['lock']\n")
        first.terminate()
        first.communicate()
        self.assertEqual(self.run_it(sys.executable, "-c", look).stdout, "[]\n")

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
