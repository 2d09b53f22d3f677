#!/usr/bin/env python3
"""Changes of `tidemark plan`, beside the same changes made by hand: both peaks are equal to the byte.

run.py --tidemark TIDEMARK --python PYTHON [--full] [PART OF A NAME...]. The twin of a program is made of its text and
the lines that the run with the change prints, at their place. Where no line can be added, and where there is a usual
way to write the change, the twin is made by the replacements below.
"""
import argparse
import concurrent.futures
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading

import twins

HERE = os.path.dirname(os.path.abspath(__file__))
RANKS = ("--world", "4", "--ranks", "0")

# program, its arguments, options of tidemark run, changes
PRINTED = [
    ("gpt", "", (), "checkpoint:Block"),
    ("gpt", "", (), "checkpoint_half:Block"),
    ("gpt", "", (), "checkpoint_selective:Block"),
    ("gpt", "", (), "offload_activations"),
    ("gpt", "", (), "fused"),
    ("gpt", "", (), "no_foreach"),
    ("gpt", "", (), "optimizer_in_backward"),
    ("gpt", "", (), "adafactor"),
    ("gpt", "", (), "bf16"),
    ("gpt", "", (), "chunked_loss"),
    ("gpt", "", (), "checkpoint:Block,chunked_loss,bf16,fused"),
    ("gpt", "", RANKS, "fully_shard:Block"),
    ("gpt", "", RANKS, "checkpoint:Block,fully_shard:Block,fused"),
    ("convolutions", "", (), "checkpoint:Stage"),
    ("convolutions", "", (), "autocast"),
    ("convolutions", "", (), "micro_batch:2"),
    ("convolutions", "", (), "autocast,checkpoint_half:Stage,micro_batch:2"),
    ("engine", "", (), "checkpoint:Layer"),
    ("engine", "", (), "optimizer_in_backward"),
    ("engine", "", (), "chunked_loss"),
    ("engine", "", (), "bf16,adafactor"),
    ("closes", "", (), "fused"),
    ("evaluates", "", (), "no_grad_eval"),
    ("evaluates", "", (), "set_to_none"),
    ("library", "OfTransformers", (), "checkpoint_library"),
    ("library", "OfTimm", (), "checkpoint_library"),
    ("replicas", "", RANKS, "bucket_view"),
    ("two_models", "", (), "checkpoint:Part"),
]
FULL = [
    ("gpt", "", (), "checkpoint:Block,offload_activations,optimizer_in_backward"),
    ("convolutions", "", (), "fused"),
    ("convolutions", "", (), "no_foreach"),
    ("convolutions", "", (), "micro_batch:4"),
    ("evaluates", "", (), "no_foreach"),
    ("library", "OfDiffusers", (), "checkpoint_library"),
    ("replicas", "", RANKS, "checkpoint:Part"),
    ("two_models", "", (), "fused"),
    ("gpt", "", (), "compile"),
    ("gpt", "", (), "adamw8bit"),
]

LINES = "lines"  # the printed lines, with the call of the function of head and loss
IMPORTS = "from torch.nn import functional as F\n"
BY_HAND = [
    ("closes", "", (), "fused", [("lr=1e-3", "lr=1e-3, fused=True")]),
    ("gpt", "", (), "fused", [("lr=3e-4", "lr=3e-4, fused=True")]),
    ("gpt", "", (), "no_foreach", [("lr=3e-4", "lr=3e-4, foreach=False")]),
    ("gpt", "", (), "adafactor", [("AdamW(model.parameters(), lr=3e-4", "Adafactor(model.parameters(), lr=3e-4, weight_decay=0.01")]),
    ("gpt", "", (), "linear_loss", LINES),
    ("gpt", "", (), "checkpoint:Block,linear_loss,fused", LINES),
    ("replicas", "", RANKS, "bucket_view", [("DistributedDataParallel(model)", "DistributedDataParallel(model, gradient_as_bucket_view=True)")]),
    ("convolutions", "", (), "autocast", [("    loss = criterion(model(x.cuda()), y.cuda())", """    with torch.autocast("cuda", dtype=torch.bfloat16):
        output = model(x.cuda())
    loss = criterion(output, y.cuda())
    del output""")]),
]
# The call of the printed function of head and loss, in the program.
LINEAR = [("logits = model(tokens[:, :-1])", "x = model(tokens[:, :-1])"), ("return self.head(self.norm(x))", "return self.norm(x)"),
          ("loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())",
           "loss = head_and_loss(x.flatten(0, 1), model.head, tokens[:, 1:].flatten())")]


