"""The tables of `tidemark export --to parquet`, read by a reader of our own (parquet_reader.py, the standard library alone),
compared with the other export of the same events and with `tidemark summary`. tests/engines reads them with engines.

The program is TIDEMARK_CLI.
"""

from __future__ import annotations

import csv
import io
import json
import os
import random
import re
import stat
import subprocess
import tempfile
import unittest
from collections import Counter, defaultdict
from pathlib import Path

import parquet_reader
import test_exports
from test_exports import GOLDEN, TRAIN, run

DOCS = Path(__file__).resolve().parents[2] / "docs" / "reference" / "engines.md"
TABLES = ["blocks", "devices", "events", "frames", "groups", "scopes", "segments", "stacks", "steps"]
TYPES = {parquet_reader.INT64: "int64", parquet_reader.INT32: "int32", parquet_reader.BYTE_ARRAY: "string", parquet_reader.BOOLEAN: "boolean"}
LONG = "profile --device virtual --d-model 32 --layers 4 --heads 2 --warmup 1 --steps 700 --batch 1 --context 8".split()
EXPANDABLE = "profile --device virtual --size small --warmup 0 --steps 2 --alloc-conf expandable_segments:True".split()


def export(path: Path, folder: Path, *options: object, status: int = 0) -> str:
    return run("export", path, "--to", "parquet", "-o", folder, *options, status=status)


def make_interleaved(path: Path) -> None:
    """Steps of two threads by turns, highest between their events; and a part is unmapped from the middle of two pieces."""
    mebi = 1 << 20
    rows = [  # time, action, address, bytes, scope
        (1, 6, 0, 8 * mebi, -1),  # segment_map
        (2, 6, 8 * mebi, 8 * mebi, -1),
        (3, 0, 0, mebi, 0),  # step 0 of thread 0
        (4, 0, mebi, mebi, 1),  # step 1 of thread 1
        (5, 0, 2 * mebi, mebi, -1),
        (6, 1, 2 * mebi, mebi, -1),
        (7, 1, 0, mebi, 0),
        (8, 1, mebi, mebi, 1),
        (9, 0, 0, mebi, 3),  # step 2 of thread 0, within its phase
        (10, 0, mebi, mebi, -1),
        (11, 1, mebi, mebi, -1),
        (12, 1, 0, mebi, 2),
        (13, 7, 6 * mebi, 4 * mebi, -1),  # segment_unmap
        (14, 7, 0, 2 * mebi, -1),
    ]
    columns = {name: [row[i] for row in rows] for i, name in enumerate(("time_delta", "action", "address_delta", "block_bytes", "scope_delta"))}
    for name in ("time_delta", "address_delta", "scope_delta"):
        columns[name] = [now - before for now, before in zip(columns[name], [0, *columns[name]])]
    empty = {"stack": -1, "category": 0, "name": -1, "device": 0, "stream": 0}
    columns |= {"requested_bytes": columns["block_bytes"], **{name: [value] * len(rows) for name, value in empty.items()}}
    scopes = {"parent": [-1, -1, -1, 2], "kind": [0, 0, 0, 1], "name": [0, 0, 0, 1], "index": [0, 1, 2, -1], "thread": [0, 1, 0, 0]}
    scopes |= {"begin_delta": [2, 2, 5, 0], "duration": [5, 5, -1, 1], "device_begin": [-1] * 4, "device_duration": [-1] * 4}
    free = {"requested_bytes": 0, "state": 0, "stack": -1, "scope": -1, "category": 0, "name": -1, "offset_bytes": 0}
    end = [
        {"device": 0, "address": at, "total_bytes": n, "stream": 0, "is_expandable": True, "blocks": [{**free, "block_bytes": n}]}
        for at, n in ((2 * mebi, 4 * mebi), (10 * mebi, 6 * mebi))
    ]
    document = {"format": "tidemark-snapshot", "version": 1, "address_unit_bytes": 1, "devices": [{"kind": "cuda", "name": ""}]}
    document |= {"streams": [{"device": 0, "handle": 0}], "strings": ["step", "forward"], "scopes": scopes, "events": columns}
    document |= {"frames": {name: [] for name in ("function", "file", "line", "inlined")}, "stacks": {"parent": [], "frame": []}}
    path.write_text(json.dumps({**document, "start": {"segments": []}, "end": {"segments": end}}))


def is_alive(block: dict, event: int) -> bool:
    return block["birth_event"] <= event and (block["free_event"] is None or block["free_event"] > event)


