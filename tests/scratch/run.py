"""Runs a program under the scratch view: run.py libtidemark_scratch.so[:LIBRARY...] [--program FILE] [CASE...]

All libraries are preloaded, in this order.

The program is program.py with its cases, or FILE. TEST_OPENED is a descriptor of a file that is already open for
writing.

Nothing in its folder may have changed afterwards: neither a file's bytes, rights or times, nor a name.
"""
import hashlib
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def make(folder):
    """The user's files before the run."""
    files = {
        "model.pt": b"weights", "log.txt": b"step 1\n", "old.txt": b"old", "data/one": b"one", "data/sub/two": b"two",
        "tree/top": b"top", "tree/deep/leaf": b"leaf", "kept/file": b"kept", "rights": b"rights", "rights2": b"rights",
        "far/folder/file": b"far", "swap/folder/file": b"swap", "turned": b"turned", "ways/a": b"precious", "ways/sub/b": b"precious",
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, (1000, 1000))
    (folder / "untouched").write_bytes(b"untouched")
    for name in ("holes", "holes2"):
        with open(folder / name, "wb") as file:
            file.write(b"a" * 4096)
            file.seek(32 << 20)
            file.write(b"b" * 4096)
            file.truncate(64 << 20)
    (folder / "kept/link").symlink_to("file")
    (folder / "shortcut").symlink_to(folder / "far/folder")
    base = sqlite3.connect(folder / "there.db")
    base.execute("create table t (x)")
    base.execute("insert into t values (7)")
    base.commit()
    base.close()


def state(folder):
    """Name, kind, rights, owner, time of change and content of everything."""
    rows = []
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = None
        if path.is_symlink():
            content = os.readlink(path)
        elif path.is_file():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        rows.append((str(path), status.st_mode, status.st_uid, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, content))
    return rows


def main():
    library = ":".join(os.path.abspath(part) for part in sys.argv[1].split(":"))
    program, cases = [sys.executable, "-B", str(HERE / "program.py")], sys.argv[2:]
    if cases[:1] == ["--program"]:
        program, cases = [os.path.abspath(cases[1])], cases[2:]
        if program[0].endswith(".py"):
            program = [sys.executable, "-B", *program]
    is_whole = program[-1] == str(HERE / "program.py") and not cases
    with tempfile.TemporaryDirectory(prefix="tidemark_scratch_") as name:
        top = pathlib.Path(name).resolve()
        for part in ("user", "run", "real"):
            (top / part).mkdir()
        make(top / "user")
        before = state(top / "user")
        environment = dict(os.environ, LD_PRELOAD=library, TIDEMARK_RUN_FOLDER=str(top / "run"), TMPDIR=str(top / "user"),
                           TIDEMARK_SCRATCH=str(top / "run/writes"), TIDEMARK_SCRATCH_REAL=f"/dev/shm:{top / 'real'}",
                           TEST_REAL=str(top / "real"), TIDEMARK_LIVE=str(top / "run/%p.log"), TIDEMARK_VIRTUAL_CARDS="h100-80",
                           PYTHONDONTWRITEBYTECODE="1")
        with open(top / "opened", "wb") as opened:
            environment["TEST_OPENED"] = str(opened.fileno())
            result = subprocess.run([*program, str(top / "user"), *cases], env=environment, timeout=250, pass_fds=[opened.fileno()])
        after = state(top / "user")
        failures = [] if result.returncode == 0 else [f"the program failed: {result.returncode}"]
        failures += [f"really changed: {row}" for row in set(before) ^ set(after)]
        if is_whole and (not (top / "real/really").exists() or (top / "real/really").read_bytes() != b"written"):
            failures.append("a folder that was to stay real did not")
        if program[-1].endswith("ways.py") and (top / "opened").read_bytes() != b"written":
            failures.append("a file that was open before did not stay real")
        for failure in sorted(failures):
            print(failure)
        sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
