"""Logs the answer of `tidemark run --log-to` to wandb, MLflow or TensorBoard.

`seen.py` runs in the user's program and notes which runs it makes. After the end of the program, `tidemark run`
starts `__main__.py` with the same interpreter, and that process logs the facts of the snapshot (`facts.py`) through
the tracker's own package: `to_wandb.py`, `to_mlflow.py`, `to_tensorboard.py`.
"""