class Parquet(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        test_exports.Files.setUpClass.__func__(cls)
        run(*EXPANDABLE, "-o", cls.folder / "expandable.json.gz")
        make_interleaved(cls.folder / "interleaved.json")
        cls.paths += [cls.folder / "interleaved.json", cls.folder / "expandable.json.gz", GOLDEN / "three-devices.pickle"]
        cls.tables = {}
        for path in cls.paths:
            export(path, cls.folder / f"{path.name}.tables" / "run=a b" / "rank=7")
            cls.tables[path] = parquet_reader.read(cls.folder / f"{path.name}.tables" / "run=a b" / "rank=7")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.temporary.cleanup()

    def each(self):
        for path, tables in self.tables.items():
            with self.subTest(path.name):
                yield path, tables

    def test_every_file_says_what_it_is(self) -> None:
        for _, tables in self.each():
            self.assertEqual(sorted(tables), TABLES)
            for name, table in tables.items():
                self.assertEqual(table.name, name)
                self.assertEqual(table.keys, {"tidemark.format": "tidemark-parquet", "tidemark.version": "1"})
                self.assertRegex(table.created_by, r"^tidemark version \d+$")

    def test_the_columns_are_those_of_the_page(self) -> None:
        page = DOCS.read_text()
        self.assertIn("`tidemark.version` is `1`", page)
        tables = self.tables[self.paths[0]]
        for name, table in tables.items():
            section = page.split(f"\n### {name}\n")[1].split("\n#")[0]
            stated = re.findall(r"^\| `(\w+)` \| (int64|int32|string|boolean)(, null)? \|", section, re.M)
            self.assertEqual(stated, [(c, TYPES[table.kinds[c]], ", null" if table.optional[c] else "") for c in table.columns])

    def test_events_are_those_of_the_other_export(self) -> None:
        for path, tables in self.each():
            rows = list(csv.DictReader(io.StringIO(run("export", path, "--to", "csv"))))
            events = tables["events"].records()
            self.assertEqual(len(rows), len(events))
            for row, event in zip(rows, events):
                for name in ("event", "time_ns", "device", "stream", "allocated_bytes", "reserved_bytes"):
                    self.assertEqual(int(row[name]), event[name], (row, event))
                self.assertEqual(row["action"], event["action"])
                self.assertEqual(row["name"], event["name"] or "")
                self.assertEqual(row["step"], "" if event["step"] is None else str(event["step"]))
                self.assertEqual(row["address"], "" if event["address"] is None else hex(event["address"]))
                self.assertEqual(int(row["stack"]), -1 if event["stack"] is None else event["stack"])
                sized = event["action"] not in ("oom", "mark")
                self.assertEqual(event["requested_bytes"], None if event["action"] == "mark" else int(row["requested_bytes"]))
                self.assertEqual(event["block_bytes"], int(row["block_bytes"]) if sized else None)
                self.assertEqual(event["free_bytes"], int(row["block_bytes"]) if event["action"] == "oom" and int(row["block_bytes"]) < 2**63 - 1 else None)
                self.assertEqual(event["category"], row["category"] if event["action"].split("_")[0] in ("alloc", "free") else None)
                frame = tables["frames"].records()[tables["stacks"].rows["frame"][event["stack"]]] if event["stack"] is not None else {}
                self.assertEqual((row["function"], row["file"], row["line"]), (frame.get("function") or "", frame.get("file") or "", str(frame.get("line") or "")))
                path_of = tables["scopes"].rows["path"][event["scope"]] if event["scope"] is not None else None
                self.assertEqual(row["scope"], path_of or "")

    def test_sums_are_those_of_summary(self) -> None:
        for path, tables in self.each():
            actions = Counter(zip(tables["events"].rows["device"], tables["events"].rows["action"]))
            for device in tables["devices"].records():
                number = device["device"]
                summary = json.loads(run("summary", path, "--device", number, "--format", "json"))
                figures = summary["figures"]
                if figures["allocated_peak_bytes"] is None:  # events are missing, and with them the peak
                    self.assertTrue({"cut", "dropped"} & set(summary["sentences"]))
                    continue
                self.assertEqual(device["n_events"], sum(n for (d, _), n in actions.items() if d == number))
                for name in ("requested", "allocated", "active", "reserved"):
                    highest = device["peak_allocated_bytes" if name == "allocated" else f"max_{name}_bytes"]
                    self.assertEqual(highest, figures[f"{name}_peak_bytes"])
                self.assertEqual(device["peak_event"], -1 if figures["event"] is None else figures["event"])
                self.assertEqual(device["end_allocated_bytes"], figures["allocated_end_bytes"])
                self.assertEqual(device["end_reserved_bytes"], figures["reserved_end_bytes"])
                self.assertEqual(device["peak_reserved_bytes"], figures["reserved_bytes"])
                self.assertEqual(actions[number, "oom"], figures["ooms"])
                alive = [b for b in tables["blocks"].records() if b["device"] == number and is_alive(b, device["peak_event"])]
                self.assertEqual((sum(b["block_bytes"] for b in alive), len(alive)), (device["peak_allocated_bytes"], device["peak_blocks"]))
                by_category = defaultdict(lambda: [0, 0, 0])
                for block in alive:
                    for i, n in enumerate((block["block_bytes"], block["requested_bytes"], 1)):
                        by_category[block["category"]][i] += n
                stated = {r["category"]: [r["bytes"], r["requested_bytes"], r["blocks"]] for r in summary["tables"].get("by_category", {"rows": []})["rows"]}
                if stated:  # where no category is known, the summary has no such table
                    self.assertEqual(dict(by_category), {name: sums for name, sums in stated.items() if sums[2] > 0})
                else:
                    self.assertLessEqual(set(by_category), {"unknown"})

    def test_blocks_and_events_point_to_each_other(self) -> None:
        for _, tables in self.each():
            events = tables["events"].records()
            blocks = {block["block"]: block for block in tables["blocks"].records()}
            self.assertEqual(sorted(blocks), list(range(len(blocks))))
            for event in events:
                if event["block"] is not None:
                    block = blocks[event["block"]]
                    self.assertEqual((block["address"], block["device"]), (event["address"], event["device"]))
                    column = {"alloc": "birth_event", "free": "death_event", "free_completed": "death_event"}.get(event["action"], "free_event")
                    self.assertEqual(block[column], event["event"])
                    self.assertEqual(block[column.replace("event", "ns")], event["time_ns"])
            for block in blocks.values():
                self.assertEqual(block["birth_ns"] is None, block["birth_event"] == -1)
                last = block["death_event"]
                self.assertTrue(last is None or block["free_event"] <= last)

    def test_segments_add_up_to_what_is_reserved(self) -> None:
        for path, tables in self.each():
            if path == self.odd:
                continue  # its rows contradict each other
            changes: dict[tuple, int] = defaultdict(int)
            for segment in tables["segments"].records():
                changes[segment["device"], segment["birth_event"]] += segment["total_bytes"]
                if segment["death_event"] is not None:
                    changes[segment["device"], segment["death_event"]] -= segment["total_bytes"]
            now = {device: changes[device, -1] for device in tables["devices"].rows["device"]}
            for event in tables["events"].records():
                now[event["device"]] += changes[event["device"], event["event"]]
                self.assertEqual(now[event["device"]], event["reserved_bytes"], event)

    def test_steps_are_those_of_their_events(self) -> None:
        for path, tables in self.each():
            scopes = tables["scopes"].records()

            def outermost(scope: int | None) -> int | None:
                found = None
                while scope is not None:
                    found = scope if scopes[scope]["kind"] == "step" else found
                    scope = scopes[scope]["parent"]
                return found

            for device in tables["devices"].rows["device"]:
                events = [event for event in tables["events"].records() if event["device"] == device]
                rows: dict[int, list[int]] = defaultdict(list)
                for i, event in enumerate(events):
                    if (step := outermost(event["scope"])) is not None:
                        rows[step].append(i)
                steps = [step for step in tables["steps"].records() if step["device"] == device]
                self.assertEqual([step["scope"] for step in steps], list(rows))
                for step in steps:
                    within = events[rows[step["scope"]][0] : rows[step["scope"]][-1] + 1]
                    self.assertEqual((step["first_event"], step["last_event"]), (within[0]["event"], within[-1]["event"]))
                    self.assertEqual((step["begin_ns"], step["end_ns"]), (within[0]["time_ns"], within[-1]["time_ns"]))
                    self.assertEqual(step["n_events"], len(rows[step["scope"]]))
                    self.assertEqual(step["peak_allocated_bytes"], max(event["allocated_bytes"] for event in within))
                    self.assertEqual(step["peak_reserved_bytes"], max(event["reserved_bytes"] for event in within))
                    self.assertEqual(step["end_allocated_bytes"], within[-1]["allocated_bytes"])
                    self.assertEqual(step["step"], scopes[step["scope"]]["index"])

    def test_many_rows_make_several_groups(self) -> None:
        run(*LONG, "-o", self.folder / "long.json.gz")
        export(self.folder / "long.json.gz", self.folder / "long")
        tables = parquet_reader.read(self.folder / "long")
        events = tables["events"]
        self.assertGreater(events.n_rows, 131072)
        self.assertEqual(events.group_rows, [131072] * (events.n_rows // 131072) + [events.n_rows % 131072])
        self.assertEqual(events.rows["event"], list(range(events.n_rows)))
        self.assertEqual(tables["blocks"].n_rows, events.rows["action"].count("alloc"))

    def test_only_files_of_its_own_are_replaced(self) -> None:
        folder = self.folder / "kept"
        export(self.paths[0], folder)
        (folder / "notes.txt").write_text("mine")
        (folder / "stacks.parquet").chmod(0o640)
        before = {path.name: path.stat().st_ino for path in folder.iterdir()}
        export(self.paths[-2], folder)
        after = {path.name: path.stat().st_ino for path in folder.iterdir()}
        self.assertEqual(sorted(before), sorted(after))
        self.assertEqual([name for name in before if before[name] == after[name]], ["notes.txt"])
        self.assertEqual(stat.S_IMODE((folder / "stacks.parquet").stat().st_mode), 0o640)
        for content in (b"mine", b"PAR1" + b"mine" * 2000 + b"PAR1"):
            (folder / "steps.parquet").write_bytes(content)
            message = export(self.paths[0], folder, status=2)
            self.assertIn("steps.parquet is there, and tidemark did not write it", message)
            self.assertEqual((folder / "steps.parquet").read_bytes(), content)
            self.assertEqual((folder / "events.parquet").stat().st_ino, after["events.parquet"])

    def test_a_failure_leaves_nothing(self) -> None:
        bad = self.folder / "bad.json"
        bad.write_text("{}")
        export(bad, self.folder / "new" / "inner", status=1)
        self.assertFalse((self.folder / "new").exists())
        limited = f'ulimit -f 8; trap "" XFSZ; "{test_exports.CLI}" export "{self.folder}/train.json.gz" --to parquet -o "{self.folder}/new/inner"'
        done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot be written: File too large", done.stderr)
        self.assertFalse((self.folder / "new").exists())

    def test_what_it_refuses(self) -> None:
        path = self.paths[0]
        self.assertIn("name it with -o", run("export", path, "--to", "parquet", status=2))
        self.assertIn("cannot be chosen", export(path, self.folder / "x", "--at", "3", status=2))
        self.assertIn("is a file", export(path, self.folder / "odd.json", status=2))
        self.assertIn("cannot be made", export(path, self.folder / "odd.json" / "x", status=1))

    def test_the_rank_of_the_process(self) -> None:
        for path, tables in self.each():
            self.assertEqual(tables["groups"].n_rows, 0)
            self.assertEqual(set(tables["devices"].rows["recorded_rank"] + tables["devices"].rows["world_size"]), {None})
        document = json.loads((self.folder / "interleaved.json").read_text())
        groups = [
            {"name": "tp", "description": "tensor \u00e9", "size": 8, "position": 3, "first": 0, "stride": 1},
            {"name": "odd", "description": "", "size": -1, "position": -1, "first": -1, "stride": 0},
        ]
        document["rank"] = {"rank": 3, "local_rank": 1, "world_size": 1024, "groups": groups}
        (self.folder / "rank.json").write_text(json.dumps(document))
        export(self.folder / "rank.json", self.folder / "ranked")
        tables = parquet_reader.read(self.folder / "ranked")
        unknown = {"group": 1, "name": "odd", "description": None, "size": None, "position": None, "first": None, "stride": None}
        self.assertEqual(tables["groups"].records(), [{"group": 0, **groups[0]}, unknown])
        device = tables["devices"].records()[0]
        self.assertEqual([device[name] for name in ("recorded_rank", "local_rank", "world_size")], [3, 1, 1024])

    def test_private_things_are_left_out(self) -> None:
        path = self.folder / "train.json.gz"
        export(path, self.folder / "public", "--strip-private")
        tables = parquet_reader.read(self.folder / "public")
        self.assertEqual(tables["devices"].rows["command"], [None])
        self.assertTrue(self.tables[path]["devices"].rows["command"][0].endswith("profile " + " ".join(test_exports.TRAIN[1:]) + f" -o {path}"))


def facts(folder: Path) -> dict:
    """All values of the tables, except the numbers of stacks and what follows from a damaged begin of a scope."""
    tables = parquet_reader.read(folder)
    frames = [tuple(row.values())[1:] for row in tables["frames"].records()]
    frame_of = tables["stacks"].rows["frame"]
    found = {}
    for name in ("events", "blocks", "segments", "scopes", "steps", "devices"):
        found[name] = tables[name].records()
        for row in found[name]:
            row.pop("begin_ns", None)
            if row.get("stack") is not None:
                row["stack"] = frames[frame_of[row["stack"]]]
    return found


class Logs(unittest.TestCase):
    """A log is read piece by piece, and a recovery reads it whole: both must agree, also on damaged logs."""

    def setUp(self) -> None:
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = Path(self.temporary.name)

    def compare(self, log: Path) -> int:
        """Returns how many events there were; -1: nothing can be read."""
        done = subprocess.run([test_exports.CLI, "recover", log, "-o", self.folder / "whole.json.gz"], capture_output=True, text=True)
        streamed = subprocess.run([test_exports.CLI, "export", log, "--to", "parquet", "-o", self.folder / "log"], capture_output=True, text=True)
        if done.returncode != 0:
            return -1
        self.assertEqual(streamed.returncode, 0, streamed.stderr)
        self.assertEqual(streamed.stderr.replace("tidemark export", "tidemark recover"), done.stderr)
        export(self.folder / "whole.json.gz", self.folder / "whole")
        whole = facts(self.folder / "whole")
        for name, rows in facts(self.folder / "log").items():
            self.assertEqual(rows, whole[name], name)
        return len(whole["events"])

    def profile(self, *options: object) -> Path:
        run(*TRAIN, *options, "--log", self.folder / "a.log", "-o", self.folder / "a.json.gz")
        return self.folder / "a.log"

    def test_whole_logs(self) -> None:
        log = self.profile()
        self.assertEqual(self.compare(log), int(run("recover", log, "-o", self.folder / "b.json.gz").split()[0]))
        self.assertEqual((self.folder / "log" / "events.parquet").read_bytes(), (self.folder / "whole" / "events.parquet").read_bytes())

    def test_logs_that_overwrite_their_oldest_rows(self) -> None:
        log = self.profile("--steps", "200", "--log-bytes", "1MiB")
        self.assertGreater(self.compare(log), 5000)
        self.assertGreater(parquet_reader.Table(self.folder / "log" / "devices.parquet").rows["n_dropped"][0], 0)

    def test_logs_of_recorded_programs(self) -> None:
        """They are read as a whole."""
        logs = sorted((GOLDEN.parents[1] / "fuzz" / "corpus" / "live").iterdir())
        self.assertGreater(sum(self.compare(log) > 0 for log in logs[:6]), 2)

    def test_damaged_logs(self) -> None:
        whole = self.profile("--steps", "1").read_bytes()
        chance = random.Random(20)
        n_read = n_fewer = 0
        n_all = self.compare(self.folder / "a.log")
        for i in range(8):
            damaged = bytearray(whole[: chance.randrange(4096, len(whole))] if i % 4 == 0 else whole)
            first = 256 if i % 3 == 0 else len(damaged) // 2
            for _ in range(chance.randrange(0 if i % 4 == 0 else 1, 6)):
                at = chance.randrange(first, len(damaged))
                damaged[at : at + 4] = chance.randbytes(min(4, len(damaged) - at))
            log = self.folder / "damaged.log"
            log.write_bytes(damaged)
            with self.subTest(i):
                n_events = self.compare(log)
                n_read += n_events >= 0
                n_fewer += 0 <= n_events < n_all
        self.assertGreater(n_read, 4)
        self.assertGreater(n_fewer, 2)

    def test_memory_follows_what_is_alive(self) -> None:
        """Twice the events take hardly more memory: rows and scopes stay in the file."""
        peaks = []
        # AddressSanitizer keeps memory that was freed, up to so much of it
        environment = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1")
        for steps in ("1800", "3600"):
            log = self.folder / f"{steps}.log"
            run(*LONG, "--steps", steps, "--log", log, "-o", self.folder / "a.json.gz")
            command = ["tidemark", "export", str(log), "--to", "parquet", "-o", str(self.folder / steps)]
            _, status, usage = os.wait4(os.spawnve(os.P_NOWAIT, test_exports.CLI, command, environment), 0)
            self.assertEqual(status, 0)
            peaks.append((log.stat().st_size, usage.ru_maxrss))
        (few, small), (many, large) = peaks
        self.assertGreater(few, 300000 * 48)  # more than a row group of each table
        self.assertGreater(many - few, 15 << 20)
        self.assertLess(large - small, 4096, peaks)  # KiB


if __name__ == "__main__":
    unittest.main(verbosity=0)