class Runs:
    """Runs of one test, and what went wrong. Runs of one kind share an import of torch, unless each is wanted alone."""

    def __init__(self, options):
        self.options, self.folder, self.known, self.failures = options, tempfile.mkdtemp(), {}, []
        self.n_starts, self.lock = 0, threading.Lock()

    def make(self, jobs):
        """Makes runs, two at a time. A job is a program, its arguments, options of tidemark run, and changes or None."""
        jobs = [job for job in dict.fromkeys(jobs) if job not in self.known]
        alone = [job for job in jobs if self.options.alone or job[2] or self.compiles(job)]  # of ranks: one name for all processes
        plain = [job for job in jobs if job not in alone and job[3] is None]
        changed = [job for job in jobs if job not in alone and job[3] is not None]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            made = [pool.submit(self.make_alone, job) for job in alone]
            made += [pool.submit(self.make_plain, plain[i::2]) for i in range(2)]
            made += [pool.submit(self.make_changed, [job for job in changed if job[:2] == kind], *kind)
                     for kind in dict.fromkeys(job[:2] for job in changed)]
            for future in made:
                future.result()

    def compiles(self, job):
        return job[3] == "compile" or ".compile()" in self.text_of(job[0])

    def make_alone(self, job):
        program, arguments, more, changes = job
        for _ in range(2 if self.compiles(job) else 1):  # the first has other peaks: the compiled code is not in the cache
            found = self.start(more, ["--apply", changes] if changes else [], [program, *arguments.split()])
        self.known[job] = found[0] if found else None

    def make_plain(self, jobs):
        commands = [",".join([job[0], *job[1].split()]) for job in jobs]
        if commands:
            found = self.start((), [], [os.path.join(HERE, "each.py"), *commands])
            by_command = {row["command"]: row for row in found}
            for job, command in zip(jobs, commands):
                self.known[job] = by_command.get(command)

    def make_changed(self, jobs, program, arguments):
        sets = [job[3] for job in jobs]
        found = self.start((), ["--apply", "observe"], [self.options.many, ";".join(sets), program, *arguments.split()])
        by_set = {row["facts"].get("set", "observe"): row for row in found}
        for job in jobs:
            self.known[job] = by_set.get(job[3])

    def start(self, more, options, arguments):
        """The processes of one `tidemark run`."""
        with self.lock:
            self.n_starts += 1
            out = os.path.join(self.folder, f"{self.n_starts}-of")
        command = [self.options.tidemark, "run", "--device", "virtual:h100-80", "-o", out + ".json.gz", "--html", out + ".html",
                   *more, *options, "--", self.options.python, *arguments]
        done = subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace")
        if done.returncode != 0 or "PAIR failed" in done.stdout:
            self.failures.append(f"{' '.join(command)}: status {done.returncode}\n{done.stdout[-2500:]}")
        commands = dict(re.findall(r"^PAIR (\d+) (.*)$", done.stdout, re.MULTILINE))
        return [self.read(path, commands) for path in sorted(glob.glob(out + "*.json.gz"))]

    def read(self, path, commands):
        with gzip.open(path) as file:
            snapshot = json.load(file)
        peaks = {}
        for device, summary in zip(snapshot["devices"], snapshot["summary"]):
            most = summary["max"]
            peaks[device["kind"]] = most["allocated"]["bytes"], most["reserved"]["bytes"]
        process = re.search(r"-process(\d+)\.json", path)
        own = commands.get(process.group(1)) if process else next(iter(commands.values()), None)
        return {"peaks": peaks.get("virtual"), "host": peaks.get("pinned", (0, 0))[0], "facts": snapshot.get("plan", {}), "command": own,
                "steps": sum(1 for kind in snapshot["scopes"]["kind"] if snapshot["scope_kinds"][kind] == "step")}

    def run(self, program, arguments, more, changes=None):
        """A run that make() made; None if it failed."""
        return self.known.get((program, arguments, more, changes))

    def text_of(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)
        return name


def source_of(program):
    with open(os.path.join(HERE, "programs", program + ".py"), encoding="utf-8") as file:
        return file.read()


def compare(runs, title, injected, twin):
    if injected is None or twin is None:
        runs.failures.append(f"{title}: a run failed")
        return
    is_same = injected["peaks"] == twin["peaks"] and injected["host"] == twin["host"]
    print(f"{title}: {injected['peaks'][0]:,} / {injected['peaks'][1]:,}" + ("" if is_same else f", by hand {twin['peaks']}"), flush=True)
    if not is_same:
        runs.failures.append(f"{title}: {injected['peaks']}, host {injected['host']}; by hand {twin['peaks']}, host {twin['host']}")


