#!/bin/bash
#SBATCH --job-name=sweep --array=1-8 --time=02:00:00 --requeue
#SBATCH --signal=B:TERM@60
# Runs a grid as a Slurm job array, a part of the grid in each task:
#     sbatch slurm-array.sh FOLDER [OPTION OF tidemark sweep...] [-- COMMAND...]
# --array=1-N of sbatch sets the number of parts; a GPU for each is --gpus-per-task=1. The machines share FOLDER. A task
# that was killed goes on after its last row when it is requeued, or when the same line is submitted again. Then:
#     tidemark sweep --merge FOLDER --format csv
folder=$1
shift
mkdir -p "$folder"
exec tidemark sweep --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" \
    -o "$folder/part-$SLURM_ARRAY_TASK_ID.jsonl" --resume --retry "$@"
