#!/usr/bin/env python3
"""Checks the callbacks for trainers: test_callbacks.py PACKAGES STAND_IN [--real]

With --real, the trainers are those of transformers and Lightning, which train on the CPU. Without, classes with the
same methods replace them.
"""
import os
import subprocess
import sys
import tempfile
import unittest

PACKAGES, STAND_IN = (os.path.abspath(path) for path in sys.argv[1:3])
IS_REAL = "--real" in sys.argv

# The callback methods that the trainers below call, with the arguments of the real ones.
TRANSFORMERS = """
import sys, types
module = types.ModuleType("transformers")
class TrainerCallback:
    def on_step_end(self, args, state, control, **kwargs):
        raise AssertionError("the callback has no method of its own")
    def on_substep_end(self, args, state, control, **kwargs):
        pass
module.TrainerCallback = TrainerCallback
sys.modules["transformers"] = module
from tidemark.huggingface import StepCallback
callback = StepCallback()
for batch in range(6):
    event = callback.on_step_end if batch % 2 else callback.on_substep_end
    assert event(None, None, None, model=None, optimizer=None) is None
"""

LIGHTNING = """
import sys, types
class Callback:
    pass
for name in ("{0}", "{0}.callbacks", "{1}", "{1}.callbacks"):
    module = sys.modules.setdefault(name, types.ModuleType(name))
    module.Callback = Callback if name.startswith("{0}") else object
    module.__path__ = []
if "{0}" != "pytorch_lightning":
    sys.modules["lightning"] = types.ModuleType("lightning")
for name in ("{1}", "{1}.callbacks"):
    del sys.modules[name]
from tidemark.lightning import StepCallback
callback = StepCallback()
assert isinstance(callback, Callback)
class Trainer:
    global_step = 0
trainer = Trainer()
for batch in range(6):
    trainer.global_step += 2 * (batch % 2)  # two optimizers step with each second batch
    callback.on_train_batch_end(trainer, None, None, None, batch)
"""

# CUDA's statistics as the callbacks read them: a reset, and peaks that grow by 1 GiB with each reset.
CUDA = """
import sys, types
torch = sys.modules["torch"] = types.ModuleType("torch")
class cuda:
    n, is_there = 0, True
    is_initialized = staticmethod(lambda: cuda.is_there)
    max_memory_allocated = staticmethod(lambda: cuda.n << 30)
    max_memory_reserved = staticmethod(lambda: cuda.n << 31)
    @staticmethod
    def reset_peak_memory_stats():
        cuda.n += 1
torch.cuda = cuda
def peaks(gib):
    return {"tidemark/step_peak_allocated_gib": float(gib), "tidemark/step_peak_reserved_gib": 2.0 * gib}
"""

MEMORY_OF_TRANSFORMERS = CUDA + TRANSFORMERS.split("from tidemark")[0] + """
from tidemark.huggingface import MemoryCallback
class Trainer:
    logged = []
    def log(self, values):
        self.logged.append(values)
trainer = Trainer()
callback = MemoryCallback(trainer)
control = types.SimpleNamespace(should_log=False)
for step in range(5):
    control.should_log = step % 2 == 1
    cuda.n = (0, 1, 8, 3, 4)[step]  # of two steps that are logged together, the first may have the higher peak
    callback.on_step_begin(None, None, control)
    callback.on_step_end(None, None, control)
control.should_log = False
callback.on_epoch_end(None, None, control)
callback.on_train_end(None, None, control)
assert trainer.logged == [peaks(2), peaks(9), peaks(5)], trainer.logged
cuda.is_there = False
callback.on_step_begin(None, None, control)
callback.on_train_end(None, None, control)
assert len(trainer.logged) == 3
"""

MEMORY_OF_LIGHTNING = CUDA + LIGHTNING.split("from tidemark")[0].format("lightning.pytorch", "pytorch_lightning") + """
from tidemark.lightning import MemoryCallback
class Module:
    logged = []
    def log_dict(self, values, on_step, on_epoch, batch_size):
        assert on_step and not on_epoch
        self.logged.append(values)
callback, trainer, module = MemoryCallback(), types.SimpleNamespace(global_step=0), Module()
for batch in range(6):
    callback.on_train_batch_start(trainer, module, None, batch)
    trainer.global_step += batch % 2
    callback.on_train_batch_end(trainer, module, None, None, batch)
    cuda.n += batch % 2  # of a validation, between the steps
assert module.logged == [peaks(1), peaks(3), peaks(5)], module.logged
"""

