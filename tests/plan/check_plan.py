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

# The sum of a residual connection keeps no output of a module. CALL is "model", or "model.forward", with which only the
# modules in the model are called, and have no paths.
RESIDUAL = """import torch
from torch import nn
from torch.nn import functional as F
class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.to_qkv, self.out = nn.LayerNorm(256), nn.Linear(256, 768), nn.Linear(256, 256)
    def forward(self, x):
        q, k, v = self.to_qkv(self.norm(x)).chunk(3, dim=-1)
        return self.out((q @ k.transpose(1, 2)).softmax(dim=-1) @ v)
class Wide(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.LayerNorm(256), nn.Linear(256, 2048), nn.GELU(), nn.Linear(2048, 256))
    def forward(self, x):
        return self.net(x)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.mixers, self.wides = nn.ModuleList(Mixer() for _ in range(6)), nn.ModuleList(Wide() for _ in range(6))
    def forward(self, x):
        for mixer, wide in zip(self.mixers, self.wides):
            x = mixer(x) + x
            x = wide(x) + x
        return x
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(2):
    x = CALL(torch.randn(16, 1024, 256, device="cuda"))
    optimizer.zero_grad()
    x.square().mean().backward()
    optimizer.step()
"""

failures = []


def check(holds, what):
    if not holds:
        failures.append(what)
        print(f"plan: {what}", file=sys.stderr)


def plan(own, folder, *options, program=PROGRAM):
    """The exit status and the report of a plan in a folder."""
    command = [own.tidemark, "plan", "--device", "virtual:rtx4090", "--format", "json", *options, "--", own.python, str(program)]
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


BOTH = "checkpoint:Wide,checkpoint:Mixer"


def bounds_of_classes(own, folder, call):
    """The bounds of checkpoints of two classes, together and each alone. Returns the script and the report."""
    script = folder / "residual.py"
    script.write_text(RESIDUAL.replace("CALL", call))
    named = [BOTH, "checkpoint:Wide", "checkpoint:Mixer"]
    _, free = plan(own, folder, *(word for name in named for word in ("--try", name)), program=script)
    rows = runs_of(free)
    check(all((name, "none") in rows for name in named), f"checkpoints of two classes ran as {sorted(rows)}: {free.get('error')}")
    for name in named:
        row = rows.get((name, "none"), {"allocated_peak_bytes": 0, "lowest_bytes": 1})
        check(row["allocated_peak_bytes"] >= 0.99 * row["lowest_bytes"], f"{call}: {name} could reach {row['lowest_bytes']}, and did reach {row['allocated_peak_bytes']}")
    return script, free


def two_classes(own, folder):
    """Checkpoints of two classes together free what each frees alone: only so the program fits. It is the answer, of
    a search as of --try."""
    bounds_of_classes(own, folder, "model.forward")
    script, free = bounds_of_classes(own, folder, "model")
    rows = runs_of(free)
    named = [BOTH, "checkpoint:Wide", "checkpoint:Mixer"]
    cards = json.loads(subprocess.run([own.tidemark, "devices", "--cards", "--format", "json"], capture_output=True, text=True, check=True).stdout)
    total = next(row["total_bytes"] for row in cards["tables"]["cards"]["rows"] if row["card"] == "rtx4090")
    reserved = [rows.get((name, "none"), {"reserved_peak_bytes": 0})["reserved_peak_bytes"] for name in named]
    check(reserved[0] < min(reserved[1:]), f"both reserve {reserved[0]}, each alone {reserved[1:]}")
    room = (3 * reserved[0] + min(reserved[1:])) // 4 + total - free["figures"].get("room_bytes", total)
    for options in (["--try", BOTH], ["--runs", "24"]):
        status, made = plan(own, folder, "--room", str(room), *options, program=script)
        figures, answer = made["figures"], made["sentences"].get("best", [""])[0]
        names = set(figures.get("best", "").split(","))
        check(status == 0 and {"checkpoint:Wide", "checkpoint:Mixer"} <= names, f"{options}: status {status}, the best is {figures.get('best')}: {made.get('error')}")
        check(answer.startswith("fits, and is the fastest of what was tried: "), f"{options}: the answer is {answer!r}")
        best = runs_of(made).get((figures.get("best"), "card"), {})
        check(best.get("outcome") == "completed", f"{options}: the best did not run under the card's own limit")
        failed = runs_of(made).get(("unchanged", "card"), {"launches": 0})
        check(failed["launches"] is None, f"{options}: a run that failed has {failed['launches']} launches")


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
        two_classes(own, folder)
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