def keys_of(runs, title, injected, changes):
    """The facts of each change that must have been applied."""
    facts = injected["facts"]
    missing = [key for key in changes.split(",") if not facts.get("did." + key) or not facts.get("lines." + key)]
    if missing:
        refused = {key: text for key, text in facts.items() if key.startswith("cannot.") and key[7:] in changes}
        runs.failures.append(f"{title}: not applied: {missing}: {refused}")
    return [key for key in changes.split(",") if key not in missing]


class Pair:
    """A program with a change, and its twin made by hand."""

    def __init__(self, runs, program, arguments, more, changes, replacements=None):
        self.title = f"{program} {arguments} {changes}".replace("  ", " ") + (", written otherwise" if replacements else "")
        self.runs, self.program, self.arguments, self.more, self.changes = runs, program, arguments, more, changes
        self.replacements = replacements
        self.name = runs.write(program + ".py", source_of(program))
        self.twin = None

    def injected(self):
        return self.name, self.arguments, self.more, self.changes

    def plain(self):
        return self.name, self.arguments, self.more, None

    def write_twin(self, number):
        """Writes the twin from what the run with the change prints, and returns its run."""
        injected = self.runs.run(*self.injected())
        if injected is None:
            return None
        keys = keys_of(self.runs, self.title, injected, self.changes)
        text = source_of(self.program)
        if self.replacements in (None, LINES):
            parts = [part for key in keys if key != "linear_loss" for part in twins.parts_of(injected["facts"], key)]
            text = twins.insert(text, self.name, parts)
        if self.replacements == LINES:
            function = injected["facts"].get("lines.linear_loss", "").partition("\n\n# ")[0]
            text = replaced(self, text, [*LINEAR, (IMPORTS, function + "\n")])
        elif self.replacements:
            text = replaced(self, text, self.replacements)
        self.twin = self.runs.write(f"twin_{number}.py", text)
        return self.twin, self.arguments, self.more, None

    def compare(self):
        if self.twin is None:
            self.runs.failures.append(f"{self.title}: the run with the change failed")
            return
        injected, plain = self.runs.run(*self.injected()), self.runs.run(*self.plain())
        compare(self.runs, self.title, injected, self.runs.run(self.twin, self.arguments, self.more))
        if plain is not None and plain["steps"] != injected["steps"]:
            self.runs.failures.append(f"{self.title}: {injected['steps']} steps; the program alone makes {plain['steps']}")


def replaced(pair, text, replacements):
    for old, new in replacements:
        if old not in text:
            pair.runs.failures.append(f"{pair.title}: {old!r} is not in the program")
        text = text.replace(old, new)
    return text


def check_steps(runs):
    """--steps counts the optimizer's steps also where a change moves or joins them."""
    rows = [("gpt", "optimizer_in_backward"), ("convolutions", "micro_batch:2")]
    jobs = [(runs.write(program + ".py", source_of(program)), "", ("--steps", "2"), changes) for program, changes in rows]
    runs.make(jobs)
    for job in jobs:
        found = runs.run(*job)
        if found is None or found["steps"] != 2 or not found["facts"].get("did." + job[3]):
            runs.failures.append(f"{job}: {found and found['steps']} steps, not 2")


def check_observing(runs):
    """Observing changes no byte."""
    jobs = []
    for program in sorted({row[0] for row in PRINTED}):
        name = runs.write(program + ".py", source_of(program))
        jobs.append((name, "OfTimm" if program == "library" else "", RANKS if program == "replicas" else (), "observe"))
    runs.make(jobs + [(*job[:3], None) for job in jobs])
    for job in jobs:
        compare(runs, f"{job[0]}, observed", runs.run(*job), runs.run(*job[:3]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tidemark", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--many", default=os.path.join(HERE, "../../../python/tidemark/changes/many.py"))
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--alone", action="store_true", help="a run of tidemark for each program")
    parser.add_argument("only", nargs="*")
    options = parser.parse_args()
    runs = Runs(options)
    is_meant = lambda title: not options.only or any(part in title for part in options.only)
    rows = PRINTED + (FULL if options.full else []) + BY_HAND
    pairs = [pair for pair in (Pair(runs, *row) for row in rows) if is_meant(pair.title)]
    runs.make([pair.injected() for pair in pairs])
    twins_made = [pair.write_twin(i) for i, pair in enumerate(pairs)]
    runs.make([job for job in twins_made if job is not None] + [pair.plain() for pair in pairs])
    for pair in pairs:
        pair.compare()
    if is_meant("--steps"):
        check_steps(runs)
    if is_meant("observed"):
        check_observing(runs)
    for failure in runs.failures:
        print("FAILED " + failure)
    shutil.rmtree(runs.folder)
    print(f"{len(pairs)} pairs, {runs.n_starts} starts, {len(runs.failures)} failures")
    return 1 if runs.failures else 0


if __name__ == "__main__":
    sys.exit(main())
