"""Runs programs on a virtual card, recorded by `tidemark run` and bare, and reports what each left behind.

A run has its own folders for its work, its temporary files and its logs, so that anything that is left shows.
"""
import glob
import gzip
import json
import os
import subprocess
import tempfile
import time

CARD = "h100-80"


class Wrong(Exception):
    """A check failed."""


def need(condition, *what):
    if not condition:
        raise Wrong(" ".join(str(part) for part in what))


def share_parts(cache):
    """tidemark's own parts in C++, which take minutes to build, are those that this user's runs have built, as another card's."""
    user = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    for path in glob.glob(os.path.join(user, "tidemark/compilers/*/*/tidemark/*.so")):
        inside = path.split(os.sep)[-3:]
        shared = os.path.join(cache, "tidemark/compilers/shared", *inside)
        os.makedirs(os.path.dirname(shared), exist_ok=True)
        if not os.path.exists(shared):
            os.symlink(path, shared)


class Folder:
    """Folders of one run: the program's own, temporary files, state."""

    def __init__(self):
        self.owner = tempfile.TemporaryDirectory()
        self.top = os.path.realpath(self.owner.name)
        self.work, self.temporary, self.state = (os.path.join(self.top, name) for name in ("work", "tmp", "state"))
        for path in (self.work, self.temporary, self.state):
            os.mkdir(path)
        self.cache = os.path.join(self.top, "cache")  # what is compiled is compiled anew, with and without the recorder
        share_parts(self.cache)

    def write(self, name, text):
        path = os.path.join(self.work, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def environment(self, **more):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("TIDEMARK_", "PYTORCH_", "PYTHON", "LD_"))}
        ours = dict(TMPDIR=self.temporary, XDG_STATE_HOME=self.state, XDG_CACHE_HOME=self.cache, PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1")
        return {**kept, **ours, **more}

    def left(self):
        """Files in the folders of temporary files and of logs, and folders of runs."""
        found = []
        for top in (self.temporary, self.state):
            for folder, folders, files in os.walk(top):
                found += [os.path.join(folder, name) for name in files]
                found += [os.path.join(folder, name) for name in folders if name.startswith(("run-", "tidemark-run-"))]
        return sorted(found)

    def outputs(self):
        """Names in the program's folder."""
        return sorted(os.listdir(self.work))

    def snapshots(self):
        found = []
        for name in self.outputs():
            if name.endswith(".json.gz"):
                with gzip.open(os.path.join(self.work, name)) as file:
                    found.append(Snapshot(name, json.load(file)))
        return found


class Snapshot:
    """A check's queries of a snapshot."""

    def __init__(self, name, content):
        self.name = name
        self.content = content
        self.outcome = content["run"]["outcome"]
        self.dropped = content["log"]["dropped_events"]
        self.n_events = len(content["events"]["time_delta"])
        kinds = content["scope_kinds"]
        self.n_steps = sum(kinds[kind] == "step" for kind in content["scopes"]["kind"])
        self.names = set(content["strings"])
        # PyTorch's own history knows nothing of the driver's level.
        self.is_live = bool(content.get("owners", {}).get("rows"))

    def blocks(self, where="end"):
        """[(address, bytes, is_allocated)] of all blocks at the start or the end."""
        found = []
        unit = self.content["address_unit_bytes"]
        for segment in self.content[where]["segments"]:
            address = segment["address"] * unit
            for block in segment["blocks"]:
                found.append((address + block["offset_bytes"], block["block_bytes"], block["state"] == 1))
        return sorted(found)

    def stacks_of(self, action, n_bytes):
        """[(function, file, line)], innermost first, of each event of that action and size."""
        content, events = self.content, self.content["events"]
        strings, frames, stacks, found = content["strings"], content["frames"], content["stacks"], []
        kind = content["actions"].index(action)
        for what, size, stack in zip(events["action"], events["requested_bytes"], events["stack"]):
            if what != kind or size != n_bytes:
                continue
            found.append([])
            while stack >= 0:
                frame = stacks["frame"][stack]
                file = os.path.basename(strings[frames["file"][frame]])
                found[-1].append((strings[frames["function"][frame]], file, frames["line"][frame]))
                stack = stacks["parent"][stack]
        return found


class Done:
    """A run that is over. errors: what the program wrote on stderr; ours: our lines of it."""

    def __init__(self, status, stdout, stderr, folder):
        lines = stderr.splitlines(keepends=True)
        self.status, self.stdout, self.stderr, self.folder = status, stdout, stderr, folder
        self.ours = [line for line in lines if line.startswith("tidemark")]
        self.errors = "".join(line for line in lines if not line.startswith("tidemark"))
        self.snapshots = folder.snapshots()


class Runs:
    """The programs of the checks: tidemark, and Python with PyTorch."""

    def __init__(self, tidemark, python):
        self.tidemark, self.python = os.path.abspath(tidemark), os.path.abspath(python)
        self.objects = os.path.realpath(os.path.join(os.path.dirname(self.tidemark), "../programs"))

    def command(self, options, program):
        return [self.tidemark, "run", "--device", f"virtual:{CARD}", *options, "--", *program]

    def recorded(self, folder, program, options=(), environment=None, **named):
        done = subprocess.run(self.command(options, program), cwd=folder.work, capture_output=True, text=True,
                              env=folder.environment(**(environment or {})), stdin=subprocess.DEVNULL, timeout=180, **named)
        return Done(done.returncode, done.stdout, done.stderr, folder)

    def bare(self, folder, program, environment=None, **named):
        """On the virtual card by hand."""
        library = os.path.join(self.objects, "libtidemark_virtual_cuda.so")
        links = os.path.join(folder.top, "links")
        os.mkdir(links)
        for name in ("libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1"):
            os.symlink(library, os.path.join(links, name))
        card = dict(TIDEMARK_VIRTUAL_CARDS=CARD, LD_LIBRARY_PATH=links, LD_PRELOAD=library)
        done = subprocess.run(program, cwd=folder.work, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env=folder.environment(**dict(card, **(environment or {}))), timeout=180, **named)
        return Done(done.returncode, done.stdout, done.stderr, folder)


def wait_for(look, seconds=100):
    """Until look() is true; its last value."""
    end = time.monotonic() + seconds
    while not (found := look()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def run_checks(checks, names):
    """Calls each (name, function), two at a time; the number of wrong ones."""
    import concurrent.futures

    def one(check):
        begin = time.monotonic()
        try:
            said = check[1]() or ""
            return True, f"ok   {check[0]:38} {time.monotonic() - begin:5.1f} s  {said}"
        except (Wrong, subprocess.TimeoutExpired) as error:
            return False, f"FAIL {check[0]:38} {time.monotonic() - begin:5.1f} s  {error}"

    chosen = [check for check in checks if not names or any(check[0].startswith(name) for name in names)]
    n_bad = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for is_right, text in pool.map(one, chosen):
            n_bad += not is_right
            print(text, flush=True)
    return n_bad
