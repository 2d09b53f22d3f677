#!/usr/bin/env bash
# Trackers, trainers and notebooks with the real packages, offline: run.sh TIDEMARK PYTHON
# PYTHON has PyTorch, wandb, mlflow, tensorboard, tensorboardX, transformers, lightning, accelerate, nbclient and ipykernel.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
"$2" -B "$here/check_trackers.py" "$1"
"$2" -B "$here/check_choices.py" "$1"
"$2" -B "$here/check_trainers.py" "$1" "$2"
"$2" -B "$here/check_notebook.py" "$1"
