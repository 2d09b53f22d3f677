"""The pictures of a run: the SVG is XML with the figures of the summary and the curve of its events, the PNG decodes,
and both show the same. The readers use only Python's standard library."""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
import zlib

CLI = os.environ["TIDEMARK_CLI"]
SHARED = os.path.join(os.path.dirname(__file__), "../../../shared/pytorch-snapshots")
SVG = "{http://www.w3.org/2000/svg}"
COLOURS = {
    "parameter": "#0072b2",
    "optimizer_state": "#cc79a7",
    "gradient": "#e69f00",
    "input": "#56b4e9",
    "workspace": "#d55e00",
    "weight_copy": "#651b4a",
    "kv_cache": "#73ecbd",
    "activation": "#009e73",
    "temporary": "#f0e442",
    "unknown": "#696969",
}


def tidemark(*arguments):
    return subprocess.run([CLI, *arguments], check=True, capture_output=True, text=True).stdout


def read_png(path):
    """Width, height and rows of (red, green, blue)."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed, kinds = 8, b"", []
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        (check,) = struct.unpack(">I", data[at + 8 + size : at + 12 + size])
        assert zlib.crc32(kind + body) == check
        kinds.append(kind)
        if kind == b"IHDR":
            width, height, depth, colour, *rest = struct.unpack(">IIBBBBB", body)
            assert (depth, colour, rest) == (8, 2, [0, 0, 0])
        if kind == b"IDAT":
            packed += body
        at += 12 + size
    assert kinds[0] == b"IHDR" and kinds[-1] == b"IEND"
    raw = zlib.decompress(packed)
    stride = 3 * width
    assert len(raw) == height * (stride + 1)
    above, rows = bytes(stride), []
    for y in range(height):
        line = bytearray(raw[y * (stride + 1) + 1 : (y + 1) * (stride + 1)])
        kind = raw[y * (stride + 1)]
        for i in range(stride):
            before = line[i - 3] if i >= 3 else 0
            line[i] = (line[i] + [0, before, above[i]][kind]) & 255
        above = bytes(line)
        rows.append([tuple(line[i : i + 3]) for i in range(0, stride, 3)])
    return width, height, rows


def subpaths(path):
    """The corners of each closed part of a path of M, h, v and l."""
    parts = []
    for part in path.strip("z").split("z"):
        x = y = 0.0
        points = []
        for command, numbers in re.findall(r"([Mhvl])([^Mhvlz]*)", part):
            values = [float(n) for n in numbers.split()]
            if command == "M":
                x, y = values
            elif command == "h":
                x += values[0]
            elif command == "v":
                y += values[0]
            else:
                x, y = x + values[0], y + values[1]
            points.append((x, y))
        parts.append(points)
    return parts


def top_at(path, x):
    """The row of an area's top over a place; None if the area is not there."""
    best = None
    for points in subpaths(path):
        for (x0, y0), (x1, y1) in zip(points, points[1:]):
            if y0 == y1 and x0 < x < x1 and (best is None or y0 < best):
                best = y0
    return best


class Picture:
    """A parsed SVG."""

    def __init__(self, path):
        self.root = ElementTree.parse(path).getroot()
        self.texts = [text.text for text in self.root.iter(SVG + "text")]
        self.at = {text.text: (float(text.get("x")), float(text.get("y"))) for text in self.root.iter(SVG + "text")}
        self.areas = [
            (path.get("fill"), path.get("d")) for path in self.root.iter(SVG + "path") if path.get("stroke") is None
        ]
        self.bands = [area for area in self.areas if area[1].count("l") == 0]
        self.rects = [{key: float(r.get(key, 0)) for key in ("x", "y", "width", "height")} for r in self.root.iter(SVG + "rect")]

    def plot(self):
        """Left side, width and the row of 0 bytes: those of the lowest line of the grid."""
        line = max((r for r in self.rects if r["height"] == 1 and r["width"] > 100), key=lambda r: r["y"])
        return line["x"], line["width"], line["y"]


