"""run.py: what it takes for right and for wrong, and that each row can run."""
import re
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from rows import ENVIRONMENTS, PYTORCH, ROWS, Row  # noqa: E402
from run import UNITS, faults, key_of  # noqa: E402
from environments import last_line, wait_for  # noqa: E402

ANSWER = "the program's own line\ntidemark run: it fits virtual:h100-80: 57.90 GiB of the pool\n"
ROW = Row("name", PYTORCH, ("aotinductor.py",), printed=(r"steps \d",), said=(r"it fits",), never=("does not fit",),
          figures=((r"([\d.]+) (\w+) of the pool", 58.11 * UNITS["GiB"], 0.01, "published"),))


def need(condition, *what):
    if not condition:
        sys.exit("WRONG: " + " ".join(str(part) for part in what))


def check_verdicts():
    need(faults(ROW, 0, "steps 3\n", ANSWER) == [], "right")
    need(faults(ROW, 3, "steps 3\n", ANSWER) == ["status 3, not 0"], "status")
    need(faults(ROW, None, "steps 3\n", ANSWER) == ["it took more than 900 s"], "time")
    need(len(faults(ROW, 0, "", ANSWER)) == 1, "output")
    need(len(faults(ROW, 0, "steps 3", ANSWER.replace("it fits", "it does not fit"))) == 2, "answer")
    need(len(faults(ROW, 0, "steps 3", ANSWER.replace("tidemark run: it", "it"))) == 2, "what the program itself says is no answer")
    need("not within 1 % of 58.11 GiB (published)" in faults(ROW, 0, "steps 3", ANSWER.replace("57.90", "57.10"))[0], "figure")
    need("is not there" in faults(ROW, 0, "steps 3", ANSWER.replace(" of the pool", ""))[0], "no figure")
    need(last_line("ERROR: no such package\nWARNING: x\n\n") == "ERROR: no such package", "pip's reason")


def check_keys():
    """What was found for another tidemark, or for another row, is not kept."""
    need(key_of(ROW, "a") == key_of(ROW, "a") != key_of(ROW, "b"), "tidemark")
    need(key_of(ROW, "a") != key_of(ROWS[0], "a"), "row")


def check_ends():
    """A program that takes too long is ended, also one that ignores SIGTERM."""
    for command, by in (("echo ready; sleep 60", signal.SIGTERM), ("trap '' TERM; echo ready; sleep 60; sleep 60", signal.SIGKILL)):
        program = subprocess.Popen(["sh", "-c", command], stdout=subprocess.PIPE, start_new_session=True)
        while program.stdout.readline() != b"ready\n":
            pass
        need(wait_for(program, 0.2, 0.2) is None and program.returncode == -by, command, program.returncode)
    need(wait_for(subprocess.Popen(["sh", "-c", "exit 3"], start_new_session=True), 60) == 3, "status")


def check_rows():
    names = [row.name for row in ROWS]
    need(len(set(names)) == len(names), names)
    for row in ROWS:
        need(row.environment == PYTORCH or row.environment in ENVIRONMENTS, row.name)
        scripts = [word for word in row.command if word.endswith((".py", ".js"))]
        need(all((HERE / word).is_file() for word in scripts), scripts)
        for pattern in (*row.printed, *row.said, *(figure[0] for figure in row.figures)):
            re.compile(pattern)
    used = {row.environment for row in ROWS} | {wanted.libraries for wanted in ENVIRONMENTS.values()}
    need(set(ENVIRONMENTS) <= used, set(ENVIRONMENTS) - used)


for check in (check_verdicts, check_keys, check_ends, check_rows):
    check()
