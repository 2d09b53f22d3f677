"""Steps of the staff model for a launch log: staff_steps.py SIZE CONTEXT fp32|bf16 [STEPS].

The published times of docs/virtual-time.md are of this model, batch 4: forward with its loss, backward, AdamW. The log's
marks are those of every recorded program.
"""
import sys

import torch

sys.path.insert(0, __file__.rsplit("/", 2)[0])
import staff_model

size, context, precision = sys.argv[1], int(sys.argv[2]), sys.argv[3]
n_steps = int(sys.argv[4]) if len(sys.argv) > 4 else 4
torch.set_float32_matmul_precision("highest")
with torch.device("cuda"):
    model = staff_model.Model(size, context, 2025)
    tokens = torch.zeros(4, context, dtype=torch.long)
