#!/usr/bin/env python3
"""Checks %%tidemark in an IPython shell: test_jupyter.py

It runs in an environment that has IPython, PyTorch and the wheel.
"""
import base64
import contextlib
import gzip
import html
import json
import os
import re
import signal
import tempfile
import unittest

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

CELL = """
import sys
import torch
import beside
x = torch.zeros(12 << 20, dtype=torch.uint8, device="cuda")
print("stdout of the cell", beside.VALUE, "x" in globals())
print("stderr of the cell", file=sys.stderr)
"""


class Cells(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        with open("beside.py", "w") as file:
            file.write("VALUE = 7\n")
        self.shell = InteractiveShell.instance()
        self.shell.run_cell("%load_ext tidemark")

    def run_cell(self, text):
        """What the notebook shows, and the error of the cell."""
        with capture_output() as shown:
            result = self.shell.run_cell(text)
        return shown, result.error_in_exec

    def test_a_cell_shows_its_report(self):
        shown, error = self.run_cell("%%tidemark --device virtual:h100-80" + CELL)
        self.assertIsNone(error)
        self.assertEqual(shown.stdout, "stdout of the cell 7 True\n")
        self.assertEqual("stderr of the cell\n", shown.stderr)  # the answer is no error
        self.assertEqual(len(shown.outputs), 1)
        self.assertIn("it fits virtual:h100-80: PyTorch allocated 12.00 MiB", shown.outputs[0].data["text/plain"])
        self.assertRegex(shown.outputs[0].data["text/html"], "^<p><b>it fits virtual:h100-80: PyTorch allocated 12.00 MiB [^<]*</b></p><ul><li>")
        self.assertIn("<li>the report is below, the snapshot linked there", shown.outputs[0].data["text/html"])
        page = html.unescape(re.search('srcdoc="([^"]*)"', shown.outputs[0].data["text/html"]).group(1))
        self.assertTrue(page.startswith("<!doctype html>"), page[:80])
        self.assertIn('id="packed"', page)
        self.assertEqual(sorted(set(os.listdir()) - {"__pycache__"}), ["beside.py"])

    def test_files_can_be_downloaded(self):
        shown, _ = self.run_cell("%%tidemark --device virtual:h100-80" + CELL)
        links = re.findall('<a download="([^"]*)" href="data:([^;]*);base64,([^"]*)">', shown.outputs[0].data["text/html"])
        self.assertEqual([link[:2] for link in links], [("cell.html", "text/html"), ("cell.json.gz", "application/gzip")])
        self.assertTrue(base64.b64decode(links[0][2]).startswith(b"<!doctype html>"))
        self.assertIn("events", json.loads(gzip.decompress(base64.b64decode(links[1][2]))))

    def test_the_snapshot_can_be_kept(self):
        shown, error = self.run_cell("%%tidemark --device virtual:h100-80 -o 'my cell.json.gz'" + CELL)
        self.assertIsNone(error)
        with gzip.open("my cell.json.gz") as file:
            frames = json.load(file)["strings"]
        self.assertTrue(any(text.endswith("cell.py") for text in frames))
        self.assertIn('download="my cell.json.gz"', shown.outputs[0].data["text/html"])

    def test_the_names_of_the_notebook_are_not_touched(self):
        self.shell.run_cell("x = 5")
        self.run_cell("%%tidemark --device virtual:h100-80\nx = 6\n")
        self.assertEqual(self.shell.user_ns["x"], 5)

    def test_a_cell_that_fails_fails(self):
        shown, error = self.run_cell("%%tidemark --device virtual:h100-80" + CELL + "\nraise KeyError('mine')\n")
        self.assertIn("ended with status 1", str(error))
        self.assertIn("KeyError: 'mine'", shown.stderr)
        self.assertEqual(len(shown.outputs), 1)

    def test_an_option_that_is_wrong_is_told(self):
        shown, error = self.run_cell("%%tidemark --devise virtual:h100-80\npass\n")
        self.assertIn("ended with status", str(error))
        self.assertIn("--devise", shown.stderr)

    def test_a_cell_can_be_interrupted(self):
        # A program that is started in the background may have interruptions ignored.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        # The cell itself asks for the interruption, so that it comes neither too early nor too late.
        wait = ("import os, signal, time\nprint('ready', flush=True)\n"
                f"os.kill({os.getpid()}, signal.SIGINT)\ntime.sleep(60)\n")
        with contextlib.suppress(KeyboardInterrupt):
            shown, error = self.run_cell("%%tidemark --device virtual:h100-80" + CELL + wait)
        self.assertIsNotNone(error)
        self.assertIn("ready\n", shown.stdout)
        self.assertIn("KeyboardInterrupt", shown.stderr)
        self.assertEqual(len(shown.outputs), 1)


if __name__ == "__main__":
    unittest.main()
