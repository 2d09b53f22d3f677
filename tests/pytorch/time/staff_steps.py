"""Steps of the staff model for a launch log: staff_steps.py SIZE CONTEXT fp32|bf16 [STEPS].

The published times in docs/virtual-time.md are of this model with batch 4: forward with its loss, backward, AdamW. The
log's marks are those of every recorded program.
"""
import os
import sys

import torch

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from plain_training import train

size, context, precision = sys.argv[1], int(sys.argv[2]), sys.argv[3]
train({
    "size": size, "context": context, "batch": 4, "edition": 2025, "mode": "train",
    "precision": "bf16-mixed" if precision == "bf16" else "fp32",
    "steps": int(sys.argv[4]) if len(sys.argv) > 4 else 4,
})
