#!/usr/bin/env python3
"""Checks --log-to with what a program's text chooses, with the real packages: check_choices.py TIDEMARK

It runs with an interpreter that has PyTorch, wandb, mlflow, tensorboard and tensorboardX. The server of MLflow is a real
one on this machine; with mlflow-skinny, which has none, its part is skipped.
"""
import glob
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import mlflow
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

TIDEMARK = os.path.abspath(sys.argv[1])
ALLOCATE = """
import torch
x = torch.zeros(64 << 20, dtype=torch.uint8, device="cuda")
"""
PEAK, FILES = 64 / 1024, {"train.html", "train.json.gz"}  # GiB


def run(folder, program, to, *options, **environment):
    """The lines of tidemark about trackers, and all of stderr."""
    with open(os.path.join(folder, "train.py"), "w") as file:
        file.write(program)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WANDB_", "MLFLOW_"))}
    logs = ["--log-to", to] if to else []
    done = subprocess.run([TIDEMARK, "run", "--device", "virtual:h100-80", *logs, *options, "-o", "train.json.gz", "--",
                           sys.executable, "train.py"], cwd=folder, capture_output=True, text=True, env={**kept, **environment})
    assert (done.returncode == 0) == bool(to), done.stderr
    lines = done.stderr.splitlines()
    return [line.removeprefix("tidemark run: ") for line in lines if "logged to" in line or "nothing is logged" in line], done.stderr


# Each of these choices wins against WANDB_MODE, and wandb's own process fails where writes are kept away.
WANDB = """
import os, wandb
for given in dict(mode="online"), dict(settings=wandb.Settings(mode="offline")), dict(settings={"mode": "offline"}), dict(mode="offline"):
    run = wandb.init(project="mine", **given)
    run.log({"loss": 1.0})
    run.summary["best"] = 1
    wandb.finish()
wandb.init(None, "mine")
wandb.finish()
os.environ["WANDB_MODE"] = "offline"
wandb.init(project="mine").finish()
try:
    wandb.init(None, entity="twice")
except TypeError as error:
    assert "entity" in str(error), error
else:
    raise AssertionError("an argument was given twice")
"""


def check_wandb():
    with tempfile.TemporaryDirectory() as folder:
        lines, text = run(folder, WANDB + ALLOCATE, "wandb")
        assert len(lines) == 1 and lines[0].startswith("logged to wandb, run "), text
        runs = glob.glob(os.path.join(folder, "wandb/offline-run-*"))
        assert len(runs) == 1 and lines[0].endswith(f": wandb sync {os.path.realpath(runs[0])}"), (runs, lines)
    with tempfile.TemporaryDirectory() as folder:
        lines, text = run(folder, "import wandb\nwandb.init(project='mine', mode='online')\n" + ALLOCATE, "wandb",
                          WANDB_BASE_URL="http://127.0.0.1:9", NETRC=os.path.join(folder, "none"))
        assert len(lines) == 1 and lines[0].startswith("--log-to wandb: nothing is logged: UsageError: No API key"), text
        assert lines[0].endswith("; WANDB_MODE=offline logs to a folder, which `wandb sync` uploads"), text
    with tempfile.TemporaryDirectory() as folder:
        lines, text = run(folder, "import wandb\nwandb.init(project='mine', mode='offline')\n" + ALLOCATE, None)
        assert ("wandb's own process cannot see files that are kept away: --log-to wandb disables wandb in the program, and "
                "--writes allow lets it write") in text, text
    print("wandb: every way to choose a mode in a program's text")


TENSORBOARD = """
from torch.utils.tensorboard import SummaryWriter
first = SummaryWriter("logs/first")
first.add_scalars("loss", {"train": 1.0, "test": 2.0}, 0)
first.add_hparams({"lr": 1}, {"loss": 1.0})
first.close()
"""
TENSORBOARD_X = """
import tensorboardX
second = tensorboardX.SummaryWriter("logs/second")
second.add_scalar("loss", 1.0, 0)
second.close()
"""


