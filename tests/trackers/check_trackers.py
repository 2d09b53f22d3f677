#!/usr/bin/env python3
"""Checks --log-to with the real packages, offline: check_trackers.py TIDEMARK

It runs with an interpreter that has PyTorch, wandb, mlflow and tensorboard. A program logs to all three and ends with
status 3; what tidemark logged is read again with the packages' own readers.
"""
import glob
import json
import os
import struct
import subprocess
import sys
import tempfile

import mlflow
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from wandb.proto import wandb_internal_pb2

TIDEMARK = os.path.abspath(sys.argv[1])

PROGRAM = """
import mlflow, sys, torch, wandb
from torch.utils.tensorboard import SummaryWriter
wandb.init(project="mine").log({"loss": 1.0})
wandb.finish()
mlflow.set_experiment("mine")
with mlflow.start_run():
    mlflow.log_metric("loss", 1.0)
writer = SummaryWriter("logs/first")
writer.add_scalar("loss", 1.0, 0)
writer.close()
x = torch.zeros(64 << 20, dtype=torch.uint8, device="cuda")
sys.exit(3)
"""
PEAK, FILES = 64 / 1024, {"train.html", "train.json.gz"}  # GiB


def run(folder, *options):
    with open(os.path.join(folder, "train.py"), "w") as file:
        file.write(PROGRAM)
    with open(os.path.join(folder, "sitecustomize.py"), "w") as file:  # of the user, in every process
        file.write("print('my own')\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WANDB_", "MLFLOW_"))}
    done = subprocess.run(
        [TIDEMARK, "run", "--device", "virtual:h100-80", "--log-to", "wandb,mlflow,tensorboard", *options,
         "-o", "train.json.gz", "--", sys.executable, "train.py"], cwd=folder, capture_output=True, text=True,
        env={**kept, "WANDB_MODE": "offline", "MLFLOW_TRACKING_URI": "file:./mlruns", "MLFLOW_ALLOW_FILE_STORE": "true",
             "PYTHONPATH": folder})
    assert done.returncode == 3, done.stderr
    assert done.stdout.startswith("my own\n") and "my own" not in done.stderr, (done.stdout, done.stderr)
    lines = [line for line in done.stderr.splitlines() if line.startswith("tidemark run: logged to ")]
    assert len(lines) == 3, done.stderr
    return lines


def read_records(path):
    """The records of wandb's offline file, a log of LevelDB's: blocks of 32 KiB with pieces of records, each after its
    checksum, length and kind (1: whole; 2, 3, 4: first, middle and last piece). The file begins with 7 bytes of its own."""
    with open(path, "rb") as file:
        data = file.read()
    at, record = 7, b""
    while at + 7 <= len(data):
        if (1 << 15) - at % (1 << 15) < 7:
            at += (1 << 15) - at % (1 << 15)
            continue
        _, n_bytes, kind = struct.unpack_from("<IHB", data, at)
        piece = data[at + 7:at + 7 + n_bytes]
        at += 7 + n_bytes
        record = piece if kind in (1, 2) else record + piece
        if kind in (1, 4):
            parsed = wandb_internal_pb2.Record()
            parsed.ParseFromString(record)
            yield parsed


def check_wandb(folder, is_of_program):
    """The records of all offline runs, by run id."""
    runs = {}
    for path in sorted(glob.glob(os.path.join(folder, "wandb/offline-run-*/run-*.wandb"))):
        summary, project = {}, None
        for record in read_records(path):
            project = record.run.project or project
            for item in record.summary.update:
                summary["/".join(item.nested_key) or item.key] = json.loads(item.value_json)
        files = glob.glob(os.path.join(os.path.dirname(path), "files/tidemark/*"))
        runs.setdefault(os.path.basename(path)[4:-6], []).append((project, summary, {os.path.basename(f) for f in files}))
    assert len(runs) == 1, (is_of_program, runs)
    records = next(iter(runs.values()))
    assert len(records) == (2 if is_of_program else 1), records
    project, summary, files = records[-1]
    assert project == "mine", project
    assert summary["tidemark/peak_allocated_gib"] == PEAK, summary
    assert summary["tidemark/exit_status"] == 3 and summary["tidemark/device"] == "virtual:h100-80", summary
    assert "All of the peak, 64.00 MiB, is at train.py:12." in summary["tidemark/answer"], summary
    assert any(name.startswith("tidemark/report") for name in summary), summary
    assert files == FILES, files


def check_mlflow(folder, is_of_program):
    client = mlflow.MlflowClient(tracking_uri="file:" + os.path.join(folder, "mlruns"))
    experiment = client.get_experiment_by_name("mine").experiment_id
    found, = client.search_runs([experiment])
    metrics, tags = found.data.metrics, found.data.tags
    assert ("loss" in metrics) == is_of_program, metrics
    assert metrics["tidemark/peak_allocated_gib"] == PEAK and metrics["tidemark/exit_status"] == 3, metrics
    assert "All of the peak" in tags["tidemark/answer"] and found.info.status == "FINISHED", (tags, found.info)
    paths = glob.glob(os.path.join(folder, "mlruns", experiment, found.info.run_id, "artifacts/tidemark/*"))
    assert {os.path.basename(path) for path in paths} == FILES | {"answer.txt"}, paths


def check_tensorboard(folder, is_of_program):
    logs = os.path.join(folder, "logs/first")
    events = EventAccumulator(logs)
    events.Reload()
    tags = events.Tags()
    assert ("loss" in tags["scalars"]) == is_of_program, tags
    scalar, = events.Scalars("tidemark/peak_allocated_gib")
    assert scalar.value == PEAK and scalar.step == 0, scalar
    text, = events.Tensors("tidemark/answer/text_summary" if "tidemark/answer/text_summary" in tags["tensors"] else
                           "tidemark/answer")
    assert b"All of the peak" in text.tensor_proto.string_val[0], text
    assert FILES <= set(os.listdir(logs)), os.listdir(logs)


os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"  # for the client that reads
for options in (), ("--writes", "allow"):
    with tempfile.TemporaryDirectory() as folder:
        lines = run(folder, *options)
        for check in check_wandb, check_mlflow, check_tensorboard:
            check(folder, bool(options))
    print(f"{' '.join(options) or 'writes kept away'}: " + "; ".join(line[14:].split(": wandb sync")[0] for line in lines))

