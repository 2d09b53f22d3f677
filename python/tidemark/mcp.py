"""A server for agents, over stdin and stdout by the Model Context Protocol: python -m tidemark.mcp

Its tools are commands of the program. An answer has the sentences and figures of the command's JSON, the
first rows of its tables, and the paths of the files. The package `mcp` is an extra: pip install mcp.
"""
import functools
import glob
import json
import os
import shlex
import subprocess
import sys
import tempfile

from .__main__ import find_program

MAX_ROWS = 8  # of a table in an answer
MAX_TEXT = 300  # of a text in a table
MAX_LINES = 15  # of what a program printed, if it failed
TABLES = {  # those of an answer, by command
    "explain": ("causes", "failure", "peak_lines", "peak_categories"),
    "compare": ("footprint", "rows", "peaks", "timing", "fail_if"),
    "plan": ("alone", "runs"),
    "fit": None,  # all
}
INSTRUCTIONS = ("tidemark runs PyTorch and CUDA programs on a virtual card without a GPU, and says where their memory goes. "
                "Start with run; explain and compare read the snapshots that it writes; plan finds changes with which a "
                "training program fits, and fit the largest batch. No kernel runs, so losses are not real.")


def run(command: str, device: str, folder: str = ".", options: str = "") -> dict:
    """Run a program on a virtual card and answer whether it fits and which lines fill the peak.

    command: the program, such as "python train.py". device: such as "virtual:h100-80" or "virtual:h100-80x8".
    folder: where it runs. options: more options of `tidemark run`, such as "--steps 3 --time".
    The files that the program writes are kept away from yours.
    """
    stem = os.path.join(tempfile.mkdtemp(prefix="tidemark-mcp-"), "run")
    done = _start(["run", "--device", device, "-o", stem + ".json.gz", "--html", stem + ".html", *shlex.split(options), "--",
                   *shlex.split(command)], folder)
    prefix = "tidemark run: "
    lines = done.stderr.splitlines()
    answer = {"status": done.returncode,
              "sentences": [line[len(prefix):] for line in lines if line.startswith(prefix) and
                            not line.startswith((prefix + "logs of", prefix + "the report is"))],
              "files": sorted(glob.glob(stem + "*"))}
    if done.returncode != 0:
        own = [line for line in lines if not line.startswith(prefix)]
        answer["output"] = [line[:MAX_TEXT] for line in done.stdout.splitlines()[-MAX_LINES:] + own[-MAX_LINES:]]
    snapshots = [file for file in answer["files"] if file.endswith(".json.gz")]
    if len(snapshots) == 1:
        facts = explain(snapshots[0])
        answer.update({name: facts[name] for name in ("figures", "tables") if name in facts})
    return answer


def explain(file: str) -> dict:
    """Explain where the memory of a snapshot goes: why it ran out, what grows, what fills the peak, what would help.

    file: a snapshot of tidemark or of PyTorch (.pickle), a page, or a log with an out-of-memory message.
    """
    return _ask("explain", [file], ".")


def compare(base: str, file: str, fail_if: list[str] | None = None) -> dict:
    """Compare two snapshots: peaks, categories, what differs at the peak, times.

    fail_if: conditions such as "peak_allocated > +2%"; the table fail_if has their verdicts.
    """
    return _ask("compare", [base, file, *(word for condition in fail_if or [] for word in ("--fail-if", condition))], ".")


def plan(command: str, device: str, folder: str = ".", options: str = "") -> dict:
    """Find out what would make a training program of PyTorch fit a card, and fastest, by running it with changes.

    This takes minutes. options: of `tidemark plan`, such as "--runs 6" or "--allow precision,optimizer".
    The sentences have the lines to paste.
    """
    return _ask("plan", ["--device", device, *shlex.split(options), "--", *shlex.split(command)], folder)


def fit(command: str, device: str, folder: str = ".", options: str = "") -> dict:
    """Find the largest value of {batch} in a command's arguments with which it fits a card.

    command: such as "python train.py --batch {batch}". options: of `tidemark fit`, such as "--vary batch=1..512".
    """
    return _ask("fit", ["--device", device, *shlex.split(options), "--", *shlex.split(command)], folder)


def _start(words, folder):
    program = os.environ.get("TIDEMARK_MCP_PROGRAM") or find_program()
    if program is None:
        raise ValueError("the program tidemark is missing: install the package from a wheel")
    return subprocess.run([program, *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", check=False)


def _ask(command, words, folder):
    """The short form of a command's JSON. Raises ValueError with the command's message if it has none."""
    done = _start([command, "--format", "json", *words], folder)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        raise ValueError(done.stderr.strip() or f"tidemark {command} ended with status {done.returncode}") from None
    answer = shorten(report, TABLES[command])
    answer["status"] = done.returncode
    return answer


def shorten(report, tables):
    """Figures that are known, all sentences, and the first rows of the named tables (None: of all)."""
    answer = {"figures": {name: value for name, value in report["figures"].items() if value is not None},
              "sentences": [sentence for group in report["sentences"].values() for sentence in group], "tables": {}}
    for name, table in report["tables"].items():
        if table["rows"] and (tables is None or name in tables):
            rows = [{column: _cut(value) for column, value in row.items() if value is not None}
                    for row in table["rows"][:MAX_ROWS]]
            answer["tables"][name] = rows
            if len(table["rows"]) > MAX_ROWS:
                answer["tables"][name].append({"rows_left_out": len(table["rows"]) - MAX_ROWS})
    return answer


def _cut(value):
    return value[:MAX_TEXT] + "..." if isinstance(value, str) and len(value) > MAX_TEXT else value


def build():
    """The server, with version 1 or 2 of the package `mcp`."""
    try:
        from mcp.server.mcpserver import MCPServer as Server
        from mcp.server.mcpserver.exceptions import ToolError
    except ImportError:
        from mcp.server.fastmcp import FastMCP as Server
        from mcp.server.fastmcp.exceptions import ToolError
    server = Server("tidemark", instructions=INSTRUCTIONS)
    for tool in (run, explain, compare, plan, fit):
        server.tool()(_with_messages(tool, ToolError))
    return server


def _with_messages(tool, error_type):
    """The tool, whose errors reach the agent with their message: the package hides those of other types."""

    @functools.wraps(tool)
    def call(*args, **kwargs):
        try:
            return tool(*args, **kwargs)
        except (ValueError, OSError) as error:
            raise error_type(str(error)) from None

    return call


def main():
    try:
        server = build()
    except ImportError as error:
        sys.exit(f"tidemark mcp: the package `mcp` is missing ({error}): {sys.executable} -m pip install mcp")
    server.run("stdio")


if __name__ == "__main__":
    main()
