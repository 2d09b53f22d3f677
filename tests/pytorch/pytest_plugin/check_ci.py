"""Compares a training program with its base branch by python -m tidemark.ci: check_ci.py TIDEMARK PYTHON"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[3] / "python"
PROGRAM = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 512)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    model(torch.randn(4096, 512, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
TIME = r"[\d.]+ ms \([\d.]+ to [\d.]+\)"


def run(tidemark, python, folder, *options):
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "TIDEMARK_CI_PROGRAM": tidemark}
    done = subprocess.run([python, "-m", "tidemark.ci", "--device", "virtual:rtx4090", "--fail-if",
                           "peak_allocated > +2%", "--fail-if", "time_step > +5%", *options, "--", python, "train.py"], cwd=folder, env=environment,
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stdout + done.stderr


def main():
    tidemark, python = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "train.py").write_text(PROGRAM)
        for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "base"]):
            subprocess.run(["git", *words], cwd=folder, check=True)
        (folder / "train.py").write_text(PROGRAM.replace("4096", "16384"))
        status, text, output = run(tidemark, python, folder, "--base-ref", "HEAD")
        assert status == 4, output
        # Four times the rows: the intervals do not overlap.
        assert re.search(rf"\n\| forecast of a step \| {TIME} \| {TIME} \| \+[\d.]+ % \|\n", text), output
        for row in ("peak allocated", "all"):
            assert f"\n| {row} | 152.29 MiB | 460.28 MiB | +307.99 MiB (+202.2 %) |\n" in text, output
        assert "\n**Peak by line**\n" in text and "\n- `time_step > +5%`: **fails**\n" in text, output
        for end in (".json.gz", ".launches"):
            (folder / f"tidemark-ci/head{end}").rename(folder / f"kept{end}")
        status, text, output = run(tidemark, python, folder, "--base", "kept.json.gz")
        assert status == 0 and "as before" in text and "\n- `time_step > +5%`: passes\n" in text, output
        assert re.search(rf"\n\| forecast of a step \| {TIME} \| {TIME} \| [+-][\d.]+ %; the intervals overlap \|\n", text), output
    print("a change of a training program is compared by memory and time, with a commit and with a kept file")


main()
