#!/usr/bin/env python3
"""Checks which lines of a program are reported with their text: test_source.py PACKAGES"""
import linecache
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, sys.argv[1])
from tidemark import source  # noqa: E402


class Log:
    """Replaces the library: frames in the order of the stacks, and the texts that were reported."""

    def __init__(self, frames):
        self.frames = frames
        self.texts = {}

    def line(self, number):
        return self.frames[number] if number < len(self.frames) else None

    def describe(self, key, value):
        assert key not in self.texts or key == "source.omitted", key
        self.texts[key] = value


class SourceTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, text, is_new=False):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        when = source._begin + (60 if is_new else -60)
        os.utime(path, (when, when))
        return str(path)

    def texts(self, *frames):
        log = Log(list(frames))
        source.Source(log).tell()
        return log.texts

    def test_each_line_once_without_its_indent(self):
        file = self.write("train.py", "x = 1\n    losses.append(loss)  \n\n")
        self.assertEqual(self.texts((file, 2), (file, 1), (file, 2), (file, 3), (file, 4), (file, 0)),
                         {f"source.whole.2.{file}": "losses.append(loss)", f"source.whole.1.{file}": "x = 1"})

    def test_only_new_lines_are_reported_again(self):
        file = self.write("train.py", "a\nb\n")
        log = Log([(file, 1)])
        lines = source.Source(log)
        lines.tell()
        log.frames.append((file, 2))
        lines.tell()
        self.assertEqual(log.texts, {f"source.whole.1.{file}": "a", f"source.whole.2.{file}": "b"})

    def test_long_lines_are_cut_between_characters(self):
        file = self.write("train.py", "x" * 199 + "\u00e9\u00e9\n" + "y" * 200 + "\n")
        self.assertEqual(self.texts((file, 1), (file, 2)),
                         {f"source.cut.1.{file}": "x" * 199, f"source.whole.2.{file}": "y" * 200})

    def test_lines_beyond_the_most_are_counted(self):
        n = source.MOST_LINES + 3
        file = self.write("train.py", "x\n" * n)
        texts = self.texts(*[(file, i + 1) for i in range(n)])
        self.assertEqual((len(texts), texts["source.omitted"]), (source.MOST_LINES + 1, 3))
        self.assertIn(f"source.whole.1.{file}", texts)

    def test_code_of_others_is_left_out(self):
        package = self.write("lib/site-packages/torch/nn/module.py", "x\n")
        system = self.write("dist-packages/other.py", "x\n")
        self.assertEqual(self.texts((package, 1), (system, 1), (os.__file__, 1), (source.__file__, 1),
                                   ("<frozen importlib>", 1), ("<string>", 1), ("/no/such/file.py", 1)), {})

    def test_a_file_that_was_changed_since_is_not_quoted(self):
        self.assertEqual(self.texts((self.write("train.py", "x\n", is_new=True), 1)), {})

    def test_a_cell_of_a_notebook_is_in_the_cache_of_lines(self):
        for file in ("<ipython-input-3-a1b2>", "/tmp/ipykernel_77/123.py"):
            linecache.cache[file] = (6, None, ["a = 1\n", "b = 2\n"], file)
            self.assertEqual(self.texts((file, 2)), {f"source.whole.2.{file}": "b = 2"})

    def test_a_file_without_text_is_no_fault(self):
        self.assertEqual(self.texts((self.write("bytes.py", b"\xff\xfe\x00"), 1)), {})

    def test_a_program_on_stdin_is_read_if_it_is_a_file(self):
        program = (f"import sys\nsys.path.insert(0, {sys.argv[1]!r})\nfrom tidemark import source\n"
                   "print(source.lines_of('<stdin>')[-1])\n# the end")
        path = self.write("program", program)
        with open(path, "rb") as file:
            from_file = subprocess.run([sys.executable, "-"], stdin=file, capture_output=True, check=True)
        self.assertEqual(from_file.stdout, b"# the end\n")
        from_pipe = subprocess.run([sys.executable, "-"], input=program.replace("[-1]", "").encode(),
                                   capture_output=True, check=True)
        self.assertEqual(from_pipe.stdout, b"[]\n")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
