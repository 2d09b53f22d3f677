"""The files by which programs look for a card: check_devices.py TIDEMARK PROGRAM FOLDER

They are in the program's view of files with both kinds of --writes, do not count as written, and nothing real changes.
Only the program on a virtual card sees them. FOLDER has a library that takes the place of a machine with many cards.
"""
import glob
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
REAL = ["/dev", "/proc/driver", "/sys/module"]


def real():
    return [sorted(glob.glob(f"{folder}/nvidia*")) for folder in REAL]


def run(tidemark, *options, environment=None):
    command = [tidemark, "run", "--device", "virtual:h100-80x2", *options, "-o", "out.json.gz", "--",
               sys.executable, "-B", str(HERE / "devices_program.py")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200)


def main():
    tidemark, made = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[3])
    before = real()
    with tempfile.TemporaryDirectory(prefix="tidemark_devices_") as folder:
        os.chdir(folder)
        machine = os.path.join(made, "libmanycards.so")
        done = run(tidemark, environment=dict(os.environ, LD_PRELOAD=machine, TIDE_TEST_MANY_CARDS="1"))
        assert done.returncode == 0 and done.stdout == "", (done.returncode, done.stdout, done.stderr)
        done = run(tidemark)
        assert done.returncode == 0 and done.stdout == "", (done.returncode, done.stdout, done.stderr)
        assert "it wrote no file" in done.stderr, done.stderr
        done = run(tidemark, "--keep-writes", "kept")
        assert done.stdout == "" and not list(pathlib.Path("kept").rglob("*")), (done.stdout, done.stderr)
        done = run(tidemark, "--writes", "allow")
        assert done.returncode == 0 and done.stdout == "", (done.returncode, done.stdout, done.stderr)
        assert real() == before, (real(), before)


if __name__ == "__main__":
    main()
