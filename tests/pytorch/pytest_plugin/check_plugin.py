"""Runs project_test.py with the pytest plugin, and compares outcomes and figures: check_plugin.py TIDEMARK PYTHON

PYTHON has PyTorch, pytest and pytest-xdist.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parents[2] / "python"
MIB = 1 << 20
# Outcome, peak in MiB, line of the peak. cuBLAS has a workspace of 32 MiB, the layer 4 MiB. 256 rows have 1 MiB, and their
# product 1 MiB: 38 MiB. 1024 rows have 4 MiB, and their product 4 MiB: 44 MiB.
EXPECTED = {
    "test_forward[256]": ("passed", 38, None),
    "test_forward[1024]": ("failure", 44, None),
    "test_limit_is_reached": ("passed", 40, "fill (test_project.py:12)"),
    "test_limit_is_passed": ("failure", 42, "fill (test_project.py:12)"),
    "test_reserved": ("failure", 20, "fill (test_project.py:12)"),
    "test_out_of_memory": ("failure", 0, None),
    "test_files_are_kept_away": ("passed", 0, ""),
    "test_runs_where_a_gpu_is_needed": ("passed", 5, "fill (test_project.py:12)"),
    "test_unknown_card": ("error", None, None),
    "test_unmarked": ("passed", None, None),
}
WORDS = ("42.00 MiB of GPU memory allocated at the peak on virtual:h100-80: 2.00 MiB more than the limit of 40.00 MiB\n",
         "All of the peak, 42.00 MiB, is at fill (test_project.py:12).",
         "20.00 MiB of GPU memory reserved at the peak on virtual:a100-40: 1.00 MiB more than the limit of 19.00 MiB",
         "torch.OutOfMemoryError", "none-80",
         "test_project.py::test_limit_is_reached: 40.00 MiB allocated on virtual:h100-80 (limit 40.00 MiB), 40.00 MiB at "
         "fill (test_project.py:12)\n")


def run(tidemark, python, folder, *options):
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "TIDEMARK_PYTEST_PROGRAM": tidemark, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([python, "-m", "pytest", "-p", "tidemark.pytest_plugin", "--tidemark", "--junitxml=all.xml",
                           "-p", "no:cacheprovider", *options], cwd=folder, env=environment, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False)
    output = done.stdout + done.stderr
    cases = {}
    for case in xml.etree.ElementTree.parse(folder / "all.xml").iter("testcase"):
        kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        figures = {figure.get("name"): figure.get("value") for figure in case.iter("property")}
        cases[case.get("name")] = (kinds[0] if kinds else "passed", figures)
    return output, cases


def check(output, cases):
    assert list(sorted(cases)) == list(sorted(EXPECTED)), output
    for name, (outcome, peak, place) in EXPECTED.items():
        found, figures = cases[name]
        assert found == outcome, (name, found, output)
        if peak is not None:
            assert figures["tidemark_peak_bytes"] == str(peak * MIB), (name, figures, output)
        if place is not None:
            assert figures["tidemark_place"] == place, (name, figures)
    for words in WORDS:
        assert words in output, (words, output)


def check_page(tidemark, python, folder):
    """The page's test prints what the page shows."""
    page = (HERE.parents[2] / "docs/guide/pytest.md").read_text()
    program, shown = re.search(r"```python\n(.*?)```\n+```\n(.*?)```", page, re.DOTALL).groups()
    folder.mkdir()
    (folder / "test_limits.py").write_text(program)
    output, _ = run(tidemark, python, folder)
    assert shown in output, output


def main():
    tidemark, python = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(HERE / "project_test.py", folder / "test_project.py")
        check(*run(tidemark, python, folder))
        assert (folder / "counted.txt").read_text() == "x", "a fixture of a marked test wrote a file"
        output, cases = run(tidemark, python, folder, "-n", "2", "--dist", "loadfile")
        check(output, cases)
        assert not (folder / "written.txt").exists(), "a marked test wrote a file"
        output, cases = run(tidemark, python, folder, "-x", "-k", "limit_is", "--tidemark-folder", "kept")
        assert [cases[name][0] for name in cases] == ["passed", "failure"], output
        kept = sorted(path.name for path in (folder / "kept").iterdir())
        assert kept == ["test_project.py-test_limit_is_passed.json.gz", "test_project.py-test_limit_is_reached.json.gz"], kept
        check_page(tidemark, python, folder / "page")
    print(f"{len(EXPECTED)} tests with limits, alone and with two workers, have their outcomes and peaks")


main()