def check_tensorboard():
    for program, name, is_hidden in ((TENSORBOARD, "first", False), (TENSORBOARD + TENSORBOARD_X, "second", False),
                                     (TENSORBOARD_X, "second", True)):
        with tempfile.TemporaryDirectory() as folder:
            hidden = os.path.join(folder, "hidden", "tensorboard")
            if is_hidden:  # an environment that has only tensorboardX
                os.makedirs(hidden)
                with open(os.path.join(hidden, "__init__.py"), "w") as file:
                    file.write("raise ModuleNotFoundError('hidden', name='tensorboard')\n")
            lines, text = run(folder, program + ALLOCATE, "tensorboard", PYTHONPATH=os.path.dirname(hidden))
            logs = os.path.join(folder, "logs", name)
            assert lines == [f"logged to tensorboard, in {os.path.realpath(logs)}"], text
            assert os.listdir(os.path.dirname(logs)) == [name] and FILES < set(os.listdir(logs)), os.listdir(logs)
            events = EventAccumulator(logs)
            events.Reload()
            scalar, = events.Scalars("tidemark/peak_allocated_gib")
            assert scalar.value == PEAK and scalar.step == 0, scalar
            answer, = (tag for tag in events.Tags()["tensors"] if tag.startswith("tidemark/answer"))
            assert b"All of the peak" in events.Tensors(answer)[0].tensor_proto.string_val[0]
    print("tensorboard: torch.utils.tensorboard with its inner writers, beside tensorboardX, and tensorboardX alone")


MLFLOW = """
import mlflow
mlflow.set_experiment("mine")
with mlflow.start_run():
    mlflow.log_metric("loss", 1.0)
"""
MLFLOW_CLIENT = """
import mlflow
client = mlflow.MlflowClient(tracking_uri={uri!r})
run = client.create_run(client.create_experiment("of a client"))
client.log_metric(run.info.run_id, "loss", 1.0)
"""


def start_server(folder):
    """The process and its address; None without a server in the package."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    uri = f"http://127.0.0.1:{port}"
    log = open(os.path.join(folder, "server.log"), "w")
    server = subprocess.Popen([sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers",
                               "1", "--backend-store-uri", "sqlite:///runs.db", "--artifacts-destination", "artifacts"],
                              cwd=folder, stdout=log, stderr=log, start_new_session=True)
    for _ in range(240):
        try:
            urllib.request.urlopen(uri + "/health", timeout=5).close()
            return server, uri
        except OSError:
            time.sleep(0.5)
        assert server.poll() is None, open(log.name).read()
    raise AssertionError(open(log.name).read())


def check_runs(uri):
    """A program's own run has its loss only where its writes are real: the losses of other runs are not real."""
    cases = (("the environment", MLFLOW, "mine", (), {"MLFLOW_TRACKING_URI": uri}),
             ("the text", f"import mlflow\nmlflow.set_tracking_uri({uri!r})\n" + MLFLOW, "mine", (), {}),
             ("a client", MLFLOW_CLIENT.format(uri=uri), "of a client", (), {}),
             ("--writes allow", MLFLOW, "mine", ("--writes", "allow"), {"MLFLOW_TRACKING_URI": uri}))
    client, known = mlflow.MlflowClient(tracking_uri=uri), set()
    for name, program, experiment, options, environment in cases:
        with tempfile.TemporaryDirectory() as folder:
            lines, text = run(folder, program + ALLOCATE, "mlflow", *options, **environment)
        ids = [one.experiment_id for one in client.search_experiments()]
        found, = [one for one in client.search_runs(ids) if one.info.run_id not in known]
        known.add(found.info.run_id)
        assert lines == [f"logged to mlflow, run {found.info.run_id} of {uri}"], (name, text)
        assert client.get_experiment(found.info.experiment_id).name == experiment, name
        assert found.data.metrics["tidemark/peak_allocated_gib"] == PEAK and found.info.status == "FINISHED", (name, found)
        assert ("loss" in found.data.metrics) == bool(options), (name, found.data.metrics)
        names = {os.path.basename(one.path) for one in client.list_artifacts(found.info.run_id, "tidemark")}
        assert names == FILES | {"answer.txt"}, (name, names)
    print("mlflow: a server of the environment, of the text, of a client, and with real writes")


def check_no_server():
    """On a virtual card a folder replaces the server, which is not reached; then --log-to is one line."""
    with tempfile.TemporaryDirectory() as folder:
        lines, text = run(folder, MLFLOW + ALLOCATE, "mlflow", MLFLOW_TRACKING_URI="http://127.0.0.1:9",
                          MLFLOW_HTTP_REQUEST_MAX_RETRIES="0")
        assert "mlflow.exceptions" not in text and not lines, text
        line, = [line for line in text.splitlines() if "--log-to" in line]
        assert line.startswith("tidemark run: --log-to mlflow: not everything is logged: MlflowException: "), line
    print("a server that does not answer: the status of the program, and one line")


def main():
    check_wandb()
    check_tensorboard()
    check_no_server()
    try:
        import sqlalchemy  # noqa: F401
    except ImportError:
        print("SKIPPED: a server of MLflow: the package mlflow-skinny has none")
        return
    with tempfile.TemporaryDirectory() as folder:
        server, uri = start_server(folder)
        try:
            check_runs(uri)
        finally:
            os.killpg(server.pid, 15)
            server.wait(60)


main()
