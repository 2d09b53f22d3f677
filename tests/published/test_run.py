"""./dev published: how rows are read, judged and kept. Programs run only there."""
import os
import stat
import subprocess
import sys
import tempfile
from argparse import Namespace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.append(str(HERE.parent / "support"))
import rows  # noqa: E402
from answers import Answers  # noqa: E402
from judge import COLUMNS, judge  # noqa: E402
from recipe import Recipe  # noqa: E402
from recipes import all_recipes  # noqa: E402
from environments import Missing  # noqa: E402
from run import answer_group, answer_of, changed, clone_of, groups_of, words_of  # noqa: E402
from versions import compared  # noqa: E402


def need(condition, *what):
    if not condition:
        sys.exit("WRONG: " + " ".join(str(part) for part in what))


def row(what="peak allocated", value="100.0", unit="MiB", config="b 1"):
    return rows.Row("paper", "net", config, "a100-80", what, value, unit)


class Made(Recipe):
    """A recipe whose program is a shell script."""
    name = "made"

    def __init__(self, script=""):
        self.script = script

    def matches(self, row):
        return row.source == "paper"

    def command(self, group):
        return ["-c", self.script, "{rows}"]

    def reason(self, row, answer):
        return "older kernels" if answer.get("value") == "90.0" else ""


def answer(value, unit="MiB", **more):
    return {"value": value, "unit": unit, "torch": "2.14"} | more


def check_kinds():
    kinds = {"largest batch of the ladder 1 2": "fits", "max reserved, worst rank": "reserved", "mem_nvidia_mem_reserved": "nvidia-smi",
             "train_tokens_per_second": "rate", "step time": "time", "speed full": "time", "memory full": "allocated",
             "mem_peak_torch_mem_alloc_in_bytes": "allocated", "work area": ""}
    for what, kind in kinds.items():
        need(rows.kind(what) == kind, what, rows.kind(what))


def check_units():
    need(rows.convert(2.0, "GiB", "MiB") == 2048.0 and rows.convert(1.5, "s", "ms") == 1500.0, "units")
    need(rows.convert(1.0, "GB", "ms") is None and rows.convert(3.0, "tok/s", "tok/s") == 3.0, "two dimensions")


def check_verdicts():
    def verdict(one, found):
        judged = judge(one, Made(), found)
        return judged.verdict, judged.difference, judged.reason

    need(verdict(row(), None) == ("not run", "", ""), "no answer")
    need(verdict(row(), answer("100.0")) == ("exact", "+0.000", ""), "exact")
    need(verdict(row(), answer("100.09")) == ("right", "+0.090", ""), "within 0.1 %")
    need(verdict(row(), answer("100.2")) == ("off", "+0.200", "unexplained"), "off", verdict(row(), answer("100.2")))
    need(verdict(row(), answer("90.0"))[2] == "older kernels", "a reason of the recipe")
    need(verdict(row("max reserved"), answer("100.9"))[0] == "right", "reserved within 1 %")
    need(verdict(row("step time", "10", "ms"), answer("0.011", "s"))[0] == "right", "a time in another unit")
    need(verdict(row(), answer("100.0", "ms"))[0] == "off", "another dimension")
    batch = row("largest batch of the ladder", "64", "images")
    need(verdict(batch, answer("64", "images")) == ("exact", "", ""), "verdict")
    need(verdict(batch, answer("48", "images"))[0] == "off", "another batch")
    need(verdict(batch, answer("48", "images", near=True))[0] == "near", "another batch near the limit")
    need(verdict(row(), {"failed": "ImportError", "torch": "2.14"}) == ("failed", "", "ImportError"), "failed")
    need(verdict(row(), {"failed": "OutOfMemoryError: x", "torch": "2.14"})[0] == "off", "a published run that does not fit here")
    need(len(judge(row(), Made(), None).line().split("\t")) == len(COLUMNS), "a line")


def check_lines():
    need(answer_of("ROW\tb 1\tpeak\t12\tMiB\n") == ("b 1", "peak", {"value": "12", "unit": "MiB"}), "value")
    need(answer_of("ROW\tb 1\tpeak\tFAILED\tImportError: x") == ("b 1", "peak", {"failed": "ImportError: x"}), "failure")
    need(answer_of("NOTE\tb 1\tpeak\tnear the limit: 3 MiB left")[2]["near"] is True, "note")
    need(answer_of("loss 3.2") is None and answer_of("ROW of something") is None, "other output")


def check_versions():
    """Of two versions, only rows of memory that ran with both are compared."""
    one, two, alone = (row(config=config) for config in ("a", "b", "c"))
    timed, recipe = row("step time", "3", "ms"), Made()
    with tempfile.TemporaryDirectory() as name:
        answers = Answers(Path(name) / "answers.jsonl", "build 1", {each: recipe for each in (one, two, alone, timed)})
        for each, version, value in ((one, "2.6", "7"), (one, "2.14", "7"), (two, "2.6", "8"), (two, "2.14", "9"), (alone, "2.6", "1"),
                                     (timed, "2.6", "1"), (timed, "2.14", "2")):
            answers.add(each, version, {"value": value, "unit": "MiB"})
        lines = compared([(recipe, each) for each in (one, two, alone, timed)], answers, ["2.6", "2.8", "2.14"])
    need(lines == ["PyTorch 2.6 and 2.14: 2 rows ran with both, 1 are equal", "  net b a100-80 peak allocated: 8 and 9 MiB"], lines)


