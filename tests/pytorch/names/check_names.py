"""Checks that tensors of models are named whatever becomes of the models: check_names.py --tidemark PROGRAM --python
PYTHON [SCENE...]. Each scene of scenes.py prints the parts of its peak; the snapshot must agree.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SCENES = ["deleted", "without_optimizer", "evaluated", "teacher", "method", "coder_and_average", "copied_on_the_card",
          "list_of_tensors", "made_on_the_card", "assigned", "lists_of_inputs", "fixed_batch", "low_rank",
          "moved_with_gradients", "swapped", "sparse_gradients", "of_a_subclass", "nvtx_ranges", "nvtx_in_training",
          "served"]


def by_category(tidemark, snapshot):
    """Requested bytes at the peak; nothing if no category is known."""
    done = subprocess.run([tidemark, "summary", "--format", "json", snapshot], check=True, capture_output=True, text=True)
    table = json.loads(done.stdout)["tables"].get("by_category", {"rows": []})
    return {row["category"]: row["requested_bytes"] for row in table["rows"]}


def allocations(tidemark, snapshot):
    """The columns of each allocation."""
    done = subprocess.run([tidemark, "dump", snapshot], check=True, capture_output=True, text=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return [dict(bytes=int(row[5]), category=row[7], name=row[8], scope=row[9]) for row in rows if row[2] == "alloc"]


def wrong_scopes(expected, rows):
    """expected: requested bytes -> the scope of all allocations of that size."""
    for n_bytes, scope in expected.items():
        found = sorted({row["scope"] for row in rows if row["bytes"] == int(n_bytes)})
        if found != [scope]:
            yield f"{n_bytes} bytes in {found}, and not in {scope!r}"


def wrong_names(expected, rows):
    """expected: a name -> its category and requested bytes."""
    for name, block in expected.items():
        found = [[row["category"], row["bytes"]] for row in rows if row["name"] == name]
        if not found or any(row != block for row in found):
            yield f"{name}: {found}, and not {block}"


def differences(expected, found):
    for category, n_bytes in expected.items():
        least, most = n_bytes if isinstance(n_bytes, list) else (n_bytes, n_bytes)
        here = found.get(category, 0)
        if not least <= here <= most:
            yield f"{category}: {here} bytes, and not {least}" + (f" to {most}" if most != least else "")


def check(chosen, scene, folder):
    snapshot = os.path.join(folder, scene + ".json.gz")
    command = [chosen.tidemark, "run", "--device", "virtual:h100-80", *chosen.options, "-o", snapshot, "--",
               chosen.python, os.path.join(HERE, "scenes.py"), scene]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        return [f"status {done.returncode}", *done.stderr.splitlines()[-5:]]
    if "some modules have no names" in done.stderr:
        return done.stderr.splitlines()
    found = by_category(chosen.tidemark, snapshot)
    expected = json.loads(done.stdout.splitlines()[-1])
    scopes, names = expected.pop("scopes", {}), expected.pop("names", {})
    wrong = list(differences(expected, found))
    if scopes or names:
        rows = allocations(chosen.tidemark, snapshot)
        wrong += [*wrong_scopes(scopes, rows), *wrong_names(names, rows)]
    return [*wrong, str(found)] if wrong else []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tidemark", required=True, type=os.path.abspath)
    parser.add_argument("--python", required=True, type=os.path.abspath)
    parser.add_argument("--method", default="auto", help="of tidemark run")
    parser.add_argument("scenes", nargs="*", default=SCENES)
    chosen = parser.parse_args()
    chosen.options = ["--method", chosen.method]
    n_wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for scene in chosen.scenes:
            wrong = check(chosen, scene, folder)
            n_wrong += bool(wrong)
            print(f"{scene}: {'; '.join(wrong) if wrong else 'named as it should be'}", flush=True)
    sys.exit(f"{n_wrong} of {len(chosen.scenes)} scenes are wrong" if n_wrong else 0)


if __name__ == "__main__":
    main()
