"""Runs published programs on virtual cards and compares what they print with what was published.

  run.py --tidemark TIDEMARK --caches FOLDER [--rows FILE...] [--list] [--again] [--older] [--sample] [--versions] [--limit N] [--write FOLDER] [NAME...]

FILE is a TSV of published values (rows.py); without one, every file of $TIDEMARK_SHARED/published. NAME is a part of a row's
source, program, config, card or what; a row runs if it has all of them. The recipes (recipes/) say which program answers a row. Answers are kept in
FOLDER/published, so a run that was interrupted continues. A row runs again if tidemark, its recipe or its program has changed,
or with --again; --older accepts the answers of older builds. --sample: the fixed sample of ./dev pytorch. --limit: at most N
rows of each group. --write: the table, the page and the picture. TIDEMARK_PUBLISHED_TORCH: the version of PyTorch, for every row.
--versions: runs nothing, and compares the answers that rows have from several versions of PyTorch.
"""
import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
import rows  # noqa: E402
from answers import Answers  # noqa: E402
from environments import Missing, digest_of_tidemark, install, last_line, once, own_variables, pip_folder, wait_for  # noqa: E402
from judge import judge  # noqa: E402
from recipe import PROGRAMS  # noqa: E402
from recipes import all_recipes  # noqa: E402
from versions import compared  # noqa: E402

RESULTS = HERE.parent.parent / "docs/results/published.tsv"
GRACE_SECONDS = 600  # tidemark writes its answer after the program has closed its output
VERSIONS = {"2.6": "2.6.0", "2.8": "2.8.0", "2.11": "2.11.0", "2.14": "2.14.1"}


# ---- environments ----


def torch_of(recipe, row: rows.Row) -> str:
    return os.environ.get("TIDEMARK_PUBLISHED_TORCH") or recipe.torch(row)


def pytorch(version: str, caches: Path) -> Path:
    """The environment with a version of PyTorch: that of ./dev pytorch, or one beside it."""
    if version not in VERSIONS:
        raise Missing(f"PyTorch {version} is unknown; known: {', '.join(VERSIONS)}")
    folder = caches / f"pytorch-{VERSIONS[version]}"
    unfinished = folder.with_name(folder.name + ".unfinished")
    if not (folder / "bin/python").exists() or unfinished.exists():
        caches.mkdir(parents=True, exist_ok=True)
        unfinished.touch()
        install(folder, "an environment", sys.executable, "-m", "venv", str(folder))
        install(folder, f"PyTorch {VERSIONS[version]}", str(folder / "bin/python"), "-m", "pip", "install", "-q", f"torch=={VERSIONS[version]}", "numpy")
        unfinished.unlink()
    return folder


def environment_of(recipe, version: str, caches: Path) -> Path:
    base = pytorch(version, caches)
    if recipe.packages is None:
        return base
    folder = caches / f"published-{recipe.environment or recipe.name}-{version}"
    return once(folder, recipe.packages, lambda: pip_folder(folder, recipe.packages, base, with_pytorch=True))


def clone_of(recipe, caches: Path) -> str:
    """The folder of a clone with its history: published programs are of a commit."""
    if not recipe.clone:
        return ""
    folder = caches / "clones" / recipe.clone.partition("/")[2]
    if not folder.exists():
        install(folder, "a clone", "git", "clone", "-q", f"https://github.com/{recipe.clone}", str(folder))
    return str(folder)


# ---- a group ----


def words_of(recipe, group: list, python: Path, file: Path, clone: str) -> list:
    words = [str(PROGRAMS / word) if (PROGRAMS / word).is_file() else str(word).replace("{rows}", str(file)).replace("{clone}", clone)
             for word in recipe.command(group)]
    return [str(python / "bin/python"), *words]


def answer_of(line: str):
    """(key, what, answer) of a line that a program prints, or None."""
    fields = line.rstrip("\n").split("\t")
    if fields[0] == "ROW" and len(fields) >= 5:
        named = {"failed": fields[4]} if fields[3] == "FAILED" else {"value": fields[3], "unit": fields[4]}
        return fields[1], fields[2], named
    if fields[0] == "NOTE" and len(fields) >= 4:
        near = {"near": True} if fields[3].startswith("near the limit") else {}
        return fields[1], fields[2], {"note": fields[3]} | near
    return None


def end(program: subprocess.Popen) -> None:
    """Ends a program that runs too long, or whose runner was ended; one that has ended stays as it is."""
    try:
        program.wait(1)
    except subprocess.TimeoutExpired:
        wait_for(program, 0)


