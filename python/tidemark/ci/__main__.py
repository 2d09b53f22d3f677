"""The steps of a job: run the base and the change, compare them, and write the Markdown."""
import argparse
import json
import os
import subprocess
import sys

from ..__main__ import find_program
from . import markdown, runs

FAILED, CONDITION = 1, 4  # as `tidemark compare` ends


def parse(arguments):
    parser = argparse.ArgumentParser(prog="python -m tidemark.ci", description="Runs a command on a virtual card, compares "
                                     "it with the base branch, and writes the difference as Markdown.")
    parser.add_argument("--device", required=True, help="the virtual card, such as virtual:h100-80")
    parser.add_argument("--base", metavar="FILE", help="the base's snapshot, which an earlier job wrote; it may be missing")
    parser.add_argument("--base-ref", metavar="REF", help="run the command in this commit of git, too: the base")
    parser.add_argument("--fail-if", metavar="CONDITION", action="append", default=[],
                        help="fail with status 4 if a condition of `tidemark compare` holds; may be given several times")
    parser.add_argument("--time", action="store_true", help="forecast the time of a step, with its interval")
    parser.add_argument("--options", default="", help="more options for `tidemark run`, such as '--steps 3'")
    parser.add_argument("--output", metavar="FOLDER", default="tidemark-ci", help="folder of all files; default tidemark-ci")
    parser.add_argument("--title", default="GPU memory", help="the heading of the summary")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="the program and its arguments")
    given = parser.parse_args(arguments)
    if given.command[:1] == ["--"]:
        del given.command[0]
    if not given.command:
        parser.error("name the command after --")
    if given.base and given.base_ref:
        parser.error("give --base or --base-ref, not both")
    given.time = given.time or any(condition.lstrip().startswith("time_") for condition in given.fail_if)
    return given


def main(arguments=None):
    given = parse(arguments)
    program = os.environ.get("TIDEMARK_CI_PROGRAM") or find_program()
    if program is None:
        sys.exit("tidemark.ci: the program tidemark is missing: install the package from a wheel")
    os.makedirs(given.output, exist_ok=True)
    base = _base(program, given)
    head = runs.measure(program, given, "head", os.getcwd())
    report, checks, status = _compare(program, given, base, head)
    _write(given, markdown.write(given, base, head, report, checks), head, status)
    return status


def _base(program, given):
    """The base's Run; None if the job has none yet."""
    if given.base_ref:
        with runs.checkout(given.base_ref) as folder:
            return runs.measure(program, given, "base", folder)
    if given.base and os.path.exists(given.base):
        return runs.read(program, runs.keep(given, given.base))
    return None


def _compare(program, given, base, head):
    """The report of `tidemark compare`, None without both snapshots; a sentence for each condition that cannot
    be checked; and the status of the job."""
    status = FAILED if head.status or (base is not None and base.status) else 0
    if head.snapshot is None:
        return None, [f"{condition}: not checked, because the command has no snapshot" for condition in given.fail_if], FAILED
    has_base = base is not None and base.snapshot is not None
    skipped = [condition for condition in given.fail_if if not has_base and _is_relative(condition)]
    conditions = [word for condition in given.fail_if if condition not in skipped for word in ("--fail-if", condition)]
    files = [base.snapshot if has_base else head.snapshot, head.snapshot]
    done = subprocess.run([program, "compare", "--format", "json", *files, *conditions], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False)
    sys.stderr.write(done.stderr)
    if done.returncode not in (0, CONDITION):
        status = FAILED
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return None, [done.stderr.strip()], FAILED
    checks = [f"{condition}: not checked, because the job has no base" for condition in skipped]
    if done.returncode == FAILED:
        checks.append(done.stderr.strip())
    return report, checks, CONDITION if done.returncode == CONDITION else status


def _is_relative(condition):
    """Whether the bound of a condition such as "peak_allocated > +2%" has a sign."""
    return any(condition.partition(sign)[2].lstrip("= ").startswith(("+", "-")) for sign in "<>")


def _write(given, text, head, status):
    for name, content in (("summary.md", text), ("comment.md", f"<!-- tidemark: {given.title} -->\n{text}")):
        with open(os.path.join(given.output, name), "w", encoding="utf-8") as file:
            file.write(content)
    _append("GITHUB_STEP_SUMMARY", text)
    outputs = {"comment": os.path.join(given.output, "comment.md"), "status": status, "snapshot": head.snapshot or "",
               "peak-bytes": head.peak_bytes}
    _append("GITHUB_OUTPUT", "".join(f"{name}={value}\n" for name, value in outputs.items()))
    print(text)


def _append(variable, text):
    """Appends to the file that GitHub names in a variable; elsewhere it does nothing."""
    if os.environ.get(variable):
        with open(os.environ[variable], "a", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    sys.exit(main())