MEMORY_OF_ACCELERATE = CUDA + """
from tidemark.accelerate import MemoryLogger
class Accelerator:
    logged = []
    def log(self, values, step):
        self.logged.append((step, values))
accelerator = Accelerator()
memory = MemoryLogger(accelerator, n_steps=10)
for batch in range(6):
    with memory.batch():
        accelerator.sync_gradients = batch % 2 == 1
assert accelerator.logged == [(10, peaks(1)), (11, peaks(2)), (12, peaks(3))], accelerator.logged
try:
    with memory.batch():
        raise KeyError
except KeyError:
    pass
assert memory.n_steps == 13 and len(accelerator.logged) == 3
"""

REAL_TRANSFORMERS = """
import torch, transformers
from tidemark.huggingface import StepCallback
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def forward(self, x):
        return {"loss": self.layer(x).sum()}
data = [{"x": torch.ones(4)} for _ in range(12)]
arguments = transformers.TrainingArguments(
    output_dir="out", per_device_train_batch_size=2, gradient_accumulation_steps=2, num_train_epochs=1, use_cpu=True,
    report_to=[], save_strategy="no", disable_tqdm=True, remove_unused_columns=False)
trainer = transformers.Trainer(model=Model(), args=arguments, train_dataset=data, callbacks=[StepCallback()])
trainer.train()
assert trainer.state.global_step == 3
"""

REAL_LIGHTNING = """
import lightning, torch
from tidemark.lightning import StepCallback
class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def training_step(self, batch, i):
        return self.layer(batch).sum()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)
trainer = lightning.Trainer(
    accelerator="cpu", max_epochs=1, accumulate_grad_batches=2, logger=False, enable_progress_bar=False,
    enable_checkpointing=False, enable_model_summary=False, callbacks=[StepCallback()])
trainer.fit(Model(), torch.utils.data.DataLoader(torch.ones(12, 4), 2))
assert trainer.global_step == 3
"""


class Callbacks(unittest.TestCase):
    def count_steps(self, text):
        with tempfile.TemporaryDirectory() as folder:
            calls = os.path.join(folder, "calls")
            done = subprocess.run([sys.executable, "-B", "-c", text], capture_output=True, text=True, timeout=300, cwd=folder,
                                  env=os.environ | {"PYTHONPATH": PACKAGES, "LD_PRELOAD": STAND_IN, "STAND_IN": calls,
                                                    "OMP_NUM_THREADS": "1"})
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(calls) as file:
                lines = file.read().splitlines()
        self.assertTrue(all(line.startswith("mark ") and line.endswith("step") for line in lines), lines)
        return len(lines)

    @unittest.skipIf(IS_REAL, "the real one is tried")
    def test_stand_ins(self):
        self.assertEqual(self.count_steps(TRANSFORMERS), 3)
        self.assertEqual(self.count_steps(LIGHTNING.format("lightning.pytorch", "pytorch_lightning")), 3)
        self.assertEqual(self.count_steps(LIGHTNING.format("pytorch_lightning", "lightning.pytorch")), 3)

    @unittest.skipIf(IS_REAL, "the real one is tried")
    def test_memory_of_steps(self):
        self.assertEqual(self.count_steps(MEMORY_OF_TRANSFORMERS), 5)
        self.assertEqual(self.count_steps(MEMORY_OF_LIGHTNING), 3)
        self.assertEqual(self.count_steps(MEMORY_OF_ACCELERATE), 3)

    @unittest.skipUnless(IS_REAL, "a stand-in is tried")
    def test_trainer_of_transformers(self):
        self.assertEqual(self.count_steps(REAL_TRANSFORMERS), 3)

    @unittest.skipUnless(IS_REAL, "a stand-in is tried")
    def test_trainer_of_lightning(self):
        self.assertEqual(self.count_steps(REAL_LIGHTNING), 3)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