def run_group(recipe, group: list, version: str, chosen, answers: Answers) -> str:
    """Runs a process for the rows and keeps each answer as it comes; returns the last line of its errors."""
    python, clone = environment_of(recipe, version, chosen.caches), clone_of(recipe, chosen.caches)
    device, *options = recipe.card(group[0])
    wanted = {(recipe.key(row), row.what): row for row in group}
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        lines = ["\t".join((recipe.key(row), row.program, row.config, row.card, row.what, row.value)) for row in group]
        (scratch / "rows.tsv").write_text("\n".join(lines) + "\n")
        command = [str(chosen.tidemark), "run", "--device", device, "-o", "out.json.gz", *options, "--",
                   *words_of(recipe, group, python, scratch / "rows.tsv", clone)]
        variables = own_variables() | {"PYTHONDONTWRITEBYTECODE": "1"} | recipe.settings
        with open(scratch / "err", "wb") as err:
            program = subprocess.Popen(command, cwd=scratch, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err,
                                       text=True, errors="replace", start_new_session=True)
            expired = threading.Event()
            timer = threading.Timer(recipe.seconds, lambda: (expired.set(), end(program)))
            timer.start()
            try:
                for line in program.stdout:
                    found = answer_of(line)
                    if found and found[:2] in wanted:
                        answers.add(wanted[found[:2]], version, found[2])
                        if "note" not in found[2]:
                            show(recipe, wanted[found[:2]], answers, version)
                late = expired.is_set()
            except BaseException:
                end(program)
                raise
            finally:
                timer.cancel()
            status = wait_for(program, GRACE_SECONDS)
        said = (scratch / "err").read_text(errors="replace")
        said = "\n".join(line for line in said.splitlines() if not line.startswith("tidemark run: ") and "] Warning: " not in line)
        return f"it took more than {recipe.seconds} s" if late or status is None else f"status {status}: {last_line(said)}"


def answer_group(recipe, group: list, version: str, chosen, answers: Answers) -> None:
    """A row at which the process ends is failed, and the others run again without it."""
    while group:
        try:
            why = run_group(recipe, group, version, chosen, answers)
        except Missing as missing:
            print(f"skipped {len(group)} rows: {missing}", flush=True)
            return
        rest = [row for row in group if row not in answers.given]
        if len(rest) == len(group):
            answers.add(rest[0], version, {"failed": why[:200]})
            show(recipe, rest[0], answers, version)
            rest = rest[1:]
        group = rest


# ---- all rows ----


def show(recipe, row: rows.Row, answers: Answers, version: str) -> None:
    judged = judge(row, recipe, answers.of(row, version))
    print(f"{judged.verdict:8} {row.program[:40]:40} {row.config[:50]:50} {row.card[:14]:14} {row.what[:16]:16} {judged.published:>12} "
          f"{judged.tidemark[:12]:>12} {judged.difference:>9} {judged.reason}", flush=True)


def every_row(chosen) -> list:
    shared = Path(os.environ.get("TIDEMARK_SHARED", HERE.parent.parent.parent / "shared"))
    files = chosen.rows or sorted((shared / "published").glob("*.tsv"))
    return [row for file in files for row in rows.read(file)]


def chosen_rows(chosen) -> list:
    """Pairs of recipe and row. What no run answers, such as the size of a work area, has no kind and is left out."""
    recipes, every = all_recipes(), every_row(chosen)
    if chosen.sample and not every:
        every = rows.of_table(RESULTS)
    found = []
    for row in every:
        recipe = next((recipe for recipe in recipes if recipe.matches(row)), None)
        if recipe is None or not recipe.kind(row) or not all(name.lower() in row.name.lower() for name in chosen.names):
            continue
        if not chosen.sample or recipe.sample(row):
            found.append((recipe, row))
    return found


def groups_of(pairs: list) -> dict:
    groups = {}
    for recipe, row in pairs:
        groups.setdefault((recipe, torch_of(recipe, row), recipe.group(row)), []).append(row)
    return groups


def changed(judged: list) -> list:
    """The rows of a sample that are not as they were: all of them are exact. A row whose packages are not here is not run, but
    Liger's programs need none."""
    return [one for one in judged if one.kind in ("allocated", "fits") and one.verdict != "exact" and
            (one.verdict != "not run" or "Liger-Kernel" in one.source)]


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tidemark", type=Path, required=True)
    parser.add_argument("--caches", type=Path, required=True)
    parser.add_argument("--rows", type=Path, action="append")
    parser.add_argument("--write", type=Path, metavar="FOLDER")
    parser.add_argument("--limit", type=int)
    for name in ("--list", "--again", "--older", "--sample", "--versions"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    return parser.parse_args()


def main() -> None:
    chosen = options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # which ends the program of a row, too
    chosen.tidemark = chosen.tidemark.resolve()
    pairs = chosen_rows(chosen)
    if not pairs:
        sys.exit("no published row is chosen; --list without a NAME lists them")
    if chosen.list:
        for recipe, row in pairs:
            print(f"{recipe.name:12} PyTorch {torch_of(recipe, row):5} {row.name}")
        return
    answers = Answers(chosen.caches / "published/answers.jsonl", digest_of_tidemark(chosen.tidemark), {row: recipe for recipe, row in pairs}, chosen.older)
    if chosen.versions:
        print("\n".join(compared(pairs, answers, list(VERSIONS))) or "no row has answers of two versions")
        return
    for (recipe, version, _), group in groups_of(pairs).items():
        group = group[:chosen.limit]
        answer_group(recipe, [row for row in group if chosen.again or not answers.has(row, version)], version, chosen, answers)
    judged = [judge(row, recipe, answers.of(row, torch_of(recipe, row))) for recipe, row in pairs]
    if chosen.write:
        from table import write
        from uncovered import count
        write(judged, chosen.write, count(every_row(chosen), all_recipes()))
    counts = {verdict: sum(one.verdict == verdict for one in judged) for verdict in ("exact", "right", "near", "off", "failed", "not run")}
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count))
    if chosen.sample:
        wrong = changed(judged)
        for one in wrong:
            print(f"changed: {one.program} {one.config}: {one.tidemark}, not {one.published} {one.unit}")
        sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
