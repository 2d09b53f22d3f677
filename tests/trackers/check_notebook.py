#!/usr/bin/env python3
"""Runs a notebook with %%tidemark in a real kernel: check_notebook.py TIDEMARK

It runs with an interpreter that has PyTorch, ipykernel and nbclient. The package is that of this folder, copied beside a
link to TIDEMARK, as a wheel has it.
"""
import base64
import gzip
import json
import os
import re
import shutil
import sys
import tempfile

import nbclient
import nbformat

TIDEMARK = os.path.realpath(sys.argv[1])
PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python/tidemark")

CELL = """%%tidemark --device virtual:h100-80
import torch
x = torch.zeros(12 << 20, dtype=torch.uint8, device="cuda")
print("the cell ends")
"""


def check(outputs):
    text = "".join(output.get("text", "") for output in outputs)
    assert "the cell ends\n" in text and "tidemark" not in text, text
    (shown, plain), = [(output["data"]["text/html"], output["data"]["text/plain"]) for output in outputs
                       if output["output_type"] == "display_data"]
    for words in plain, shown:
        assert "All of the peak, 12.00 MiB, is at cell.py:2." in words, words[:2000]
    assert 'srcdoc="&lt;!doctype html&gt;' in shown, shown[:200]
    links = dict(re.findall('<a download="([^"]*)" href="data:[^;]*;base64,([^"]*)">', shown))
    assert list(links) == ["cell.html", "cell.json.gz"], list(links)
    assert b"<!doctype html>" in base64.b64decode(links["cell.html"])[:100]
    snapshot = json.loads(gzip.decompress(base64.b64decode(links["cell.json.gz"])))
    print(f"a notebook: the answer, a report of {len(base64.b64decode(links['cell.html']))} bytes inline and as a link, and "
          f"a snapshot of {len(snapshot['events']['action'])} events as a link")


with tempfile.TemporaryDirectory() as folder:
    copy = os.path.join(folder, "tidemark")
    shutil.copytree(PACKAGE, copy)
    os.makedirs(os.path.join(copy, "bin"))
    os.symlink(TIDEMARK, os.path.join(copy, "bin/tidemark"))
    os.environ["PYTHONPATH"] = folder
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in ("%load_ext tidemark", CELL)])
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    check(notebook.cells[1].outputs)
