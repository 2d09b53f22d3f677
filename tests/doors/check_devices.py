"""The files by which programs look for a card: check_devices.py TIDEMARK

They are in the program's view of files with both kinds of --writes, do not count as written, and nothing real changes.
Only the program on a virtual card sees them.
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


def run(tidemark, *options):
    command = [tidemark, "run", "--device", "virtual:h100-80x2", *options, "-o", "out.json.gz", "--",
               sys.executable, "-B", str(HERE / "devices_program.py")]
    return subprocess.run(command, capture_output=True, text=True, timeout=200)


def main():
    tidemark = os.path.abspath(sys.argv[1])
    before = real()
    with tempfile.TemporaryDirectory(prefix="tidemark_devices_") as folder:
        os.chdir(folder)
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
