"""Independent tools load every export: json with the rules of the trace event format, the grammar of folded stacks and
the csv module. The tests compare the figures with those that an independent reader finds in the snapshot, and with
`tidemark summary`.

The program is TIDEMARK_CLI.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from collections import Counter, defaultdict
from pathlib import Path

import snapshot_reader

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "snapshots"
CLI = os.environ["TIDEMARK_CLI"]
SHARED = Path(os.environ.get("TIDEMARK_SHARED", Path(__file__).resolve().parents[3] / "shared"))
TRAIN = "profile --device virtual --d-model 64 --layers 2 --heads 2 --warmup 1 --steps 2 --batch 2 --context 16".split()
OOM = "profile --device virtual --size small --memory-limit 600MiB --warmup 0 --steps 1".split()


def run(*arguments: object, status: int = 0) -> str:
    done = subprocess.run([CLI, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    return done.stdout if status == 0 else done.stderr


def export(path: Path, form: str, *options: object) -> str:
    return run("export", path, "--to", form, *options)


def series(snapshot: snapshot_reader.Snapshot, device: int) -> list[dict[str, int]]:
    """Totals before the first row of a device, then after each of its rows."""
    walk = snapshot_reader.Walk(snapshot, device)
    totals = [walk.totals()]
    for event in snapshot.events:
        if event["device"] == device:
            walk.apply(event)
            totals.append(walk.totals())
    return totals


def make_odd(path: Path) -> None:
    """A file that no run here can give: two devices, something alive before the first row, rows that do not fit, marks,
    names that every format must quote, two threads whose scopes contradict themselves, device times, open scopes."""
    none = {"stack": -1, "scope": -1, "category": 4, "name": -1}
    block = {"offset_bytes": 0, "block_bytes": 1024, "requested_bytes": 1000, "state": 1, **none}
    rest = {"offset_bytes": 1024, "block_bytes": 1024, "requested_bytes": 0, "state": 0, **none}
    columns = "time_delta action device address_delta requested_bytes block_bytes stream stack scope_delta category name".split()
    rows = [
        (5, 4, 0, 100, 4096, 4096, 0, -1, -1, 0, -1),  # a segment
        (5, 0, 0, 0, 4000, 4096, 0, 3, 1, 1, 4),  # a block in it
        (5, 9, 1, 0, 0, 0, 0, -1, 0, 0, 5),  # a mark
        (5, 1, 1, -60, 1000, 1024, 0, 1, 1, 4, -1),  # the block of the start
        (0, 1, 1, 0, 1000, 1024, 0, -1, 0, 4, -1),  # once more: it is not there
        (5, 6, 1, 900, 2048, 2048, 0, -1, 0, 0, -1),  # mapped
        (5, 0, 1, 0, 2000, 2048, 0, 2, 0, 5, 4),
        (5, 2, 1, 0, 2000, 2048, 0, -1, 0, 5, 4),  # other streams still use it
        (5, 8, 0, 0, 9999, 64, 0, 0, 0, 3, -1),  # out of memory
        (5, 3, 1, 0, 2000, 2048, 0, -1, 0, 5, 4),
        (5, 7, 1, 0, 2048, 2048, 0, -1, 0, 0, -1),  # unmapped
    ]
    begins = [0, 2, 3, 3, 4, 9, 10]
    scopes = {
        "parent": [-1, 0, -1, 1, 2, 3, 1],
        "kind": [0, 1, 4, 2, 3, 3, 2],
        "name": [0, 1, 2, 3, 4, 4, 3],
        "index": [7, -1, -1, 5, -1, -1, 6],
        "thread": [0, 0, 1, 0, 1, 0, 0],
        "begin_delta": [now - before for now, before in zip(begins, [0, *begins])],
        "duration": [-1, 90, 3, 3, 900, 400, -1],  # the fifth and the sixth outlast what is around them
        "device_begin": [-1, 10, -1, 12, -1, -1, 11],
        "device_duration": [-1, 50, -1, 200, -1, -1, 5],
    }
    document = {
        "format": "tidemark-snapshot",
        "version": 1,
        "clock": {"unit_ns": 1, "source": "monotonic"},
        "address_unit_bytes": 512,
        "devices": [{"kind": "cuda", "name": f"card <{i}>"} for i in range(2)],
        "streams": [{"device": 0, "handle": 0}],
        "strings": ["step", "forward", 'odd "name", with; all\nof it', 'a "layer"', "a,b;c\td", '"mark" here', "f", "d/f.c"],
        "frames": {"function": [6, -1, 2, 6], "file": [7, -1, -1, 7], "line": [3, 0, 9, 4], "inlined": [0, 0, 1, 0]},
        "stacks": {"parent": [-1, 0, 1, -1], "frame": [0, 1, 2, 3]},
        "scopes": scopes,
        "start": {"segments": [{"device": 1, "address": 40, "total_bytes": 2048, "stream": 0, "blocks": [block, rest]}]},
        "end": {"segments": []},
        "events": dict(zip(columns, map(list, zip(*rows)))),
    }
    free = {"offset_bytes": 0, "block_bytes": 2048, "requested_bytes": 0, "state": 0, **none}
    used = dict(block, block_bytes=4096, requested_bytes=4000, stack=3, scope=0, category=1, name=4)
    document["end"]["segments"] = [
        {"device": 1, "address": 40, "total_bytes": 2048, "stream": 0, "blocks": [free]},
        {"device": 0, "address": 100, "total_bytes": 4096, "stream": 0, "blocks": [used]},
    ]
    path.write_text(json.dumps(document))


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)
        cls.odd = cls.folder / "odd.json"
        make_odd(cls.odd)
        run(*TRAIN, "-o", cls.folder / "train.json.gz")
        run(*OOM, "-o", cls.folder / "oom.json.gz", status=3)
        cls.paths = [*sorted(GOLDEN.glob("*.json.gz")), cls.folder / "train.json.gz", cls.folder / "oom.json.gz", cls.odd]

    @classmethod
    def tearDownClass(cls) -> None:
        cls.temporary.cleanup()

    def each(self):
        for path in self.paths:
            with self.subTest(path.name):
                yield path, snapshot_reader.read(path)


class Perfetto(Files):
    def load(self, path: Path) -> list[dict]:
        document = json.loads(export(path, "perfetto"), parse_constant=self.fail)
        self.assertEqual(document["displayTimeUnit"], "ns")
        return document["traceEvents"]

    def test_the_rules_of_the_format(self) -> None:
        for path, _ in self.each():
            named, used, last = set(), set(), defaultdict(float)
            lanes: dict[tuple, list] = defaultdict(list)
            for event in self.load(path):
                phase, process, thread, time = event["ph"], event["pid"], event["tid"], event["ts"]
                self.assertIn(phase, "MBECi")
                self.assertTrue(isinstance(process, int) and isinstance(thread, int) and time >= 0)
                if phase == "M":
                    named.add((event["name"], process, thread))
                    self.assertTrue(event["args"]["name"])
                    continue
                lane = (process, event["name"]) if phase == "C" else (process, thread, phase in "BE")
                self.assertGreaterEqual(time, last[lane], "time goes back")
                last[lane] = time
                used.add(process)
                if phase == "B":
                    lanes[lane].append(event["name"])
                    self.assertIn(("thread_name", process, thread), named)
                elif phase == "E":
                    lanes[lane].pop()  # IndexError: nothing is open
                elif phase == "C":
                    self.assertTrue(event["args"] and all(isinstance(v, int) for v in event["args"].values()))
                else:
                    self.assertEqual(event["s"], "p")
            self.assertEqual([lane for lane in lanes.values() if lane], [], "slices that never end")
            self.assertEqual({process for process in used if ("process_name", process, 0) not in named}, set())

    def test_counters_are_the_totals(self) -> None:
        for path, snapshot in self.each():
            counters = defaultdict(list)
            for event in self.load(path):
                if event["ph"] == "C":
                    counters[event["pid"] - 2, event["name"]].append((event["ts"], event["args"]["bytes"]))
            for device in range(len(snapshot.document["devices"])):
                totals = series(snapshot, device)
                for name in ("allocated", "reserved"):
                    values = [n_bytes for _, n_bytes in counters.pop((device, name))]
                    wanted = [of[name] for of in totals]
                    steps = [b for a, b in zip([None, *wanted], wanted) if a != b]
                    self.assertEqual(values, steps)
            self.assertEqual(counters, {})

    def test_counters_agree_with_summary(self) -> None:
        for path, _ in self.each():
            tables = {key: t["rows"] for key, t in json.loads(run("summary", path, "--format", "json"))["tables"].items()}
            wanted = {row["quantity"]: (row["max_bytes"], row["end_bytes"]) for row in tables["maxima"]}
            counters = defaultdict(list)
            for event in self.load(path):
                if event["ph"] == "C":
                    counters[event["pid"], event["name"]].append(event["args"]["bytes"])
            main = max((key for key in counters if key[1] == "allocated"), key=lambda key: (max(counters[key]), -key[0]))[0]
            for name in ("allocated", "reserved"):
                values = counters[main, name]
                self.assertEqual((max(values), values[-1]), wanted[name])

    def test_slices_are_the_scopes(self) -> None:
        for path, snapshot in self.each():
            for is_device in (False, True):
                begun, spans = {}, {}
                lanes = defaultdict(list)
                for event in self.load(path):
                    if event["ph"] not in "BE" or (event["pid"] > 1) != is_device:
                        continue
                    lane = lanes[event["tid"]]
                    if event["ph"] == "B":
                        scope = event["args"]["scope"]
                        row = snapshot.scopes[scope]
                        self.assertEqual(event["name"], snapshot.label(scope))
                        self.assertEqual(event["cat"], snapshot.kinds[row["kind"]])
                        self.assertEqual(event["tid"], row["thread"] + 1)
                        around = [s for s in snapshot.around(row["parent"]) if s in begun or not is_device]
                        self.assertEqual(lane[-1:], [s for s in around if s in lane][:1])
                        begun[scope] = event["ts"]
                        lane.append(scope)
                    else:
                        scope = lane.pop()
                        spans[scope] = event["ts"] - begun[scope]
                begin, duration = ("device_begin", "device_duration") if is_device else ("begin", "duration")
                wanted = [i for i, row in enumerate(snapshot.scopes) if row[begin] >= 0 and row[duration] != -2]
                self.assertEqual(sorted(spans), wanted)
                for scope in wanted:
                    row = snapshot.scopes[scope]
                    if path == self.odd:  # whose scopes are cut to fit
                        if row[duration] >= 0:
                            self.assertLessEqual(spans[scope], row[duration] / 1000 + 1e-9)
                        continue
                    self.assertAlmostEqual(begun[scope], row[begin] / 1000, places=3)
                    if row[duration] >= 0:
                        self.assertAlmostEqual(spans[scope], row[duration] / 1000, places=3)

    def test_instants(self) -> None:
        for path, snapshot in self.each():
            told = defaultdict(list)
            for event in self.load(path):
                if event["ph"] == "i":
                    told[event["name"]].append((event["pid"] - 2, event["args"]))
            for device, args in told.pop("peak", []) + told.pop("highest kept", []):
                totals = series(snapshot, device)
                highest = max(of["allocated"] for of in totals)
                self.assertEqual(args["allocated_bytes"], highest)
            for device, args in told.pop("out of memory", []):
                event = snapshot.events[args["event"]]
                self.assertEqual((event["action"], event["device"]), ("oom", device))
                self.assertEqual(args["requested_bytes"], event["requested_bytes"])
            marks = Counter({name: len(rows) for name, rows in told.items()})
            wanted = Counter(snapshot.text(event["name"]) for event in snapshot.events if event["action"] == "mark")
            self.assertEqual(marks, wanted)

    def test_out_of_memory_is_there(self) -> None:
        names = [event["name"] for event in self.load(self.folder / "oom.json.gz") if event["ph"] == "i"]
        self.assertIn("out of memory", names)


class Folded(Files):
    LINE = re.compile(r"([^;]+(?:;[^;]+)*) ([1-9][0-9]*)")

    def load(self, path: Path, *options: object) -> list[tuple[list[str], int]]:
        lines = export(path, "folded", *options).split("\n")
        self.assertEqual(lines.pop(), "")
        matches = [self.LINE.fullmatch(line) for line in lines]
        self.assertNotIn(None, matches)
        return [(match[1].split(";"), int(match[2])) for match in matches]

    def test_the_peak_adds_up(self) -> None:
        for path, snapshot in self.each():
            peak = json.loads(run("summary", path, "--format", "json"))
            figures = peak["figures"]
            if figures["allocated_peak_bytes"] is None:
                self.assertTrue({"cut", "dropped"} & set(peak["sentences"]))
            else:
                self.assertEqual(figures["allocated_bytes"], figures["allocated_peak_bytes"])
            self.assertEqual(sum(n_bytes for _, n_bytes in self.load(path)), figures["allocated_bytes"])

    def test_every_instant_adds_up(self) -> None:
        for path, snapshot in self.each():
            for device in range(len(snapshot.document["devices"])):
                walk = snapshot_reader.Walk(snapshot, device)
                for row in range(-1, len(snapshot.events)):
                    if row >= 0 and snapshot.events[row]["device"] == device:
                        walk.apply(snapshot.events[row])
                    if row in (-1, 0, 3, 6, 100) or row == len(snapshot.events) - 1:
                        self.compare(path, snapshot, walk, row, device)

    def compare(self, path, snapshot, walk, row: int, device: int) -> None:
        wanted: Counter = Counter()
        for block in walk.blocks.values():
            if block["state"] == "allocated":
                depth = len(snapshot.frames_of(block["stack"])) or 1 + len(snapshot.path(block["scope"]).split(" > "))
                if block["stack"] < 0 and not snapshot.path(block["scope"]):
                    depth = 1
                wanted[depth] += block["block_bytes"]
        found: Counter = Counter()
        for frames, n_bytes in self.load(path, f"--at={row}", "--device", device):
            found[len(frames)] += n_bytes
        self.assertEqual(found, wanted, f"after row {row} on device {device}")

    def test_frames(self) -> None:
        self.assertEqual(
            self.load(self.odd, "--at=6", "--device", 1),
            [(["f (f.c:3)", "?", 'odd "name", with: all of it'], 2048)],
        )
        self.assertEqual(self.load(self.odd, "--at=-1", "--device", 1), [(["(no call stack)"], 1024)])


class Csv(Files):
    def load(self, path: Path) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(export(path, "csv"), newline=""), strict=True))

    def test_rows(self) -> None:
        for path, snapshot in self.each():
            rows = self.load(path)
            self.assertEqual(len(rows), len(snapshot.events))
            totals = {device: iter(series(snapshot, device)[1:]) for device in range(len(snapshot.document["devices"]))}
            for i, (row, event) in enumerate(zip(rows, snapshot.events)):
                self.assertNotIn(None, row)
                now = next(totals[event["device"]])
                step = [s for s in snapshot.around(event["scope"]) if snapshot.kinds[snapshot.scopes[s]["kind"]] == "step"]
                frame = snapshot.frames[snapshot.stacks[event["stack"]][1]] if event["stack"] >= 0 else (-1, -1, 0)
                wanted = {
                    "event": i,
                    "time_ns": event["time"],
                    "action": event["action"],
                    "device": event["device"],
                    "stream": event["stream"],
                    "address": "" if event["action"] in ("oom", "mark") else hex(event["address"]),
                    "requested_bytes": event["requested_bytes"],
                    "block_bytes": event["block_bytes"],
                    "allocated_bytes": now["allocated"],
                    "reserved_bytes": now["reserved"],
                    "category": event["category"],
                    "name": snapshot.text(event["name"]),
                    "step": snapshot.scopes[step[0]]["index"] if step else "",
                    "scope": snapshot.path(event["scope"]),
                    "stack": event["stack"],
                    "function": snapshot.text(frame[0]),
                    "file": snapshot.text(frame[1]),
                    "line": frame[2] or "",
                }
                self.assertEqual(row, {key: str(value) for key, value in wanted.items()})


class PyTorch(unittest.TestCase):
    """PyTorch's own snapshots, where they are here: four devices, no clock or a calendar's, memory from before."""

    def test_the_figures_are_those_of_summary(self) -> None:
        paths = sorted((SHARED / "pytorch-snapshots").glob("*.pickle"))
        if not paths:
            self.skipTest("no pytorch-snapshots in TIDEMARK_SHARED or beside the checkout")
        for path in paths:
            with self.subTest(path.name):
                tables = {key: t["rows"] for key, t in json.loads(run("summary", path, "--format", "json"))["tables"].items()}
                wanted = {row["quantity"]: (row["max_bytes"], row["end_bytes"]) for row in tables["maxima"]}
                counters = defaultdict(list)
                for event in json.loads(export(path, "perfetto"))["traceEvents"]:
                    if event["ph"] == "C":
                        counters[event["pid"], event["name"]].append(event["args"]["bytes"])
                main = max((max(values), -key[0]) for key, values in counters.items() if key[1] == "allocated")
                for name in ("allocated", "reserved"):
                    values = counters[-main[1], name]
                    self.assertEqual((max(values), values[-1]), wanted[name])
                lines = export(path, "folded").splitlines()
                self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in lines), wanted["allocated"][0])
                rows = list(csv.DictReader(io.StringIO(export(path, "csv"), newline=""), strict=True))
                self.assertEqual(max(int(row["allocated_bytes"]) for row in rows), wanted["allocated"][0])


class Output(Files):
    def test_files(self) -> None:
        plain, packed = self.folder / "x.csv", self.folder / "x.csv.gz"
        wanted = export(self.odd, "csv")
        run("export", self.odd, "--to", "csv", "-o", plain)
        run("export", self.odd, "--to", "csv", "-o", packed)
        self.assertEqual(plain.read_bytes().decode(), wanted)
        self.assertEqual(gzip.decompress(packed.read_bytes()).decode(), wanted)

    def test_a_failure_leaves_the_older_file(self) -> None:
        kept = self.folder / "kept.txt"
        kept.write_text("older")
        broken = self.folder / "broken.json"
        broken.write_text("{")
        run("export", broken, "--to", "csv", "-o", kept, status=1)
        run("export", self.odd, "--to", "folded", "--at=99", "-o", kept, status=2)
        self.assertEqual(kept.read_text(), "older")
        self.assertEqual([path.name for path in self.folder.iterdir() if "tmp" in path.name], [])


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
