"""Runs a record of modded-nanogpt for a few steps: a log of its repository begins with the whole script that wrote it.

  modded_nanogpt.py REPOSITORY ROWS

REPOSITORY: the folder of a clone. Answers the rows whose logs have the same script as the first row; the runner asks again for the others.
The tokens are documents of 700 equal words in files of the script's format, and the run is shortened: memory and the time of a step do not depend on either.
"""
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path

STEPS, TOKENS, DOCUMENT, END_OF_TEXT = 24, 60_000_000, 700, 50256
LINE = re.compile(r"^=+$", re.M)


def script_of(repository: str, log: str) -> str:
    whole = subprocess.run(["git", "-C", repository, "show", f"HEAD:{log}"], capture_output=True, text=True).stdout
    return LINE.split(whole)[0]


def write_tokens(folder: str) -> None:
    import numpy
    tokens = numpy.zeros(TOKENS, dtype=numpy.uint16)
    tokens[::DOCUMENT] = END_OF_TEXT
    for kind in ("train", "val"):
        file = Path(folder) / f"fineweb_{kind}_000001.bin"
        file.parent.mkdir(parents=True, exist_ok=True)
        header = numpy.zeros(256, dtype=numpy.int32)
        header[:3] = 20240520, 1, TOKENS
        file.write_bytes(header.tobytes() + tokens.tobytes())


def shortened(script: str) -> str:
    for name, value in (("num_iterations", STEPS), ("num_scheduled_iterations", STEPS), ("val_loss_every", 0), ("warmup_iters", 0), ("cooldown_iters", 4),
                        ("warmdown_iters", 4)):
        script = re.sub(rf"^(\s*{name}\s*(?::\s*int)?\s*=\s*)\d+", rf"\g<1>{value}", script, flags=re.M)
    return script


def run(script: str) -> str:
    """What it wrote into its log."""
    for folder in set(re.findall(r"data/fineweb\w*", script)):
        write_tokens(folder)
    real = subprocess.run
    subprocess.run = lambda words, *args, **named: real(["true"] if "nvidia-smi" in str(words) else words, *args, **named)
    for folder in ("", *re.findall(r"""run_id\s*=\s*f?["']([\w/]+)/""", script)):
        (Path("logs") / folder).mkdir(parents=True, exist_ok=True)
    file = Path("train_gpt.py")
    file.write_text(shortened(script))
    sys.argv = [str(file)]
    try:
        exec(compile(file.read_text(), str(file.resolve()), "exec"), {"__name__": "__main__", "__file__": str(file.resolve())})
    except SystemExit:
        pass
    return "".join(log.read_text() for log in sorted(Path("logs").rglob("*.txt")))


def answers_of(log: str) -> dict:
    found = {}
    both = re.search(r"peak memory allocated: (\d+) MiB,? reserved: (\d+) MiB", log)
    one = re.search(r"peak memory consumption: (\d+) MiB", log)
    if both:
        found["peak_allocated_MiB"], found["peak_reserved_or_consumption_MiB"] = ((value, "MiB") for value in both.groups())
    elif one:
        found["peak_reserved_or_consumption_MiB"] = (one.group(1), "MiB")
    times = re.findall(r"step_avg:([\d.]+)ms", log)
    if times:
        found["last_step_avg_ms"] = (times[-1], "ms")
    return found


def main() -> None:
    repository = sys.argv[1]
    lines = [line.split("\t") for line in Path(sys.argv[2]).read_text().splitlines()]
    script = script_of(repository, lines[0][1])
    lines = [line for line in lines if script_of(repository, line[1]) == script]
    why = "its log has no such line" if script.strip() else "the clone has no such log"
    try:
        found = answers_of(run(script)) if script.strip() else {}
    except Exception as error:  # a row needs an answer, or the runner would ask for each of them again
        traceback.print_exc()
        found, why = {}, f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"
    for key, _, _, _, what, _ in lines if os.environ.get("RANK", "0") == "0" else ():
        print("ROW", key, what, *found.get(what, ("FAILED", why)), sep="\t", flush=True)


if __name__ == "__main__":
    main()
