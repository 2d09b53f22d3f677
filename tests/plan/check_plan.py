"""Checks `tidemark plan` with a real program: check_plan.py --tidemark PROGRAM --python PYTHON

The program is a small GPT whose peak is the loss. Each case is one plan with few runs.
"""
import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "exhaustive"))
import record  # noqa: E402
PROGRAM = HERE / "pairs" / "programs" / "gpt.py"
PATCH = """--- a/gpt.py
+++ b/gpt.py
@@ -1 +1,2 @@
+import os; os.environ["TIDEMARK_TEST_PATCHED"] = "1"
 {first}
"""

LOGITS = """import torch
from torch import nn
from torch.nn import functional as F
model = nn.Sequential(nn.Embedding(32000, 256), nn.Linear(256, 32000, bias=False)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(2):
    tokens = torch.randint(32000, (8, 513), device="cuda")
    F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten()).backward()
    optimizer.step()
    optimizer.zero_grad()
"""

failures = []


def check(holds, what):
    if not holds:
        failures.append(what)
        print(f"plan: {what}", file=sys.stderr)


def plan(own, folder, *options, arguments=()):
    """The exit status and the report of a plan in a folder."""
    command = [own.tidemark, "plan", "--device", "virtual:rtx4090", "--format", "json", *options, "--", own.python, str(PROGRAM), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    try:
        return done.returncode, json.loads(done.stdout)
    except ValueError:
        return done.returncode, {"figures": {}, "tables": {}, "sentences": {}, "error": done.stderr}


def runs_of(report):
    return {(row["changes"], row["limit"]): row for row in report["tables"].get("runs", {}).get("rows", [])}


def named_changes(own, folder):
    """--try runs these alone; a change of the numbers needs no --allow there."""
    status, report = plan(own, folder, "--try", "fused", "--try", "checkpoint:Block,fused", "--try", "micro_batch:2")
    rows = runs_of(report)
    check(status == 0, f"--try of a program that fits ended with {status}: {report.get('error')}")
    check(set(rows) == {("unchanged", "none"), ("fused", "none"), ("checkpoint:Block,fused", "none"), ("micro_batch:2", "none")}, f"--try ran {sorted(rows)}")
    refused = rows.get(("micro_batch:2", "none"), {}).get("reason")
    check(refused is not None and "makes its batches itself" in refused, f"the reason of micro_batch:2 is {refused!r}")
    check(report["figures"].get("fits") == "yes", "a program that fits was said not to")
    return report


def small_room(own, folder, report):
    """Below the reserved peak the plan finds something, and the best was run under the limit."""
    base = runs_of(report)["unchanged", "none"]
    cards = json.loads(subprocess.run([own.tidemark, "devices", "--cards", "--format", "json"], capture_output=True, text=True, check=True).stdout)
    total = next(row["total_bytes"] for row in cards["tables"]["cards"]["rows"] if row["card"] == "rtx4090")
    others = total - report["figures"]["room_bytes"]  # the context, and what libraries take
    room = base["allocated_peak_bytes"] * 3 // 4 + others
    status, made = plan(own, folder, "--room", str(room), "--runs", "12", "-o", "kept")
    figures = made["figures"]
    check(status in (0, 3), f"a small room ended with {status}: {made.get('error')}")
    check(figures.get("fits") == ("changed" if status == 0 else "no"), f"status {status}, and fits is {figures.get('fits')}")
    check(figures.get("room_bytes", room) < room, "the room has no context")
    rows = runs_of(made)
    check(("unchanged", "card") in rows and rows["unchanged", "card"]["outcome"] == "out of memory", "the unchanged program did not run out of memory under the limit")
    if status == 0:
        best = rows.get((figures["best"], "card"))
        check(best is not None and best["outcome"] == "completed", f"the best, {figures['best']}, did not run under the limit")
        check(figures["best"] == "" or made["sentences"].get("paste"), "no lines of the best")
    for row in rows.values():
        check(row["snapshot"] is None or (folder / row["snapshot"]).exists(), f"no snapshot {row['snapshot']}")
    check((folder / "kept" / "front.svg").read_text().count("MiB") > 1, "no picture of the runs")
    page = (folder / "kept" / "plan.html").read_text()
    kept = sorted(path.name for path in (folder / "kept").glob("*.json.gz"))
    check(kept and all(f'href="{name}"' in page for name in kept), "the page lacks a link to a snapshot")
    check(page.count("<tr><td") == figures["runs"], f"the page has {page.count('<tr><td')} of {figures['runs']} runs")
    check("<svg" in page and "<script" not in page, "the page has no picture, or a script")
    again, refused = plan(own, folder, "-o", "kept")
    check(again == 2 and "empty" in refused.get("error", ""), "a folder with files was taken")


WRITING = """import os
import torch
assert not os.path.exists("left"), "a file of another run"
open("left", "w").close()
exec(open({path!r}).read())
"""


def shared_import(own, folder):
    """One import for several runs gives the figures of single runs, and a run never finds the files of another."""
    script = folder / "writing.py"
    script.write_text(WRITING.format(path=str(PROGRAM)))
    sets = [word for name in ("fused", "checkpoint:Block", "checkpoint:Block,fused", "chunked_loss") for word in ("--try", name)]
    found = []
    for jobs, program in (("4", PROGRAM), ("1", PROGRAM), ("1", script)):  # with four jobs each has a process of its own
        command = [own.tidemark, "plan", "--device", "virtual:rtx4090", "--format", "json", "--jobs", jobs, *sets, "--", own.python, str(program)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        rows = runs_of(json.loads(done.stdout)) if done.returncode == 0 else {}
        check(len(rows) == 5 and all(row["outcome"] == "completed" for row in rows.values()), f"--jobs {jobs} of {program}: {rows} {done.stderr[-300:]}")
        keys = ("allocated_peak_bytes", "reserved_peak_bytes", "gpu_ms", "launches")
        found.append({name: [round(row[key], 9) for key in keys] for name, row in rows.items()})  # sums are rounded
    kept = folder / "shared"
    command = [own.tidemark, "plan", "--device", "virtual:rtx4090", "--jobs", "1", *sets, "-o", str(kept), "--", own.python, str(PROGRAM)]
    subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    shared = [json.loads(gzip.decompress(path.read_bytes())) for path in sorted(kept.glob("*.json.gz"))]
    named = [snapshot["plan"].get("set") for snapshot in shared]
    check(sorted(filter(None, named)) == sorted("observe," + name for name in sets[1::2]), f"these runs shared an import: {named}")
    commands = {snapshot["run"]["command"] for snapshot in shared}
    check(len(commands) == 1 and "many.py" not in "".join(commands), f"the commands in the snapshots: {commands}")
    check(found[0] == found[1], f"one import: {found[1]}, single runs: {found[0]}")
    check(found[0] == found[2], f"the program that writes: {found[2]}, single runs: {found[0]}")


def ranks(own, folder):
    """A job of four ranks, of which one runs: sharding is a change of it, and of it alone."""
    alone = [own.tidemark, "plan", "--format", "json", "--try", "fully_shard:Block", "--device"]
    command = [*alone, "virtual:h100-80x4", "--world", "4", "--", own.python, str(PROGRAM)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    rows = runs_of(json.loads(done.stdout)) if done.returncode == 0 else {}
    base, sharded = rows.get(("unchanged", "none")), rows.get(("fully_shard:Block", "none"))
    check(base and sharded and sharded["allocated_peak_bytes"] < base["allocated_peak_bytes"], f"--world 4: {rows} {done.stderr[-300:]}")
    done = subprocess.run([*alone, "virtual:h100-80", "--", own.python, str(PROGRAM)], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    rows = runs_of(json.loads(done.stdout)) if done.returncode in (0, 3) else {}
    refused = rows.get(("fully_shard:Block", "none"), {})
    check("needs ranks" in (refused.get("reason") or ""), f"one rank was sharded: {refused}")


def patch(own, folder):
    """A patch runs as one more candidate, and the user's file stays."""
    script = folder / "gpt.py"
    text = PROGRAM.read_text()
    script.write_text(text)
    (folder / "mine.diff").write_text(PATCH.format(first=text.splitlines()[0]))
    command = [own.tidemark, "plan", "--device", "virtual:rtx4090", "--format", "json", "--patch", "mine.diff", "--try", "patch", "--", own.python, "gpt.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    check(done.returncode == 0, f"--patch ended with {done.returncode}: {done.stderr[-300:]}")
    check(script.read_text() == text, "the user's file was patched")
    rows = runs_of(json.loads(done.stdout)) if done.returncode == 0 else {}
    check(rows.get(("patch", "none"), {}).get("outcome") == "completed", f"the patched program: {rows.get(('patch', 'none'))}")


def pointer(own, folder):
    """`explain` names the plan that tries the cure of a cause."""
    (folder / "lm.py").write_text(LOGITS)
    for changes, words in ((["--apply", "observe"], "--try linear_loss --try chunked_loss -- "), ([], "virtual:CARD -- ")):
        command = [own.tidemark, "run", "--device", "virtual:rtx4090", "--html", "none", "-o", "lm.json.gz", *changes, "--", own.python, "lm.py"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        check(done.returncode == 0, f"the program with large logits ended with {done.returncode}: {done.stderr[-300:]}")
        done = subprocess.run([own.tidemark, "explain", "lm.json.gz", "--format", "json"], cwd=folder, capture_output=True, text=True, check=True)
        said = json.loads(done.stdout)["sentences"].get("plan", [""])[0]
        check(words in said and said.count("lm.py`") == 1, f"explain said of a plan: {said!r}")


def refusals(own, folder):
    """What cannot be planned is said, with status 2."""
    for options, words in ((["--allow", "everything"], "precision, optimizer and compile"), (["--try", "fusedd"], "no such change"),
                           (["--vary", "batch=1..4"], "belong together"), (["--runs", "0"], "--runs")):
        status, report = plan(own, folder, *options)
        check(status == 2 and words in report.get("error", ""), f"{options}: {status}, {report.get('error')}")


def bounds(own):
    """A bound above what a run reaches would hide advice."""
    for what in record.wrong_bounds(own, own.full):
        check(False, what)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tidemark", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--full", action="store_true", help="the bounds of all combinations")
    own = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        report = named_changes(own, folder)
        small_room(own, folder, report)
        shared_import(own, folder)
        ranks(own, folder)
        patch(own, folder)
        pointer(own, folder)
        refusals(own, folder)
    bounds(own)
    print(f"plan: {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