def curve_of(snapshot):
    """Bytes by category after each event of a file of our own without a start and with one device."""
    events, names = snapshot["events"], snapshot["categories"]
    now, states = {}, [{}]
    for action, block, category in zip(events["action"], events["block_bytes"], events["category"]):
        word = snapshot["actions"][action] if "actions" in snapshot else action
        if word in ("alloc", 0):
            now[names[category]] = now.get(names[category], 0) + block
        elif word in ("free", 1):
            now[names[category]] -= block
        states.append(dict(now))
    return states


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        os.chdir(cls.folder.name)
        tidemark("profile", "--device", "virtual", "--layers", "2", "--warmup", "1", "--steps", "2", "-o", "run.json")
        with open("run.json", encoding="utf-8") as file:
            cls.snapshot = json.load(file)

    @classmethod
    def tearDownClass(cls):
        os.chdir("/")
        cls.folder.cleanup()

    def test_the_svg_has_the_figures_of_the_summary(self):
        tidemark("picture", "run.json", "-o", "run.svg")
        picture = Picture("run.svg")
        peak = json.loads(tidemark("summary", "run.json", "--format", "json"))["figures"]["allocated_peak_bytes"]
        text = f"{peak / 2**20:.2f} MiB"
        self.assertIn(f"run.json: peak {text}", picture.texts)
        self.assertIn(f"peak {text}", picture.texts)
        states = curve_of(self.snapshot)
        best = max(states, key=lambda state: sum(state.values()))
        self.assertEqual(sum(best.values()), peak)
        self.assertIn(f"{best['parameter'] / 2**20:.2f} MiB", picture.texts)

    def test_each_column_is_the_highest_state_of_its_events(self):
        tidemark("picture", "run.json", "-o", "run.svg", "--width", "500", "--height", "700")
        picture = Picture("run.svg")
        left, width, bottom = picture.plot()
        states = curve_of(self.snapshot)
        totals = [sum(state.values()) for state in states]
        n = len(states) - 1
        highest = max(totals)
        # The uppermost band is drawn first; its area reaches down to the axis.
        tops = [min((top_at(d, left + c + 0.5) for _, d in picture.bands if top_at(d, left + c + 0.5)), default=bottom)
                for c in range(int(width))]
        top = min(tops)
        for c in range(int(width)):
            first = c * n // int(width)
            last = -((-(c + 1) * n) // int(width))
            expected = max(totals[first + 1 : last + 1] + ([totals[0]] if c == 0 else []))
            self.assertAlmostEqual((bottom - tops[c]) / (bottom - top), expected / highest, delta=0.001, msg=f"column {c}")

    def test_both_files_show_the_same_bands(self):
        for theme in "light", "dark":
            arguments = ["run.json", "--width", "420", "--theme", theme]
            tidemark("picture", *arguments, "-o", "run.svg")
            tidemark("picture", *arguments, "-o", "run.png")
            tidemark("picture", *arguments, "-o", "large.png", "--scale", "2")
            picture = Picture("run.svg")
            width, height, rows = read_png("run.png")
            self.assertEqual([picture.root.get("width"), picture.root.get("height")], [str(width), str(height)])
            self.assertEqual(read_png("large.png")[:2], (2 * width, 2 * height))
            left, n, bottom = picture.plot()
            background = tuple(bytes.fromhex("ffffff" if theme == "light" else "181b21"))
            self.assertEqual(rows[0][0], background)
            checked = 0
            for c in range(0, int(n), 7):
                # From the top band to the bottom one: each is seen from its top to the next one's.
                tops = [(top_at(d, left + c + 0.5), colour) for colour, d in picture.bands]
                tops = [(y, colour) for y, colour in tops if y is not None] + [(bottom, "")]
                for (y, colour), (end, _) in zip(tops, tops[1:]):
                    if end - y < 40:
                        continue
                    seen = rows[int(y) + 35][int(left) + c]
                    self.assertEqual(seen, tuple(bytes.fromhex(colour[1:])), f"column {c}")
                    checked += 1
            self.assertGreater(checked, 20)

    def test_scopes_lie_below_the_events_that_they_span(self):
        tidemark("picture", "run.json", "-o", "run.svg")
        tidemark("picture", "run.json", "-o", "without.svg", "--no-scopes")
        picture, without = Picture("run.svg"), Picture("without.svg")
        self.assertFalse({"step", "phase", "layer"} & set(without.texts))
        left, width, _ = picture.plot()
        scopes, events = self.snapshot["scopes"], self.snapshot["events"]
        names, kinds = self.snapshot["strings"], ("step", "phase", "layer")
        scope_of, now = [], 0
        for delta in events["scope_delta"]:
            now += delta
            scope_of.append(now)
        n_checked = 0
        for kind in kinds:
            self.assertIn(kind, picture.texts)
            row = [r for r in picture.rects if r["height"] == 14 and abs(r["y"] + 11 - picture.at[kind][1]) < 0.1]
            for s, of_kind in enumerate(scopes["kind"]):
                if of_kind not in (kind, ("step", "phase", "layer").index(kind)):
                    continue
                inside = [e for e, scope in enumerate(scope_of) if self.is_within(scopes, scope, s)]
                if not inside:
                    continue
                x0 = left + width * inside[0] / len(scope_of)
                x1 = left + width * (inside[-1] + 1) / len(scope_of)
                if x1 - x0 < 5:
                    continue
                found = [r for r in row if abs(r["x"] - x0) <= 1 and abs(r["x"] + r["width"] - x1) <= 2.1]
                self.assertEqual(len(found), 1, (kind, names[scopes["name"][s]], x0, x1, row))
                n_checked += 1
        self.assertGreater(n_checked, 15)

    @staticmethod
    def is_within(scopes, scope, around):
        while scope > around:
            scope = scopes["parent"][scope]
        return scope == around

    def test_the_note_says_how_categories_are_known(self):
        path = os.path.join(SHARED, "medium_fp32_ctx128_training.pickle")
        if not os.path.exists(path):
            self.skipTest("the shared pickles are absent")
        tidemark("picture", path, "-o", "run.svg")
        table = json.loads(tidemark("summary", path, "--table", "by_certainty", "--format", "json"))
        rows = {row["certainty"]: row["bytes"] for row in table["tables"]["by_certainty"]["rows"]}
        text = f"Categories at the peak: {rows['by rule'] / 2**30:.2f} GiB are known by rule, {rows['unknown']} B are unknown."
        self.assertIn(text, Picture("run.svg").texts)

    def test_hidden_categories_are_gone(self):
        tidemark("picture", "run.json", "-o", "run.svg", "--hide", "parameter", "--hide", "optimizer state")
        picture = Picture("run.svg")
        colours = {colour for colour, _ in picture.bands}
        self.assertNotIn(COLOURS["parameter"], colours)
        self.assertNotIn(COLOURS["optimizer_state"], colours)
        self.assertIn(COLOURS["activation"], colours)
        highest = max(
            sum(value for key, value in state.items() if key not in ("parameter", "optimizer_state"))
            for state in curve_of(self.snapshot)
        )
        self.assertIn(f"run.json: peak of what is shown {highest / 2**20:.2f} MiB", picture.texts)
        self.assertTrue(any(text.startswith("Not shown: parameters") for text in picture.texts))

    def test_hostile_names_are_text(self):
        strange = "</text><script>\x1b[31m & 'x'"
        name = '</title><g onload="alert(1)">.json'.replace("/", "_")
        snapshot = json.loads(json.dumps(self.snapshot))
        snapshot["categories"][snapshot["categories"].index("activation")] = strange
        with open(name, "w", encoding="utf-8") as file:
            json.dump(snapshot, file)
        tidemark("picture", name, "-o", "run.svg")
        picture = Picture("run.svg")
        kinds = {element.tag.replace(SVG, "") for element in picture.root.iter()}
        self.assertLessEqual(kinds, {"svg", "title", "desc", "rect", "path", "text"})
        self.assertIn(strange.replace("\x1b", "\ufffd"), picture.texts)
        self.assertTrue(picture.texts[0].startswith(name[:20]))
        attributes = {key for element in picture.root.iter() for key in element.keys()}
        self.assertFalse({key for key in attributes if key.startswith("on") or "href" in key})
        tidemark("picture", name, "-o", "run.png")
        read_png("run.png")

    def test_pickles_are_drawn_by_category_and_by_line(self):
        path = os.path.join(SHARED, "medium_fp32_ctx128_training.pickle")
        if not os.path.exists(path):
            self.skipTest("the shared pickles are absent")
        tidemark("picture", path, "-o", "run.svg", "--by", "line")
        picture = Picture("run.svg")
        self.assertIn("torch::autograd::AccumulateGrad::apply", picture.texts)
        self.assertIn("medium_fp32_ctx128_training.pickle: peak 6.54 GiB", picture.texts)
        self.assertIn("time", picture.texts)
        self.assertLess(os.path.getsize("run.svg"), 60000)
        tidemark("picture", path, "-o", "run.svg", "--x", "event")
        picture = Picture("run.svg")
        self.assertIn("event", picture.texts)
        self.assertIn("gradients", picture.texts)
        self.assertIn(COLOURS["gradient"], {colour for colour, _ in picture.bands})


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    sys.exit(0 if result.wasSuccessful() else 1)
