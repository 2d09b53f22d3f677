"""Compares the outputs that pages of docs show with those of the same commands: check_outputs.py --tidemark T --python P PAGE...

A fenced block whose first line begins with "$ " is a terminal: its lines that begin with "$ " are commands, each followed by
what it prints. The commands of a page run in order, in one folder with the programs of docs/examples, so PYTHON needs a CUDA
build of PyTorch. "<!-- before: COMMAND -->" runs without being shown, and the block after "<!-- not run -->" is skipped. In a
block, a line "..." matches any number of lines. Only figures that depend on the machine may differ: seconds, the host's memory.
"<!-- picture: COMMAND -> FILE -->" makes a file that must equal that in docs/images.
--update writes what was printed into the page, and pictures into docs/images.
"""
import argparse
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HIDDEN = re.compile(r"<!-- (?:before: (.*?)|picture: (.*) -> (\S+)) -->")
MOST_SECONDS = 900
# The program's own time and the host's memory, and the time that a plan took.
OF_THE_MACHINE = [(re.compile(r"took [\d.]+ s and [\d.]+ [KMG]iB of host memory"), "took T s and N of host memory"),
                  (re.compile(r"(\d+ runs?) in \d+ s"), r"\1 in T s"),
                  (re.compile(r"[\d.]+ [MG]iB(?=  +\d+  +(yes|no)  )"), "HOST")]


def comparable(line):
    for pattern, words in OF_THE_MACHINE:
        line = pattern.sub(words, line)
    return line.rstrip()


def match(shown, printed):
    """The shown lines with the figures of the printed ones, with "..." for any number of them; None if they differ."""
    if not shown:
        return [] if not printed else None
    if shown[0] == "...":
        rests = (match(shown[1:], printed[i:]) for i in range(len(printed) + 1))
        return next((["...", *rest] for rest in rests if rest is not None), None)
    if not printed or comparable(shown[0]) != comparable(printed[0]):
        return None
    rest = match(shown[1:], printed[1:])
    return None if rest is None else [printed[0].rstrip(), *rest]


class Terminal:
    """The folder in which the commands of a page run."""

    def __init__(self, folder, tidemark, python):
        self.work = folder / "work"
        programs = folder / "bin"
        for made in (self.work, programs):
            made.mkdir()
        for program in (ROOT / "docs/examples").glob("*.py"):
            shutil.copy(program, self.work)
        (programs / "tidemark").symlink_to(pathlib.Path(tidemark).resolve())
        packages = folder / "lib/python/packages"  # the package finds the program by its place, as when it is installed
        packages.mkdir(parents=True)
        (packages / "tidemark").symlink_to(ROOT / "python/tidemark")
        self.environment = dict(os.environ, LC_ALL="C", XDG_STATE_HOME=str(folder / "state"), OMP_NUM_THREADS="1",
                                PYTHONPATH=str(packages), PYTHONDONTWRITEBYTECODE="1",  # for python -m tidemark.ci
                                PATH=os.pathsep.join([str(programs), str(pathlib.Path(python).parent), os.environ["PATH"]]))

    def run(self, command):
        done = subprocess.run(["bash", "-c", command], cwd=self.work, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=MOST_SECONDS)
        return done.returncode, done.stdout.splitlines()


def run_block(terminal, lines, failures):
    """The lines of a block with what its commands print now."""
    ret = []
    for part in re.split(r"^(?=\$ )", "\n".join(lines), flags=re.M)[1:]:
        command, *shown = part.rstrip("\n").split("\n")
        while shown and not shown[-1]:
            shown.pop()
        _, printed = terminal.run(command[2:])
        while printed and not printed[-1]:
            printed.pop()
        matched = match(shown, printed) if shown != ["..."] else None  # "..." alone would match anything
        if matched is not None:
            ret += [command, *matched]
            continue
        failures.append(command)
        sys.stdout.writelines(line + "\n" for line in difflib.unified_diff(
            [comparable(line) for line in shown], [comparable(line) for line in printed], command, "printed now", lineterm="", n=1))
        ret += [command, *printed]
    return ret


def run_hidden(terminal, command, picture, is_update, failures):
    """Runs a command that the page does not show, and compares the picture that it makes."""
    status, printed = terminal.run(command)
    if status != 0:
        failures.append(command)
        print(f"{command}: exit status {status}", *printed[-20:], sep="\n")
    elif picture:
        made, kept = terminal.work / picture, ROOT / "docs/images" / pathlib.Path(picture).name
        if is_update:
            shutil.copy(made, kept)
        if not kept.exists() or made.read_bytes() != kept.read_bytes():
            failures.append(command)
            print(f"{kept} is not what '{command}' makes now")


def check_page(page, terminal, is_update):
    """Returns the page's text with the outputs of now, the number of commands, and those whose output differs."""
    text, block, n_commands, failures = [], None, 0, []
    is_skipped = False
    for line in page.read_text().split("\n"):
        hidden = HIDDEN.fullmatch(line)
        if hidden:
            run_hidden(terminal, hidden[1] or hidden[2], hidden[3], is_update, failures)
        is_skipped = is_skipped or line == "<!-- not run -->"
        if block is None:
            text.append(line)
            block = [] if line.startswith("```") else None
        elif line == "```":
            is_terminal = bool(block) and block[0].startswith("$ ") and not is_skipped
            n_commands += sum(row.startswith("$ ") for row in block) if is_terminal else 0
            text += [*(run_block(terminal, block, failures) if is_terminal else block), line]
            block, is_skipped = None, False
        else:
            block.append(line)
    return "\n".join(text), n_commands, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tidemark", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    n_failed = 0
    for page in args.pages:
        with tempfile.TemporaryDirectory(prefix="pages-") as folder:
            text, n_commands, failures = check_page(
                page, Terminal(pathlib.Path(folder), args.tidemark, args.python), args.update)
        if n_commands == 0:
            failures.append("no command was found")
        if args.update:
            page.write_text(text)
        print(f"{page.name}: {n_commands} commands, {len(failures)} differ")
        n_failed += len(failures)
    sys.exit(1 if n_failed > 0 and not args.update else 0)


if __name__ == "__main__":
    main()
