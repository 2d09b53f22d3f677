#!/usr/bin/env python3
"""Checks the process of --log-to with stand-ins for wandb, mlflow and tidemark, and the notes about the program's
runs: test_trackers.py PACKAGES"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PACKAGES = os.path.abspath(sys.argv[1])

EXPLAINED = {
    "figures": {"allocated_peak_bytes": 3 << 30, "reserved_peak_bytes": 4 << 30, "ooms": 2},
    "tables": {"peak_categories": {"rows": [{"category": "parameter", "bytes": 1 << 30},
                                            {"category": "activation", "bytes": 2 << 30}]}},
    "sentences": {"filled": ["The peak is here."], "kinds": ["By kind: so."]},
}

TIDEMARK = """#!{python}
import sys
assert sys.argv[1:4] == ["explain", "--format", "json"], sys.argv
if sys.argv[4] == "broken.json.gz":
    sys.exit("tidemark explain: broken.json.gz: no snapshot")
print('''{explained}''')
"""

WANDB = """
import json, os, sys
class Html:
    def __init__(self, path, inject):
        self.path = path
class Settings:
    def __init__(self, **own):
        pass
class Summary(dict):
    pass
class Run:
    def __init__(self, **given):
        self.given, self.id, self.summary, self.saved = given, given["id"] or "new", Summary(), []
        self.disabled, self.settings, self.dir = False, None, os.path.abspath("wandb/run-1/files")
        os.makedirs(self.dir, exist_ok=True)
    def save(self, path, base_path, policy):
        self.saved.append(os.path.relpath(path, base_path))
    def finish(self):
        with open("wandb.json", "w") as file:
            json.dump({"given": {k: v for k, v in self.given.items() if k != "settings"}, "saved": self.saved,
                       "summary": {k: getattr(v, "path", v) for k, v in self.summary.items()}}, file)
def init(**given):
    print("wandb: a word that is not ours")
    if os.environ.get("BREAKS"):
        raise ConnectionError("no\\nserver")
    return Run(**{"id": None, **given})
def teardown():
    pass
"""

MLFLOW = """
import json
class Info:
    def __init__(self, run_id):
        self.run_id, self.experiment_id = run_id, "7"
class Found:
    def __init__(self, run_id):
        self.info, self.experiment_id, self.name = Info(run_id), "7", "mine"
class MlflowClient:
    calls = []
    def __init__(self, tracking_uri=None):
        from .tracking._tracking_service import utils
        self.tracking_uri = utils._resolve_tracking_uri(tracking_uri)
    def get_run(self, run_id):
        if run_id != "known":
            raise KeyError(run_id)
        return Found(run_id)
    def get_experiment(self, number):
        return Found("")
    def get_experiment_by_name(self, name):
        self.calls.append(["experiment", name])
        return None
    def create_experiment(self, name):
        return "8"
    def create_run(self, experiment_id, run_name=None):
        self.calls.append(["create", experiment_id, run_name])
        return Found("made")
    def __getattr__(self, name):
        def call(*arguments):
            self.calls.append([name, *arguments])
            with open("mlflow.json", "w") as file:
                json.dump(self.calls, file)
        return call
def set_tracking_uri(uri):
    pass
def get_tracking_uri():
    return "file:./default"
"""

MLFLOW_SERVERS = """
_tracking_uri = "file:./mlruns"
def set_tracking_uri(uri):
    global _tracking_uri
    _tracking_uri = uri
def _resolve_tracking_uri(tracking_uri=None):
    return tracking_uri or _tracking_uri
"""

TENSORBOARD = """
class EventFileWriter:
    def __init__(self, logdir, flush_secs=120):
        self.logdir = logdir
"""

NOTING = """
import sys
sys.path.insert(0, {packages!r})
from tidemark.trackers import seen
seen.start()
import mlflow.tracking.client, wandb
from tensorboard.summary.writer.event_file_writer import EventFileWriter
assert wandb.init(project="p", id="w1").id == "w1"
wandb.init(project="p", mode="offline")
wandb.init(project="p", mode="disabled")
mlflow.tracking.client.MlflowClient().create_run("7")
EventFileWriter("logs")
"""


CHOOSING = """
import json, sys
sys.path.insert(0, {packages!r})
from tidemark.trackers import seen
seen.start()
import wandb
given = ({{"mode": "offline"}}, {{"mode": "online"}}, {{}})
print(json.dumps([wandb.init(**one).given.get("mode") for one in given]))
"""

CHANGING_SERVERS = """
import sys
sys.path.insert(0, {packages!r})
from tidemark.trackers import seen
seen.start()
import mlflow.tracking.client
from mlflow.tracking._tracking_service import utils
def make(uri=None):
    mlflow.tracking.client.MlflowClient(uri).create_run("7")
