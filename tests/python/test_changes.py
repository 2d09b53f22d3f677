#!/usr/bin/env python3
"""Checks the places, lines and lists of changes of `tidemark plan`, without PyTorch: test_changes.py PACKAGES"""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, sys.argv[1])
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../plan/pairs"))
from tidemark import changes  # noqa: E402
from tidemark.changes import facts, lines, many, places, session, table  # noqa: E402
import twins  # noqa: E402

PROGRAM = '''import os
from sys import (
    argv,
)

class Model:
    def __init__(self):
        note(self)

def train():
    model = Model(
        *argv[9:],
    )
    with open(os.devnull):
        other = Model()
    step(model, other)

train()
'''


class ListsTest(unittest.TestCase):
    def test_a_list_has_names_and_arguments(self):
        self.assertEqual(session.parse("checkpoint:Block,fused"), [("checkpoint", "Block"), ("fused", "")])
        self.assertEqual(session.parse(" observe "), [])
        self.assertEqual(session.parse(None), [])

    def test_a_wrong_name_is_refused(self):
        self.assertIsNone(table.misnamed("checkpoint", "Block"))
        self.assertIsNone(table.misnamed("micro_batch", "4"))
        self.assertEqual(table.misnamed("chekpoint", "Block"), "no change has this name")
        self.assertEqual(table.misnamed("checkpoint", ""), "it needs a class after a colon")
        self.assertEqual(table.misnamed("fused", "Block"), "it takes nothing after a colon (Block)")
        for number in ("0", "1", "x", "2.5"):
            self.assertIn("no number from 2", table.misnamed("micro_batch", number))

    def test_each_change_has_one_row(self):
        names = [row.name for row in table.ROWS]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(len(names), 20)

    def test_a_refused_change_is_not_applied(self):
        now = session.Session([("fused", ""), ("checkpoint", "Block")])
        now.note_done("checkpoint", "Block", "4 modules Block", "lines", "train.py:3")
        now.refuse("checkpoint", "the test wants it so")
        self.assertEqual(now.did, {})
        self.assertIsNone(now.wants("checkpoint"))
        self.assertEqual(now.wants("fused"), "")
        self.assertIsNone(now.wants("bf16"))

    def test_nothing_happens_without_a_list(self):
        self.assertIsNone(session.now)
        changes.report()
        self.assertFalse(changes.marks_steps())


class LinesTest(unittest.TestCase):
    def test_lines_have_the_programs_names(self):
        self.assertEqual(lines.filled("{model}.forward = f({model})", model="self.net"), "self.net.forward = f(self.net)")
        self.assertEqual(lines.filled("for g in {optimizer}.param_groups:"), "for g in optimizer.param_groups:")

    def test_lines_at_several_places_name_each(self):
        parts = [("a = 1", "train.py:3"), ("b = 2\nc = 3", "before train.py:9")]
        text = facts._lines(parts)
        self.assertEqual(facts._lines(parts[:1]), "a = 1")
        self.assertEqual(twins.parts_of({"lines.x": text, "place.x": "train.py:3; before train.py:9"}, "x"),
                         [(place, code) for code, place in parts])

    def test_twins_have_the_lines_at_their_places(self):
        source = "def f():\n    a = g(\n        1)\n    return a\n"
        self.assertEqual(twins.insert(source, "f.py", [("f.py:3", "b = 2\n\nc = 3"), ("before f.py:2", "z = 0")]),
                         "def f():\n    z = 0\n    a = g(\n        1)\n    b = 2\n\n    c = 3\n    return a\n")
        with self.assertRaises(ValueError):
            twins.insert(source, "f.py", [("other.py:3", "b = 2")])


class PlacesTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.file = os.path.join(self.folder.name, "train.py")
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        self.made, self.names = {}, None
        names = {"note": self.note, "step": self.step, "__name__": "train"}
        exec(compile(PROGRAM, self.file, "exec"), names)

    def tearDown(self):
        self.folder.cleanup()

    def note(self, model):
        self.made[id(model)] = places.of_construction(model)

    def step(self, model, other):
        frame = sys._getframe(1)
        self.places = self.made[id(model)], self.made[id(other)], places.of_frame(frame)
        self.names = places.name_of(frame, model), places.name_of(frame, other), places.name_of(frame, self)

    def test_construction_is_outside_of_the_class(self):
        first, second, at = self.places
        self.assertEqual((first.line, first.function), (11, "train"))
        self.assertEqual(second.line, 15)
        self.assertEqual(at.line, 16)

    def test_lines_go_behind_a_whole_statement(self):
        first, second, at = self.places
        self.assertEqual(places.after(first), f"{self.file}:13")
        self.assertEqual(places.before(first), f"before {self.file}:11")
        self.assertEqual(places.after(second), f"{self.file}:15")
        header = places.Place(self.file, 14, "train")
        self.assertIsNone(places.after(header))
        self.assertEqual(places.before(header), f"before {self.file}:14")

    def test_variables_are_found(self):
        self.assertEqual(self.names, ("model", "other", None))
        self.assertEqual(places.assigned(self.places[0]), "model")
        self.assertIsNone(places.assigned(self.places[2]))

    def test_imports_end_with_their_last_line(self):
        self.assertEqual(places.imports_end(self.file), 4)

    def test_a_file_that_cannot_be_read_has_its_line(self):
        self.assertIsNone(places.after(places.Place("/no/such/file.py", 3, "f")))
        self.assertEqual(places.before(places.Place("/no/such/file.py", 3, "f")), "before /no/such/file.py:3")

    def test_libraries_are_not_the_program(self):
        self.assertFalse(places.is_own(os.__file__))
        self.assertFalse(places.is_own("/venv/lib/python3.11/site-packages/timm/models.py"))
        self.assertFalse(places.is_own(places.__file__))
        self.assertFalse(places.is_own("<frozen importlib._bootstrap>"))
        self.assertTrue(places.is_own(self.file))

    def test_locals_of_a_frame_are_not_kept(self):
        class Held:
            pass

        def function():
            held = Held()
            frame = sys._getframe()
            self.assertEqual(places.name_of(frame, held), "held")
            import weakref

            gone = weakref.ref(held)
            del held
            return gone() is None

        self.assertTrue(function())

    def test_imports_of_a_script_are_those_of_others(self):
        with open(os.path.join(self.folder.name, "own.py"), "w", encoding="utf-8"):
            pass
        with open(self.file, "w", encoding="utf-8") as file:
            file.write("from __future__ import annotations\nimport json, own\nfrom os import path\nfrom . import x\n"
                       "def f():\n    import pickle\n")
        self.assertEqual(many._imports(self.file), ["json", "os"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
