"""Finds code that is written twice: check_duplicates.py ROOT

Two places must not share LEAST equal lines or more. Debian's sim_text finds runs of equal words; a run counts by its lines
that are code or prose. Includes, blank lines and rows of tables do not count: a row begins with a brace, a dot, a quote or a
macro, and two tables may well have equal rows.
"""
import collections
import pathlib
import re
import subprocess
import sys

LEAST = 12
LEAST_WORDS = 24  # of a run that sim_text reports: 12 lines of 2 words
SOURCES = ["*.c", "*.h", "*.cu", "*.cpp", "*.js", "*.mjs", "*.py", "*.sh"]
NOT_COUNTED = re.compile(r'$|#\s*(include|if|ifdef|ifndef|else|endif|define|undef)\b|extern "C"|[{."]|},|[A-Z][A-Z0-9_]+\(|import |from ')
RUN = re.compile(r"(\S+): line (\d+)-(\d+)\s*\|(\S+): line (\d+)-(\d+)\s*\[\d+\]")


def counted(root, name, first, last):
    lines = (root / name).read_text(errors="replace").split("\n")[first - 1:last]
    return collections.Counter(line.strip() for line in lines if NOT_COUNTED.match(line.strip()) is None)


def findings(root, names):
    """Yields (lines, sentence) for each run of equal lines that is too long."""
    found = subprocess.run(["sim_text", "-i", "-n", "-T", "-r", str(LEAST_WORDS)], cwd=root, input="".join(f"{name}\n" for name in names),
                           capture_output=True, text=True, check=True).stdout
    for run in map(RUN.match, found.split("\n")):
        if run is None:
            continue
        places = [(run[1], int(run[2]), int(run[3])), (run[4], int(run[5]), int(run[6]))]
        one_lines, other_lines = (counted(root, *place) for place in places)
        lines = (one_lines & other_lines).total()
        if lines >= LEAST:
            (one, from_one, _), (other, from_other, _) = places
            yield f"{one}:{from_one}: {lines} lines are equal to those at {other}:{from_other}: write them once"


def main():
    root = pathlib.Path(sys.argv[1])
    listed = subprocess.run(["git", "ls-files", *SOURCES], cwd=root, capture_output=True, text=True, check=True).stdout.split()
    found = list(findings(root, listed))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
