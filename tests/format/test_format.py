"""snapshot_reader.py, which was written from docs/reference/snapshot-format.md alone, agrees with the program: on every file in
tests/golden/snapshots, which holds one of every version ever written, and on files of fresh runs.

The program is TIDEMARK_CLI.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import snapshot_reader

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "snapshots"
CLI = os.environ["TIDEMARK_CLI"]
SMALL = "profile --device virtual --d-model 64 --layers 2 --heads 2 --d-ff 96 --vocab 200 --batch 2 --context 16".split()
RUNS = {
    "train": ["--warmup", "1", "--steps", "2"],
    "mixed": ["--precision", "bf16-mixed", "--recompute", "block", "--warmup", "0", "--steps", "1"],
    "oom": ["--memory-limit", "8MiB", "--warmup", "0", "--steps", "1"],
    "forward": ["--mode", "forward", "--steps", "2", "--strip-private"],
}


def run(*arguments: object) -> str:
    return subprocess.run([CLI, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def group(blocks: list[dict], key) -> dict:
    """{key: (bytes, requested bytes, count)} of allocated blocks."""
    groups: dict = {}
    for block in blocks:
        n_bytes, n_requested, count = groups.get(key(block), (0, 0, 0))
        groups[key(block)] = (n_bytes + block["block_bytes"], n_requested + block["requested_bytes"], count + 1)
    return groups


def certain(path: Path) -> Path:
    """The same recording as a file, written by the program, that says how its categories became known."""
    document = snapshot_reader.read(path).document
    of_block: dict[int, int] = {}
    certainty = []
    address = 0
    for row, (action, delta) in enumerate(zip(document["events"]["action"], document["events"]["address_delta"])):
        address += delta
        if document["actions"][action] == "alloc":
            of_block[address] = row % 3
        certainty.append(of_block.get(address, 0) if document["actions"][action] in ("alloc", "free") else 0)
    document["events"]["certainty"] = certainty
    for segment in document["end"]["segments"]:
        for block in segment["blocks"]:
            at = segment["address"] + block["offset_bytes"] // document["address_unit_bytes"]
            block["certainty"] = of_block[at] if document["block_states"][block["state"]] != "free" else 0
    given, made = path.with_name("certain.json"), path.with_name("certain.json.gz")
    given.write_text(json.dumps(document))
    run("export", given, "--to", "tidemark", "-o", made)
    return made


class Peak:
    """The summary of one device, derived row by row."""

    def __init__(self, snapshot: snapshot_reader.Snapshot, device: int):
        walk = snapshot_reader.Walk(snapshot, device)
        self.max = {name: (n_bytes, -1) for name, n_bytes in walk.totals().items()}
        self.counts = dict.fromkeys(snapshot.actions, 0)
        self.blocks = self.allocated(walk)
        self.totals = walk.totals()
        for row, event in enumerate(snapshot.events):
            if event["device"] != device:
                continue
            self.counts[event["action"]] += 1
            walk.apply(event)
            totals = walk.totals()
            if totals["allocated"] > self.max["allocated"][0]:
                self.blocks, self.totals = self.allocated(walk), totals
            for name, n_bytes in totals.items():
                if n_bytes > self.max[name][0]:
                    self.max[name] = (n_bytes, row)
        self.end, self.unmatched, self.walk = walk.totals(), walk.unmatched, walk

    @staticmethod
    def allocated(walk: snapshot_reader.Walk) -> list[dict]:
        return [block for block in walk.blocks.values() if block["state"] == "allocated"]


class Format(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.files = sorted(GOLDEN.glob("*.json.gz"))
        assert cls.files, "no file of any version"
        for name, options in RUNS.items():
            path = Path(cls.folder.name) / f"{name}.json.gz"
            done = subprocess.run([CLI, *SMALL, *options, "-o", path], capture_output=True, text=True)
            assert done.returncode in (0, 3), done.stderr
            cls.files.append(path)
        cls.files.insert(-1, certain(cls.files[-len(RUNS)]))

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder.cleanup()

    def each(self):
        for path in self.files:
            with self.subTest(path.name):
                yield path, snapshot_reader.read(path)

    def test_the_numbering_of_files_without_name_tables(self) -> None:
        document = snapshot_reader.read(self.files[-1]).document  # of a fresh run
        for key, words in snapshot_reader.NAMES.items():
            self.assertEqual(words.split(), document[key], key)

    def test_rows_are_those_of_dump(self) -> None:
        for path, snapshot in self.each():
            lines = [line.split("\t") for line in run("dump", path).splitlines()]
            is_pytorchs = snapshot.document.get("origin", {}).get("format") == "pytorch"
            frame_of = snapshot.named_frame if is_pytorchs else snapshot.frame
            self.assertEqual(len(lines), len(snapshot.events))
            for i, (line, event) in enumerate(zip(lines, snapshot.events)):
                has_address = event["action"] not in ("oom", "mark")
                stack = event["stack"]
                wanted = [
                    str(i),
                    str(event["time"]),
                    event["action"],
                    str(event["device"]),
                    hex(event["address"]) if has_address else "-",
                    str(event["requested_bytes"]),
                    str(event["block_bytes"]),
                    event["category"],
                    snapshot.text(event["name"]) or "-",
                    snapshot.path(event["scope"]) or "-",
                    frame_of(stack) if stack >= 0 else "-",
                    *([event["certainty"]] if "certainty" in snapshot.document["events"] else []),
                ]
                self.assertEqual(line, wanted, f"row {i}")

    def test_the_file_says_what_its_rows_say(self) -> None:
        for _, snapshot in self.each():
            for device, said in enumerate(snapshot.document["summary"]):
                peak = Peak(snapshot, device)
                self.assertEqual(said["counts"], peak.counts)
                self.assertEqual(said["unmatched"], peak.unmatched)
                self.assertEqual({name: (of["bytes"], of["event"]) for name, of in said["max"].items()}, peak.max)
                self.assertEqual(said["peak"]["event"], peak.max["allocated"][1])
                for name in snapshot_reader.TOTALS:
                    self.assertEqual(said["peak"][f"{name}_bytes"], peak.totals[name])
                    self.assertEqual(said["end"][f"{name}_bytes"], peak.end[name])
                self.assertEqual(said["peak"]["n_blocks"], len(peak.blocks))
                self.compare_splits(snapshot, said["peak"], peak)

    def compare_splits(self, snapshot: snapshot_reader.Snapshot, said: dict, peak: Peak) -> None:
        def phase(block: dict) -> str:
            scope = snapshot.nearest(block["scope"], "phase")
            return snapshot.label(scope) if scope >= 0 else ""

        categories = {name: (of["bytes"], of["requested_bytes"], of["count"]) for name, of in said["by_category"].items()}
        self.assertEqual({name: of for name, of in categories.items() if of[2]}, group(peak.blocks, lambda b: b["category"]))
        certainties = {name: (of["bytes"], of["requested_bytes"], of["count"]) for name, of in said.get("by_certainty", {}).items()}
        self.assertEqual(bool(certainties), snapshot.has_certainty)
        if snapshot.has_certainty:
            self.assertEqual({name: of for name, of in certainties.items() if of[2]}, group(peak.blocks, lambda b: b["certainty"]))
        for split, name, key in (
            ("by_scope", "path", lambda b: snapshot.path(b["scope"])),
            ("by_phase", "path", phase),
            ("by_stack", "stack", lambda b: b["stack"]),
        ):
            listed = {row[name]: (row["bytes"], row["requested_bytes"], row["count"]) for row in said[split]}
            self.assertEqual(listed, group(peak.blocks, key), split)
            self.assertEqual([row["bytes"] for row in said[split]], sorted((of[0] for of in listed.values()), reverse=True))

    def test_the_rows_lead_from_start_to_end(self) -> None:
        keys = "block_bytes requested_bytes state stack scope category certainty name".split()
        for _, snapshot in self.each():
            for device in range(len(snapshot.document["devices"])):
                peak = Peak(snapshot, device)
                segments, blocks = snapshot.boundary("end", device)
                self.assertEqual(sum(segments.values()), peak.end["reserved"])
                for address, block in blocks.items():
                    mine = peak.walk.blocks.pop(address)
                    self.assertEqual({key: mine[key] for key in keys}, {key: block[key] for key in keys})
                self.assertEqual(peak.walk.blocks, {})

    def test_the_reports_agree(self) -> None:
        for path, snapshot in self.each():
            peaks = [Peak(snapshot, device) for device in range(len(snapshot.document["devices"]))]
            peak = max(peaks, key=lambda of: of.totals["allocated"])
            report = json.loads(run("summary", path, "--format", "json"))
            is_cut = "cut" in report["sentences"]  # the peak is unknown: blocks are those of the end
            blocks = Peak.allocated(peak.walk) if is_cut else peak.blocks
            tables = {key: table["rows"] for key, table in report["tables"].items()}
            for row in tables.get("maxima", []):
                if row["max_bytes"] is None:
                    self.assertTrue({"cut", "dropped"} & set(report["sentences"]))
                else:
                    self.assertEqual((row["max_bytes"], row["event"]), peak.max[row["quantity"]])
                self.assertEqual(row["end_bytes"], peak.end[row["quantity"]])
            listed = {row["category"]: (row["bytes"], row["requested_bytes"], row["blocks"]) for row in tables["by_category"]}
            self.assertEqual(listed, group(blocks, lambda b: b["category"]))
            self.assertEqual("by_certainty" in tables, snapshot.has_certainty)
            for row in tables.get("by_certainty", []):
                known = [block for block in blocks if block["certainty"] == row["certainty"]]
                self.assertEqual(row["bytes"], sum(block["block_bytes"] for block in known))

    def test_oom_rows_stand_in_their_list(self) -> None:
        for _, snapshot in self.each():
            listed = {
                row: {"event": row, "requested_bytes": event["requested_bytes"], "free_bytes": event["block_bytes"]}
                for row, event in enumerate(snapshot.events)
                if event["action"] == "oom"
            }
            for said in snapshot.document.get("oom", []):
                mine = listed.pop(said["event"])
                self.assertEqual(said["requested_bytes"], mine["requested_bytes"])
                if said["free_bytes"] >= 0:
                    self.assertEqual(said["free_bytes"], mine["free_bytes"])
            self.assertEqual(listed, {})


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
