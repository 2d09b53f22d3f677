"""The check finds lines that are written twice, and no tables and includes."""
import pathlib
import tempfile
import unittest

import check_duplicates

CODE = "".join(f"    total = total + {name} * weight_of_{name};\n" for name in "abcdefghijkl")
TABLE = "".join(f"    {{.name = \"{name}\", .bytes = {i}}},\n" for i, name in enumerate("abcdefghijklmnop"))


class CheckDuplicates(unittest.TestCase):
    def found(self, one, other):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "one.c").write_text(one)
            (root / "other.c").write_text(other)
            return list(check_duplicates.findings(root, ["one.c", "other.c"]))

    def test_equal_lines(self):
        sentence, = self.found(f"int first(void) {{\n{CODE}}}\n", f"long another;\nlong second(void) {{\n{CODE}}}\n")
        self.assertEqual(sentence, "one.c:1: 12 lines are equal to those at other.c:2: write them once")

    def test_one_line_fewer(self):
        fewer = CODE.split("\n", 1)[1]
        self.assertEqual(self.found(f"int first(void) {{\n{fewer}}}\n", f"long second(void) {{\n{fewer}}}\n"), [])

    def test_tables(self):
        self.assertEqual(self.found(f"first list[] = {{\n{TABLE}}};\n", f"second all[] = {{\n{TABLE}}};\n"), [])


if __name__ == "__main__":
    unittest.main()
