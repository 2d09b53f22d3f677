"""Makes the launch logs of fit_kernels' cases: make_kernel_logs.py --tidemark TIDEMARK --caches CACHES --published FOLDER LOGS

cases.tsv names rows of the tables in FOLDER, which have the published times. The recipes of tests/published have the programs. Each
process runs the rows of one card and one PyTorch; a log that is in the folder LOGS stays. LOGS/cases.tsv then has a line for
each time, as kernel_cases.h describes it. Without FOLDER's tables it exits with 77.
"""
import argparse
import csv
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PUBLISHED = HERE.parent / "published"
sys.path[:0] = [str(PUBLISHED), str(HERE.parent / "support")]
sys.path.append(str(HERE.parent / "pytorch"))
import launches  # noqa: E402
import rows  # noqa: E402
import run  # noqa: E402
from environments import Missing, own_variables  # noqa: E402
from recipes import all_recipes  # noqa: E402

SKIPPED = 77
LIGER_PAIRS, LIGER_PAIR = 6, 3  # pairs of events of a row, and the one that counts: the first ones may make something for later
# Kernels before this year were published with PyTorch 2.4, and those from 2026 on with 2.10: the nearest that tidemark serves.
OLD, NEW = "2025", "2026"
# Steps of timm's models launch the same on each card.
STEP_CARDS = {"timm_infer.tsv": "rtx5090", "timm_train.tsv": "rtx3090-24"}


class Case:
    def __init__(self, fields, row):
        self.file, self.kind, self.fitted, self.row = fields["file"], fields["kind"], fields["fitted"], row
        self.is_step = self.file in STEP_CARDS
        self.date = "" if self.is_step else row.config.split()[-1]

    def group(self):
        """Card, version of PyTorch and file of the process that runs it."""
        version = "2.14" if self.is_step else "2.8" if self.date < NEW else "2.11"
        return STEP_CARDS.get(self.file, self.row.card), version, self.file

    def words(self):
        """How it was measured, the program and its configuration in the table that fit_kernels reads."""
        if not self.is_step:
            return "old bench" if self.date < OLD else "bench", self.kind, f"{self.row.config} {self.row.what.split()[1]}"
        name, mode, batch = self.row.config.replace("|", " ").split()[:3]
        return "step", f"timm {mode} {self.kind}", f"{name.split('.')[0]} {batch[1:]}"


def read_cases(published):
    found = {}
    for file in published.glob("*.tsv"):
        for row in rows.read(file):
            found.setdefault((file.name, row.program, row.config, row.card, row.what), row)
    for fields in csv.DictReader(open(HERE / "cases.tsv"), delimiter="\t", quoting=csv.QUOTE_NONE):
        key = tuple(fields[name] for name in ("file", "program", "config", "card", "what"))
        if key not in found:
            sys.exit(f"no published row: {' | '.join(key)}")
        yield Case(fields, found[key])


def command_of(recipe, group, version, chosen, rows_file):
    if group[0].is_step:
        python = run.environment_of(recipe, version, chosen.caches)
        return [str(python / "bin/python"), str(HERE / "timm_steps.py"), str(rows_file)]
    return run.words_of(recipe, [case.row for case in group], run.environment_of(recipe, version, chosen.caches), rows_file, "")


def make_log(log, group, card, version, chosen):
    """Runs the rows of a group; log.with_suffix(".out") gets the lines that the program prints."""
    recipe = next(recipe for recipe in all_recipes() if recipe.matches(group[0].row))
    rows_file = log.with_suffix(".rows")
    lines = ["\t".join((recipe.key(case.row), *(getattr(case.row, name) for name in rows.COLUMNS[1:6]))) for case in group]
    rows_file.write_text("\n".join(lines) + "\n")
    unfinished = log.with_suffix(".unfinished")
    command = [str(chosen.tidemark), "run", "--device", f"virtual:{card}", *(("--memory-limit", "1000GiB") if group[0].is_step else ()),
               "--stacks", "none", "--launch-log", str(unfinished), "-o", str(log.with_suffix(".json.gz")), "--",
               *command_of(recipe, group, version, chosen, rows_file)]
    variables = own_variables() | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(PUBLISHED / "programs")}
    print(f"making {log}: {len(group)} rows", flush=True)
    with open(log.with_suffix(".out"), "w") as out, open(log.with_suffix(".err"), "w") as err:
        done = subprocess.run(command, env=variables, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
    if done.returncode != 0:
        sys.exit(f"{log}: status {done.returncode}, see {log.with_suffix('.err')}")
    unfinished.rename(log)
    for suffix in (".json.gz", ".html"):
        log.with_suffix(suffix).unlink(missing_ok=True)


def lines_of(log, group):
    """The lines of a log: pairs of events are those of the rows that ran, in their order."""
    answers = [run.answer_of(line) for line in open(log.with_suffix(".out")) if line.startswith("ROW\t")]
    if len(answers) != len(group):
        sys.exit(f"{log.with_suffix('.out')} has {len(answers)} answers for {len(group)} rows")
    pair, pairs = 0, 1 if group[0].is_step else LIGER_PAIRS
    for case, (_, what, answer) in zip(group, answers):
        if "failed" in answer:
            print(f"did not run: {case.row.program} {case.row.config}: {answer['failed']}", flush=True)
            continue
        for each in case.same:
            measured, program, config = each.words()
            published_us = rows.convert(float(each.row.value), each.row.unit, "us")
            yield "\t".join((str(log), str(pair if case.is_step else pair + LIGER_PAIR), measured, program, config, each.row.card,
                             f"{published_us:.10g}", each.fitted))
        pair += pairs
    records = sum(row.kind == "record" for row in launches.read(log)[1])
    if records != 2 * pair:
        sys.exit(f"{log} has {records} events in place of {2 * pair}: make it again")


def groups_of(cases):
    """Cases by process. A step is run once for all its cards: `same` has its cases, also those of other cards."""
    groups, steps = {}, {}
    for case in cases:
        case.same = steps.setdefault(case.words(), []) if case.is_step else []
        case.same.append(case)
        if len(case.same) == 1:
            groups.setdefault(case.group(), []).append(case)
    return groups


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--tidemark", "--caches", "--published"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("logs", type=Path)
    chosen = parser.parse_args()
    if not (chosen.published / "liger.tsv").exists():
        print(f"skipped: {chosen.published} has no tables of published times")
        sys.exit(SKIPPED)
    chosen.logs, chosen.tidemark = chosen.logs.resolve(), chosen.tidemark.resolve()
    chosen.logs.mkdir(parents=True, exist_ok=True)
    lines = []
    for (card, version, file), group in groups_of(read_cases(chosen.published)).items():
        log = chosen.logs / f"{Path(file).stem}-{card}-{version}.launches"
        try:
            if not log.exists():
                make_log(log, group, card, version, chosen)
        except Missing as why:
            print(f"skipped: {why}")
            sys.exit(SKIPPED)
        lines += lines_of(log, group)
    (chosen.logs / "cases.tsv").write_text("\n".join(lines) + "\n")
    print(f"{len(lines)} times in {chosen.logs / 'cases.tsv'}")


if __name__ == "__main__":
    main()
