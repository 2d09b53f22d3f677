#!/usr/bin/env python3
"""Checks the tools for agents: test_mcp.py FOLDER TIDEMARK | --installed

FOLDER has the package. --installed: this interpreter has the wheel. If the package `mcp` is installed, its client calls the tools of a server over stdio.
"""
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import unittest

if sys.argv[1] == "--installed":
    del sys.argv[1]
    FOLDER, PATHS, TIDEMARK = "", {}, os.path.join(os.path.dirname(sys.executable), "tidemark")
else:
    FOLDER, TIDEMARK = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
    PATHS = {"PYTHONPATH": FOLDER}
    sys.path.insert(0, FOLDER)
    os.environ["TIDEMARK_MCP_PROGRAM"] = TIDEMARK
from tidemark import mcp as tools  # noqa: E402
from tidemark.__main__ import find_program  # noqa: E402

try:
    import mcp
    from mcp.client.stdio import StdioServerParameters, stdio_client
except ImportError:
    mcp = None

PROGRAM = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
context, device, pointer = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0 and cuda.cuDeviceGet(ctypes.byref(device), 0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0 and cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(int(sys.argv[1]) << 20)) == 0
print("the last words")
sys.exit(int(sys.argv[2]))
"""


_folder = tempfile.TemporaryDirectory()
FIRST, SECOND = (os.path.join(_folder.name, name) for name in ("first.json.gz", "second.json.gz"))


def setUpModule():
    unittest.addModuleCleanup(_folder.cleanup)
    with open(os.path.join(_folder.name, "program.py"), "w") as file:
        file.write(PROGRAM)
    for output, n_mib in ((FIRST, "64"), (SECOND, "80")):
        subprocess.run([TIDEMARK, "run", "--device", "virtual:h100-80", "--html", "none", "-o", output, "--", sys.executable,
                        "program.py", n_mib, "0"], cwd=_folder.name, check=True, capture_output=True)


class Tools(unittest.TestCase):
    def test_run(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "program.py"), "w") as file:
                file.write(PROGRAM)
            answer = tools.run("python3 program.py 64 0", "virtual:h100-80", folder)
            self.assertEqual((answer["status"], answer["figures"]["allocated_peak_bytes"]), (0, 64 << 20))
            self.assertEqual(answer["figures"]["fits"], "yes")
            self.assertTrue(answer["sentences"][0].startswith("it fits virtual:h100-80: "), answer)
            self.assertEqual([os.path.basename(file) for file in answer["files"]], ["run.html", "run.json.gz"])
            self.assertNotIn("output", answer)
            failed = tools.run("python3 program.py 64 3", "virtual:h100-80", folder)
            self.assertEqual((failed["status"], failed["output"]), (3, ["the last words"]))
            self.assertEqual(os.listdir(folder), ["program.py"])
            self.assertLess(len(json.dumps(answer)), 4000)

    def test_explain_and_compare(self):
        whole = json.loads(subprocess.run([TIDEMARK, "explain", "--format", "json", FIRST], capture_output=True, check=True).stdout)
        answer = tools.explain(FIRST)
        self.assertEqual(answer["figures"]["allocated_peak_bytes"], whole["figures"]["allocated_peak_bytes"])
        self.assertEqual(answer["sentences"], [one for group in whole["sentences"].values() for one in group])
        compared = tools.compare(FIRST, SECOND, ["peak_allocated > 1KiB"])
        self.assertEqual((compared["status"], compared["tables"]["fail_if"][0]["verdict"]), (4, "fails"))
        self.assertTrue(compared["sentences"])
        self.assertLess(len(json.dumps(compared)), 12000)

    def test_errors_are_those_of_the_program(self):
        with self.assertRaisesRegex(ValueError, "none.json.gz"):
            tools.explain("none.json.gz")
        with self.assertRaisesRegex(ValueError, "tidemark plan: .*none-80"):
            tools.plan("python3 program.py", "virtual:none-80")
        with self.assertRaisesRegex(ValueError, "tidemark fit: "):
            tools.fit("python3 program.py --batch {batch}", "virtual:none-80")
        self.assertEqual(tools.run("true", "virtual:none-80")["status"], 125)

    def test_answers_are_short(self):
        rows = [{"a": i, "b": None, "c": "x" * 1000} for i in range(100)]
        report = {"figures": {"f": None, "g": 0}, "tables": {"t": {"rows": rows}, "u": {"rows": rows}, "v": {"rows": []}},
                  "sentences": {"s": ["one"], "r": ["two", "three"]}}
        answer = tools.shorten(report, ("t", "v"))
        self.assertEqual((answer["figures"], answer["sentences"], list(answer["tables"])), ({"g": 0}, ["one", "two", "three"], ["t"]))
        self.assertEqual(len(answer["tables"]["t"]), tools.MAX_ROWS + 1)
        self.assertEqual(answer["tables"]["t"][-1], {"rows_left_out": 100 - tools.MAX_ROWS})
        self.assertEqual(answer["tables"]["t"][0], {"a": 0, "c": "x" * tools.MAX_TEXT + "..."})

    def test_a_missing_package_is_named(self):
        done = subprocess.run([sys.executable, "-c", "import sys; sys.path.insert(0, sys.argv[1]); sys.modules['mcp'] = None\n"
                               "from tidemark import mcp; mcp.main()", FOLDER], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("tidemark mcp: the package `mcp` is missing", done.stderr)
        self.assertIn("-m pip install mcp", done.stderr)


@unittest.skipIf(mcp is None, "the package mcp is absent")
class Client(unittest.TestCase):
    def call(self, command, *calls):
        return asyncio.run(self._call(command, calls))

    async def _call(self, command, calls):
        # The program starts the python3 of PATH, and the package the program that the environment names.
        environment = {**os.environ, **PATHS, "PYTHONDONTWRITEBYTECODE": "1",
                       "PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]}
        server = StdioServerParameters(command=command[0], args=command[1:], env=environment)
        async with stdio_client(server) as streams, mcp.ClientSession(*streams) as session:
            await session.initialize()
            listed = await session.list_tools()
            return listed.tools, [await session.call_tool(name, arguments) for name, arguments in calls]

    def test_tools_over_stdio(self):
        of_wheel = [] if PATHS else [[find_program(), "mcp"]]  # without the script of the package
        for command in ([sys.executable, "-m", "tidemark", "mcp"], [TIDEMARK, "mcp"], *of_wheel):
            listed, (explained, failed, compared, ran) = self.call(
                command, ("explain", {"file": FIRST}), ("explain", {"file": "none.json.gz"}),
                ("compare", {"base": FIRST, "file": SECOND}),
                ("run", {"command": "python3 program.py 64 3", "device": "virtual:h100-80", "folder": _folder.name}))
            self.assertEqual(sorted(tool.name for tool in listed), ["compare", "explain", "fit", "plan", "run"])
            for tool in listed:
                self.assertTrue(tool.description)
            self.assertEqual(json.loads(explained.content[0].text), json.loads(json.dumps(tools.explain(FIRST))))
            self.assertTrue(getattr(failed, "is_error", getattr(failed, "isError", False)))
            self.assertIn("none.json.gz", failed.content[0].text)
            self.assertEqual(json.loads(compared.content[0].text)["status"], 0)
            answer = json.loads(ran.content[0].text)
            self.assertEqual((answer["status"], answer["output"]), (3, ["the last words"]))


if __name__ == "__main__":
    unittest.main()
