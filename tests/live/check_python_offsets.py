"""The row of programs/live/python/python_versions.c for this interpreter, against its headers: check_python_offsets.py
CC OFFSETS.c TABLE.c

Skipped (77) if the headers are not installed, or the table has no row for this version.
"""

import os
import re
import subprocess
import sys
import sysconfig
import tempfile


def words(row):
    return set(re.findall(r"\.(\w+) = (\d+)", row))


def main():
    compiler, offsets, table = sys.argv[1:]
    minor = sys.version_info.minor
    include = sysconfig.get_path("include")
    needed = "internal/pycore_frame.h" if minor >= 11 else "frameobject.h"
    if not os.path.exists(os.path.join(include, needed)):
        print("skipped: no headers of this Python in", include)
        return 77
    rows = [words(row) for row in re.findall(r"\{\s*(\.minor = .*?)\}", open(table).read(), re.S)]
    here = [row for row in rows if ("minor", str(minor)) in row]
    assert rows, "the table could not be read"
    if not here:
        print("skipped: the table has no row for", sys.version.split()[0])
        return 77
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "offsets")
        flags = ["-w", "-I" + include, "-I" + os.path.dirname(include), "-I" + os.path.join(include, "internal")]
        subprocess.run([compiler, *flags, "-o", program, offsets], check=True)
        printed = words(subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout)
    print(sys.version.split()[0], len(printed), "numbers, different:", sorted(printed ^ here[0]) or "none")
    return 0 if len(printed) > 20 and printed == here[0] else 1


if __name__ == "__main__":
    sys.exit(main())