make("file:./mlruns")
utils.set_tracking_uri("http://team:5000")
make()
make("file:./mlruns")
make("databricks://other")
make()
utils.set_tracking_uri("sqlite:///mine.db")
make()
make("http://team:5000")
"""


class Trackers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write("tidemark", TIDEMARK.format(python=sys.executable, explained=json.dumps(EXPLAINED)))
        os.chmod(os.path.join(self.folder, "tidemark"), 0o755)
        self.write("modules/wandb.py", WANDB)
        self.write("modules/mlflow/__init__.py", MLFLOW)
        self.write("modules/mlflow/tracking/__init__.py", "")
        self.write("modules/mlflow/tracking/_tracking_service/__init__.py", "")
        self.write("modules/mlflow/tracking/_tracking_service/utils.py", MLFLOW_SERVERS)
        self.write("modules/mlflow/tracking/client.py", "from .. import MlflowClient\n")
        self.write("modules/tensorboard/__init__.py", "")
        self.write("modules/tensorboard/summary/__init__.py", "")
        self.write("modules/tensorboard/summary/writer/__init__.py", "")
        self.write("modules/tensorboard/summary/writer/event_file_writer.py", TENSORBOARD)
        self.write("a.html", "<!doctype html>")
        self.write("a.json.gz", "snapshot")

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)

    def read(self, name):
        with open(os.path.join(self.folder, name)) as file:
            return json.load(file)

    def start(self, *command, **environment):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("WANDB_", "MLFLOW_", "TIDEMARK_"))}
        return subprocess.run([sys.executable, "-B", *command], cwd=self.folder, text=True, capture_output=True, timeout=60,
                              env={**clean, "PYTHONPATH": os.path.join(self.folder, "modules"), **environment})

    def log(self, to, *notes, snapshot="a.json.gz", **environment):
        """The lines that the process prints."""
        options = [word for note in notes for word in ("--note", json.dumps(note))]
        done = self.start(os.path.join(PACKAGES, "tidemark/trackers/__main__.py"), "--tidemark", "./tidemark", "--to", to,
                          "--device", "virtual:h100-80", "--name", "train", "--status", "3", "--page", "a.html", *options,
                          "--", snapshot, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertTrue(all(line.startswith("log-to: ") for line in lines), lines)
        return [line.removeprefix("log-to: ") for line in lines]

    def test_wandb_gets_figures_sentences_and_files(self):
        self.assertEqual(self.log("wandb"), ["logged to wandb, run new"])
        logged = self.read("wandb.json")
        self.assertEqual(logged["summary"], {
            "tidemark/peak_allocated_gib": 3.0, "tidemark/peak_reserved_gib": 4.0, "tidemark/failed_requests": 2,
            "tidemark/exit_status": 3, "tidemark/peak_gib/parameter": 1.0, "tidemark/peak_gib/activation": 2.0,
            "tidemark/device": "virtual:h100-80", "tidemark/program": "train",
            "tidemark/answer": "The peak is here.\nBy kind: so.", "tidemark/report": "a.html"})
        self.assertEqual(logged["saved"], ["tidemark/a.html", "tidemark/a.json.gz"])
        self.assertEqual(logged["given"]["name"], "tidemark: train on virtual:h100-80")

    def test_the_run_is_that_of_the_program(self):
        note = {"tracker": "wandb", "id": "w1", "project": "p", "entity": None, "dir": None}
        self.assertEqual(self.log("wandb", note), ["logged to wandb, run w1"])
        given = self.read("wandb.json")["given"]
        self.assertEqual((given["id"], given["resume"], given["project"], given["name"]), ("w1", "allow", "p", None))
        self.assertEqual(self.log("wandb", note, WANDB_RUN_ID="w2"), ["logged to wandb, run w2"])
        self.assertIsNone(self.read("wandb.json")["given"]["mode"])
        lines = self.log("wandb", note, WANDB_MODE="offline")
        self.assertEqual(lines, [f"logged to wandb, run w1: wandb sync {os.path.realpath(self.folder)}/wandb/run-1"])
        self.assertIsNone(self.read("wandb.json")["given"]["resume"])
        self.assertEqual(self.log("wandb", {**note, "is_offline": True}), lines)
        self.assertEqual(self.read("wandb.json")["given"]["mode"], "offline")

    def test_mlflow(self):
        note = {"tracker": "mlflow", "id": "lost", "uri": "file:./mlruns", "experiment": "mine"}
        self.assertEqual(self.log("mlflow", note), ["logged to mlflow, run made of file:./mlruns"])
        calls = self.read("mlflow.json")
        self.assertEqual(calls[:2], [["experiment", "mine"], ["create", "8", "tidemark: train on virtual:h100-80"]])
        self.assertIn(["log_metric", "made", "tidemark/peak_gib/activation", 2.0], calls)
        self.assertIn(["log_artifact", "made", "a.json.gz", "tidemark"], calls)
        self.assertEqual(calls[-1], ["set_terminated", "made"])
        self.assertEqual(self.log("mlflow", note, MLFLOW_RUN_ID="known"), ["logged to mlflow, run known of file:./mlruns"])
        self.assertNotIn(["set_terminated", "known"], self.read("mlflow.json"))

    def test_an_error_is_a_line(self):
        lines = self.log("wandb,mlflow", BREAKS="1")
        self.assertEqual(lines[0], "--log-to wandb: nothing is logged: ConnectionError: no server; WANDB_MODE=offline logs to a folder, "
                                   "which `wandb sync` uploads")
        self.assertEqual(lines[1], "logged to mlflow, run made of file:./default")
        os.remove(os.path.join(self.folder, "modules/wandb.py"))
        self.write("modules/wandb/__init__.py", "import a_missing_module\n")
        line, = self.log("wandb")
        self.assertIn("has no module a_missing_module: install it there with pip", line)
        line, = self.log("mlflow", snapshot="broken.json.gz")
        self.assertEqual(line, "--log-to: nothing is logged: RuntimeError: tidemark explain: broken.json.gz: no snapshot")
        line, = self.log("wandb", WANDB_MODE="disabled")
        self.assertEqual(line, "--log-to wandb: nothing is logged, because WANDB_MODE is disabled")

    def test_wandb_is_disabled_where_writes_are_kept_away(self):
        for scratch, modes in (("", ["offline", "online", None]), ("here", ["disabled"] * 3)):
            done = self.start("-c", CHOOSING.format(packages=PACKAGES), TIDEMARK_RUN_FOLDER=self.folder,
                              **({"TIDEMARK_SCRATCH": scratch} if scratch else {}))
            self.assertEqual(json.loads(done.stdout.splitlines()[-1]), modes, done.stderr)
            with open(os.path.join(self.folder, "trackers")) as file:
                notes = [json.loads(line) for line in file][-3:]
            self.assertEqual([note["is_offline"] for note in notes], [True, False, False])

    def test_the_folder_of_tensorboard_is_that_of_no_inner_writer(self):
        sys.path.insert(0, PACKAGES)
        from tidemark.trackers.to_tensorboard import _choose

        for folders, chosen in (((), None), (("/a",), "/a"), (("/a", "/a/loss_train", "/a/1"), "/a"), (("/a/1", "/a/1x"), "/a/1x"),
                                (("/a", "/a/x", "/b", "/a/y"), "/b")):
            self.assertEqual(_choose([{"dir": folder} for folder in folders]), chosen)

    def test_the_runs_of_a_program_are_noted(self):
        done = self.start("-c", NOTING.format(packages=PACKAGES), TIDEMARK_RUN_FOLDER=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(self.folder, "trackers")) as file:
            notes = [json.loads(line) for line in file]
        wandb = {"tracker": "wandb", "project": "p", "entity": None, "dir": None}
        self.assertEqual(notes, [
            {**wandb, "id": "w1", "is_offline": False}, {**wandb, "id": "new", "is_offline": True},
            {**wandb, "id": None, "is_offline": False},
            {"tracker": "mlflow", "id": "made", "uri": "file:./mlruns", "experiment": "mine"},
            {"tracker": "tensorboard", "dir": os.path.join(os.path.realpath(self.folder), "logs")}])
        with open(os.path.join(self.folder, "trackers-python")) as file:
            self.assertEqual(file.read(), sys.executable)

    def test_the_server_of_a_run_of_mlflow_is_that_of_its_client(self):
        asked = ["file:./mlruns", "http://team:5000", "file:./mlruns", "databricks://other", "http://team:5000",
                 "sqlite:///mine.db", "http://team:5000"]
        for scratch in ({}, {"TIDEMARK_SCRATCH": "here"}):
            done = self.start("-c", CHANGING_SERVERS.format(packages=PACKAGES), TIDEMARK_RUN_FOLDER=self.folder, **scratch)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(os.path.join(self.folder, "trackers")) as file:
                notes = [json.loads(line) for line in file][-len(asked):]
            self.assertEqual([note["uri"] for note in notes], asked)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
