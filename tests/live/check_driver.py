"""Every driver call that allocates or frees memory is recorded, however the driver was found.

    check_driver.py LIVE.so FOLDER_OF_FAKE PROGRAM LINKED_PROGRAM NEXT_PROGRAM OTHER.so

The program prints what it did; the log must have the same rows in the same order, their sum must equal the decrease of
the fake driver's cuMemGetInfo, and the account must explain everything.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import read_log

HOWS = ["dlsym", "proc", "again", "old", "thread", "linked"]
MIB = 1 << 20


def run(program, how, live, fake, log):
    environment = dict(os.environ, LD_LIBRARY_PATH=fake, LD_PRELOAD=live)
    environment.pop("TIDEMARK_LIVE", None)
    if log is not None:
        environment.update(TIDEMARK_LIVE=str(log), TIDEMARK_LIVE_BYTES=str(16 * MIB))
    done = subprocess.run([program, how], env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, (how, done.returncode, done.stdout, done.stderr)
    *rows, gone = done.stdout.splitlines()
    return rows, int(gone.split()[1])


def recorded(path):
    log = read_log.Log(str(path))
    assert log.is_closed
    rows = [row for row in log.rows if row.action >= read_log.DRIVER_FIRST]
    refused = [row for row in rows if read_log.DRIVER[row.action - read_log.DRIVER_FIRST] == "refused"]
    rows = [row for row in rows if row not in refused]
    assert all(row.address == 0 and row.requested > 0 for row in refused)
    told = [f"{read_log.DRIVER[row.action - read_log.DRIVER_FIRST]} {log.strings[row.name]} {row.requested}" for row in rows]
    sums = {}
    for row in rows:
        kind = read_log.DRIVER[row.action - read_log.DRIVER_FIRST]
        place = "host" if kind.startswith("host") else "device"
        sums[place] = sums.get(place, 0) + (row.requested if kind.endswith("alloc") else -row.requested)
    assert all(row.block == row.requested for row in rows)
    return told, sums, {log.strings[row.node] for row in rows}, log.texts


def compare(how, expected, found):
    for number, (wanted, got) in enumerate(zip(expected, found)):
        assert wanted == got, f"{how}: row {number} is {got!r}, not {wanted!r}"
    assert len(expected) == len(found), (how, len(expected), len(found), (expected + found)[min(len(expected), len(found)):])


def check(how, program, live, fake, folder, exact=True):
    path = folder / f"{how}.log"
    expected, gone = run(program, how, live, fake, path)
    found, sums, owners, texts = recorded(path)
    compare(how, expected, found)
    assert sums["device"] == gone, (how, sums, gone)
    assert sums["host"] == MIB, (how, sums)
    # If another library calls us, it counts as the owner.
    assert not exact or owners == {os.path.basename(program)}, owners
    # The rest is the context: its 400 MiB were there at the beginning.
    for instant in ("begin", "peak", "end"):
        text = texts[f"live.account.0.{instant}"]
        assert "context 400" in text and text.endswith("unexplained 0"), text
    # Without a recording the program does the same, and nothing is written.
    before = set(folder.iterdir())
    assert run(program, how, live, fake, None) == (expected, gone)
    assert set(folder.iterdir()) == before
    print(f"{how}: {len(found)} rows, {gone} bytes")


def check_resets(program, live, fake, folder):
    """Memory that a reset frees is recorded as freed, also where the runtime does not use the driver."""
    expected, gone = run(program, "reset", live, fake, folder / "reset.log")
    found, sums, _, _ = recorded(folder / "reset.log")
    compare("reset", expected, found)
    assert gone == 0 and sums == {"device": 0}, (gone, sums)


def check_fork(program, live, fake, folder):
    environment = dict(os.environ, LD_LIBRARY_PATH=fake, LD_PRELOAD=live, TIDEMARK_LIVE=str(folder / "%p.log"),
                       TIDEMARK_LIVE_BYTES=str(16 * MIB))
    done = subprocess.run([program, "forked"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done
    parent, child = (recorded(folder / f"{process}.log")[0] for process in done.stdout.split())
    size = 3 * MIB
    assert parent == [f"device_alloc cuMemAlloc_v2 {size}", f"device_free cuMemFree_v2 {size}"], parent
    assert child == [f"device_alloc cuMemAlloc_v2 {5 * MIB}"], child


def main():
    live, fake, program, linked, next_program, other = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="tidemark_driver_") as name:
        for how in HOWS:
            check(how, linked if how == "linked" else program, live, fake, pathlib.Path(name))
        check_resets(linked, live, fake, pathlib.Path(name))
        check_fork(program, live, fake, pathlib.Path(name))
        # Another library that interposes the same function, before and after ours.
        for order in (f"{live} {other}", f"{other} {live}"):
            check("linked", linked, order, fake, pathlib.Path(name), exact=order.startswith(live))
            (pathlib.Path(name) / "linked.log").unlink()
    done = subprocess.run([next_program], env=dict(os.environ, LD_PRELOAD=live))
    assert done.returncode == 0, f"RTLD_NEXT of another library: {done.returncode}"


if __name__ == "__main__":
    main()
