"""Runs the commands of docs/guide/agents.md with PyTorch, and the tools of the server: check_agents.py TIDEMARK PYTHON

PYTHON has PyTorch and the package mcp.
"""
import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import mcp
from mcp.client.stdio import StdioServerParameters, stdio_client

ROOT = Path(__file__).resolve().parents[3]
EXPECTED = {  # status and words of each command, by its beginning
    "tidemark run": (0, "tidemark run: it fits virtual:h100-80: "),
    "tidemark explain": (0, "The peak, "),
    "tidemark compare": (0, "passes"),
    "tidemark fit": (0, "batch"),
    "tidemark plan": (0, "fits"),
    "tidemark devices": (0, "h100-80"),
}


def check_page(folder, environment):
    page = (ROOT / "docs/guide/agents.md").read_text()
    commands = re.search(r"```sh\n(.*?)```", page, re.DOTALL)[1].splitlines()
    for command in commands:
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False)
        status, words = EXPECTED[" ".join(command.split()[:2])]
        output = done.stdout + done.stderr
        assert done.returncode == status and words in output, (command, done.returncode, output)
    return len(commands)


async def ask(tidemark, folder, environment):
    """Calls the tools that run programs, as an agent would."""
    server = StdioServerParameters(command=tidemark, args=["mcp"], env=environment, cwd=str(folder))
    train = "python train.py --layers 2 --batch"
    async with stdio_client(server) as streams, mcp.ClientSession(*streams) as session:
        await session.initialize()

        async def call(name, **arguments):
            result = await session.call_tool(name, arguments)
            assert not getattr(result, "is_error", getattr(result, "isError", False)), result
            text = result.content[0].text
            assert len(text) < 16000, (name, len(text))
            return json.loads(text)

        ran = await call("run", command=f"{train} 2", device="virtual:h100-80", options="--steps 2")
        assert ran["status"] == 0 and ran["figures"]["fits"] == "yes", ran
        assert ran["tables"]["peak_lines"] and any(file.endswith(".json.gz") for file in ran["files"]), ran
        fitted = await call("fit", command=f"{train} {{batch}}", device="virtual:h100-80", options="--vary batch=1..4")
        assert "4" in json.dumps(fitted["tables"]), fitted
        planned = await call("plan", command=f"{train} 4", device="virtual:h100-80", options="--room 3GiB --runs 3")
        assert planned["figures"]["runs"] >= 1 and planned["sentences"], planned


def main():
    tidemark, python = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(ROOT / "docs/examples/train.py", folder)
        paths = [os.path.dirname(python), os.path.dirname(tidemark), os.environ["PATH"]]
        environment = {**os.environ, "PATH": os.pathsep.join(paths)}
        n_commands = check_page(folder, environment)
        asyncio.run(ask(tidemark, folder, environment))
    print(f"{n_commands} commands of the page, and 3 tools that run programs, have their answers")


main()