def check_groups():
    """An answer is kept; a row at which the program ends is failed, and the others run without it."""
    script = 'while IFS="\t" read -r key rest; do [ "$key" != bad ] || exit 3; printf "ROW\\t$key\\tpeak allocated\\t7\\tMiB\\n"; done <"$0"'
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pytorch-2.14.1/bin").mkdir(parents=True)
        os.symlink("/bin/sh", folder / "pytorch-2.14.1/bin/python")
        tidemark = folder / "tidemark"
        tidemark.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n')
        tidemark.chmod(tidemark.stat().st_mode | stat.S_IXUSR)
        group = [row(config=config) for config in ("a", "bad", "c")]
        recipe = Made(script)
        chosen = Namespace(tidemark=tidemark, caches=folder)
        answers = Answers(folder / "answers.jsonl", "build 1", {one: recipe for one in group})
        answer_group(recipe, group, "2.14", chosen, answers)
        found = [answers.of(one) for one in group]
        need([one.get("value") for one in found] == ["7", None, "7"], found)
        need("status 3" in found[1]["failed"], found[1])
        loud = Made("echo 'ValueError: 7' >&2; echo '[rank0]:[W1 x.cpp:1] Warning: WARNING: at the end' >&2; exit 3")
        named = Answers(folder / "loud.jsonl", "build 1", {group[0]: loud})
        answer_group(loud, group[:1], "2.14", chosen, named)
        need("ValueError: 7" in named.of(group[0])["failed"], "a warning in place of the reason", named.of(group[0]))
        slow = Made("sleep 60")
        slow.seconds = 0.2
        late = Answers(folder / "late.jsonl", "build 1", {group[0]: slow})
        answer_group(slow, group[:1], "2.14", chosen, late)
        need("more than 0.2 s" in late.of(group[0])["failed"], late.of(group[0]))
        again = Answers(folder / "answers.jsonl", "build 1", {one: recipe for one in group})
        need(all(again.has(one, "2.14") for one in group) and not again.has(group[0], "2.8"), "answers are kept, of each version")
        other = Answers(folder / "answers.jsonl", "build 2", {one: recipe for one in group})
        older = Answers(folder / "answers.jsonl", "build 2", {one: recipe for one in group}, older=True)
        need(not other.has(group[0], "2.14") and older.has(group[0], "2.14"), "answers of another build")
        recipe.script += " "
        changed_recipe = Answers(folder / "answers.jsonl", "build 1", {one: recipe for one in group}, older=True)
        need(not changed_recipe.has(group[0], "2.14"), "answers of another recipe")
        need(len(groups_of([(recipe, one) for one in group])) == 1, "groups")


def check_clones():
    """A clone that is there is used, and one that cannot be had is no error of the program."""
    recipe = Made()
    with tempfile.TemporaryDirectory() as name:
        caches = Path(name)
        need(clone_of(recipe, caches) == "", "a recipe without a clone")
        recipe.clone = "owner/there"
        (caches / "clones/there").mkdir(parents=True)
        folder = clone_of(recipe, caches)
        need(folder == str(caches / "clones/there"), folder)
        recipe.script = "{clone}"
        need(words_of(recipe, [], caches, caches / "rows", folder)[1:] == ["-c", folder, str(caches / "rows")], "the folder among the words")
        recipe.clone, path = "owner/none", os.environ["PATH"]
        os.environ["PATH"] = name
        try:
            clone_of(recipe, caches)
            sys.exit("WRONG: a clone without git")
        except Missing:
            pass
        finally:
            os.environ["PATH"] = path


def check_sample():
    """A sample fails if memory or a verdict is another; not by a time, nor by a row that could not run."""
    found = {"exact": answer("100.0"), "moved": answer("100.05"), "not run": None, "failed": {"failed": "why", "torch": "2.14"}}
    wrong = [name for name, one in found.items() if changed([judge(row(), Made(), one)])]
    need(wrong == ["moved", "failed"], wrong)
    need(not changed([judge(row("step time", "10", "ms"), Made(), answer("90.0", "ms"))]), "a time")


def check_recipes():
    """Every recipe names programs that exist, and an environment with a name of its own."""
    recipes = all_recipes()
    names = [recipe.name for recipe in recipes]
    need(len(set(names)) == len(names), names)
    for recipe in recipes:
        need(recipe.texts(), recipe.name)


def check_messages():
    """The command itself: nothing chosen is an error with a cure."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.tsv"
        file.write_text("\t".join(rows.COLUMNS) + "\n")
        command = [sys.executable, "-B", str(HERE / "run.py"), "--tidemark", "none", "--caches", folder, "--rows", str(file), "--list"]
        done = subprocess.run(command, capture_output=True, text=True)
        need(done.returncode == 1 and "no published row is chosen" in done.stderr, done)


for check in (check_kinds, check_units, check_verdicts, check_lines, check_versions, check_groups, check_clones, check_sample, check_recipes, check_messages):
    check()
