"""Runs of the command on the virtual card, and what is read out of their files."""
import contextlib
import dataclasses
import glob
import json
import os
import shlex
import subprocess
import sys
import tempfile

PREFIX = "tidemark run: "


@dataclasses.dataclass
class Run:
    snapshot: str = None  # of the process with the highest peak; None if there is none
    status: int = 0
    sentences: list = dataclasses.field(default_factory=list)  # of `tidemark run`
    peak_bytes: int = 0
    reserved_bytes: int = 0
    lines: list = dataclasses.field(default_factory=list)  # rows of the table peak_lines of `tidemark explain`
    time: dict = None  # the forecast's row of `tidemark time`; None without one
    fits: str = None  # the figure of `tidemark explain`


def measure(program, given, name, folder):
    """Runs the command in a folder; `name` is that of its files."""
    stem = os.path.join(os.path.abspath(given.output), name)
    for old in glob.glob(glob.escape(stem) + "*"):
        os.remove(old)
    options = ["--device", given.device, "-o", stem + ".json.gz", "--html", stem + ".html", *shlex.split(given.options)]
    if given.time:
        options += ["--time", "--launch-log", stem + ".launches"]
    child = subprocess.Popen([program, "run", *options, "--", *given.command], cwd=folder, stdin=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True, errors="replace")
    sentences = []
    for line in child.stderr:
        sys.stderr.write(line)
        if line.startswith(PREFIX):
            sentences.append(line[len(PREFIX):].rstrip("\n"))
    status = child.wait()
    found = [read(program, path) for path in sorted(glob.glob(glob.escape(stem) + "*.json.gz"))]
    run = max(found, key=lambda one: one.peak_bytes, default=Run())
    run.status, run.sentences = status, sentences
    return run


def keep(given, snapshot):
    """The path of a base that this job's files do not replace: one that an earlier job left in the output folder is renamed."""
    stem, base = (os.path.join(os.path.abspath(given.output), name) for name in ("head", "base"))
    path = os.path.abspath(snapshot)
    if not path.startswith(stem):
        return snapshot
    for end in (".json.gz", ".launches"):
        own = path.removesuffix(".json.gz") + end
        if os.path.exists(own):
            os.replace(own, base + end)
    return base + ".json.gz"


def read(program, snapshot):
    """The Run of a snapshot, and of the launch log beside it."""
    facts = ask(program, "explain", snapshot)
    figures = facts["figures"]
    run = Run(snapshot, 0, [], figures["allocated_peak_bytes"] or 0, figures["reserved_peak_bytes"] or 0,
              facts["tables"].get("peak_lines", {}).get("rows", []), None, figures.get("fits"))
    log = snapshot[:-len(".json.gz")] + ".launches"
    if os.path.exists(log):
        run.time = next(iter(ask(program, "time", log)["tables"]["cards"]["rows"]), None)
    return run


def ask(program, *words):
    """The JSON of a command of tidemark."""
    done = subprocess.run([program, words[0], "--format", "json", *words[1:]], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False)
    try:
        return json.loads(done.stdout)
    except ValueError:
        sys.exit(f"tidemark.ci: {done.stderr.strip()}")


@contextlib.contextmanager
def checkout(ref):
    """The folder of a commit that corresponds to the current one, as long as the context lasts."""
    root = _git("rev-parse", "--show-toplevel")
    with tempfile.TemporaryDirectory(prefix="tidemark-ci-") as folder:
        tree = os.path.join(folder, "base")
        _git("worktree", "add", "--detach", tree, ref, hint=f": fetch {ref} first (actions/checkout: fetch-depth: 0)")
        try:
            yield os.path.join(tree, os.path.relpath(os.path.realpath(os.getcwd()), os.path.realpath(root)))
        finally:
            _git("worktree", "remove", "--force", tree)


def _git(*words, hint=""):
    done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"tidemark.ci: git {' '.join(words)}: {done.stderr.strip()}{hint}")
    return done.stdout.strip()
