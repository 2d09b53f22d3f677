#!/usr/bin/env python3
"""Checks the callbacks for trainers with the real ones on a virtual card: check_trainers.py TIDEMARK PYTHON

PYTHON has PyTorch, transformers, lightning and accelerate. Each training keeps a tensor of one more MiB in each step,
beside a temporary one of 8 MiB in the first step. The peaks that are logged follow from the program's text.
"""
import gzip
import json
import os
import subprocess
import sys
import tempfile

TIDEMARK, PYTHON = os.path.abspath(sys.argv[1]), sys.argv[2]
ALLOCATED, RESERVED = "tidemark/step_peak_allocated_gib", "tidemark/step_peak_reserved_gib"
MIB = 1 << 20

MODEL = """
import json, torch
kept = []
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(4))
    def forward(self, x):
        kept.append(torch.empty(1 << 20, dtype=torch.uint8, device="cuda"))
        if len(kept) == 1:
            torch.empty(8 << 20, dtype=torch.uint8, device="cuda")
        return {"loss": (self.weight * x).sum()}
def write(rows):
    with open("logged.json", "w") as file:
        json.dump(rows, file)
"""

TRANSFORMERS = MODEL + """
import transformers
from tidemark.huggingface import MemoryCallback
arguments = transformers.TrainingArguments(
    output_dir="out", per_device_train_batch_size=2, gradient_accumulation_steps=2, num_train_epochs=1, logging_steps=1,
    report_to=[], save_strategy="no", disable_tqdm=True, remove_unused_columns=False, optim="sgd")
data = [{"x": torch.ones(4)} for _ in range(12)]
trainer = transformers.Trainer(model=Model(), args=arguments, train_dataset=data)
trainer.add_callback(MemoryCallback(trainer))
trainer.train()
write([row for row in trainer.state.log_history if "tidemark/step_peak_allocated_gib" in row])
"""

LIGHTNING = MODEL + """
import lightning
from lightning.pytorch.loggers import CSVLogger
from tidemark.lightning import MemoryCallback
class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = Model()
    def training_step(self, batch, i):
        return self.model(batch)["loss"]
    def validation_step(self, batch, i):
        torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)
logger = CSVLogger("logs")
trainer = lightning.Trainer(
    accelerator="gpu", devices=1, max_epochs=1, accumulate_grad_batches=2, logger=logger, enable_progress_bar=False,
    enable_checkpointing=False, enable_model_summary=False, log_every_n_steps=1, callbacks=[MemoryCallback()],
    val_check_interval=2)
loader = torch.utils.data.DataLoader(torch.ones(12, 4), 2)
trainer.fit(Module(), loader, torch.utils.data.DataLoader(torch.ones(2, 4), 2))
import csv
with open(logger.log_dir + "/metrics.csv") as file:
    rows = [row for row in csv.DictReader(file) if row.get("tidemark/step_peak_allocated_gib")]
write([{name: float(value) for name, value in row.items() if name.startswith("tidemark/")} for row in rows])
"""

ACCELERATE = MODEL + """
import accelerate
from accelerate.tracking import GeneralTracker
from tidemark.accelerate import MemoryLogger
class Tracker(GeneralTracker):
    name, requires_logging_directory, rows = "mine", False, []
    @property
    def tracker(self):
        return None
    def log(self, values, step=None, **_):
        self.rows.append({**values, "step": step})
tracker = Tracker()
accelerator = accelerate.Accelerator(log_with=[tracker], gradient_accumulation_steps=2)
accelerator.init_trackers("project")
model = Model()
model, optimizer, loader = accelerator.prepare(
    model, torch.optim.SGD(model.parameters(), lr=0.1), torch.utils.data.DataLoader(torch.ones(12, 4), 2))
memory = MemoryLogger(accelerator)
for batch in loader:
    with memory.batch(), accelerator.accumulate(model):
        accelerator.backward(model(batch)["loss"])
        optimizer.step()
        optimizer.zero_grad()
assert [row["step"] for row in tracker.rows] == [0, 1, 2], tracker.rows
write(tracker.rows)
"""


def run(text, folder):
    """The logged rows, and the number of steps of the recording."""
    with open(os.path.join(folder, "train.py"), "w") as file:
        file.write(text)
    done = subprocess.run([TIDEMARK, "run", "--device", "virtual:h100-80", "--writes", "allow", "-o", "train.json.gz", "--",
                           PYTHON, "train.py"], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, "WANDB_MODE": "disabled"})
    assert done.returncode == 0, done.stderr
    with open(os.path.join(folder, "logged.json")) as file:
        rows = json.load(file)
    with gzip.open(os.path.join(folder, "train.json.gz")) as file:
        snapshot = json.load(file)
    return rows, snapshot["scopes"]["kind"].count(snapshot["scope_kinds"].index("step"))


def check(name, text):
    with tempfile.TemporaryDirectory() as folder:
        rows, n_steps = run(text, folder)
    mib = [row[ALLOCATED] * (1 << 10) for row in rows]
    assert len(rows) == 3, (name, rows)
    # Two batches in each step keep 1 MiB each; the first batch of all needs 8 MiB more for a moment. The model, its
    # gradient, inputs and losses take less than 1/16 MiB.
    for number, (found, expected) in enumerate(zip(mib, (9, 4, 6))):
        assert expected <= found < expected + 1 / 16, (name, number, mib)
    for row in rows:
        assert row[RESERVED] >= row[ALLOCATED] and (row[RESERVED] * (1 << 30)) % (2 * MIB) == 0, (name, row)
    assert n_steps == 3, (name, n_steps)
    print(f"{name}: 3 steps logged, {', '.join(f'{value:.4f}' for value in mib)} MiB allocated at their peaks; "
          f"{n_steps} steps in the recording")


for row in (("transformers", TRANSFORMERS), ("lightning", LIGHTNING), ("accelerate", ACCELERATE)):
    check(*row)
