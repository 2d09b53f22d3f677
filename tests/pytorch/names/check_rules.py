"""Compares what `tidemark run` and PyTorch's own snapshot of the same run call each block: check_rules.py --tidemark
PROGRAM --python PYTHON.

The answer of the run, the summary of its snapshot, and the summary of PyTorch's snapshot follow one set of rules. A
block has the same category in both files, or "unknown" in the one that knows less (docs/reference/categories.md).
"""
import argparse
import collections
import difflib
import os
import re
import subprocess
import sys
import tempfile

from check_names import by_category

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = ["train", "infer", "closure", "moved"]
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
WORDS = {"activations": "activation", "gradients": "gradient", "parameters": "parameter", "buffers": "buffer",
         "temporaries": "temporary", "inputs": "input", "optimizer state": "optimizer_state",
         "unknown kind": "unknown"}  # of the answer
LEAST_EXPLAINED = {"train": 0.5, "infer": 0.5, "closure": 0.3, "moved": 0.9}  # share of blocks that PyTorch's file explains


def blocks(tidemark, path):
    """[(bytes, category)] of all allocations, in order."""
    done = subprocess.run([tidemark, "dump", path], check=True, capture_output=True, text=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return [(int(row[5]), row[7], row[10]) for row in rows if row[2] == "alloc"]


def contradictions(tidemark, ours, theirs):
    """Pairs of categories that exclude each other, and how many allocations have them."""
    mine, other = blocks(tidemark, ours), blocks(tidemark, theirs)
    same = difflib.SequenceMatcher(None, [row[0] for row in mine], [row[0] for row in other], autojunk=False)
    paired = [(mine[a + i], other[b + i]) for a, b, n in same.get_matching_blocks() for i in range(n)]
    if len(paired) < 0.99 * len(mine):
        return {f"{len(paired)} of {len(mine)} and {len(other)} allocations are the same": 1}, 0
    pairs = collections.Counter((a[1], b[1], a[2]) for a, b in paired)
    wrong = {pair: n for pair, n in pairs.items() if "unknown" not in pair[:2] and pair[0] != pair[1]}
    known = sum(n for pair, n in pairs.items() if pair[1] != "unknown")
    less = {pair: n for pair, n in pairs.items() if pair[0] == "unknown" != pair[1]}
    return {**wrong, **less}, known / len(other)


def answer_differs(text, found):
    """The categories of the answer's sentence beside those of the summary, as far as three digits show."""
    sentence = re.search(r"By kind: (.*)\.", text).group(1)
    for number, unit, words in re.findall(r"([\d.]+) (\w+) (?:of )?([^,]+)", sentence):
        category = WORDS.get(words.strip())
        n_bytes = float(number) * UNITS[unit]
        if category is not None and abs(n_bytes - found.get(category, 0)) > 0.02 * n_bytes + 4096:
            yield f"the answer has {number} {unit} {words}, the summary {found.get(category, 0)} bytes"


def check(chosen, kind, folder):
    ours, theirs = (os.path.join(folder, f"{kind}.{ending}") for ending in ("json.gz", "pickle"))
    command = [chosen.tidemark, "run", "--device", "virtual:h100-80", "--writes", "allow", "-o", ours, "--",
               chosen.python, os.path.join(HERE, "rules.py"), theirs, kind]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        return [f"status {done.returncode}", *done.stderr.splitlines()[-5:]]
    wrong, share = contradictions(chosen.tidemark, ours, theirs)
    said = [f"{pair}: {n} blocks" for pair, n in wrong.items()]
    if share < LEAST_EXPLAINED[kind]:
        said.append(f"PyTorch's file explains {share:.0%} of the blocks")
    return said + list(answer_differs(done.stderr, by_category(chosen.tidemark, ours)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tidemark", required=True, type=os.path.abspath)
    parser.add_argument("--python", required=True, type=os.path.abspath)
    parser.add_argument("kinds", nargs="*", default=KINDS)
    chosen = parser.parse_args()
    n_wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for kind in chosen.kinds:
            wrong = check(chosen, kind, folder)
            n_wrong += bool(wrong)
            print(f"{kind}: {'; '.join(map(str, wrong)) if wrong else 'the same categories'}", flush=True)
    sys.exit(f"{n_wrong} of {len(chosen.kinds)} programs have categories that contradict each other" if n_wrong else 0)


if __name__ == "__main__":
    main()
