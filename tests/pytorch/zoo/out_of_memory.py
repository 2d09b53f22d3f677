"""Runs out of memory and continues, like a script that searches for its largest batch.

A card of 80 GB (84,929,347,584 bytes) holds as many blocks of 1 GiB as what is free before it has whole ones. Each has
a segment of its own. The error gives its figures itself; after it everything can be freed, and 60 GiB fit at once. A
model tried at growing batches fails at the first whose one tensor, batch * 64 MiB, is larger than the rest of the card.
"""
import torch

GIB = 1 << 30
torch.zeros(1, device="cuda")
free, total = torch.cuda.mem_get_info()
blocks = []
try:
    while True:
        blocks.append(torch.empty(GIB, dtype=torch.uint8, device="cuda"))
except torch.cuda.OutOfMemoryError as error:
    text = str(error)
print(f"capacity: {total}")
print("as many as fit", len(blocks) == free // GIB)
print(text.split(". Of the allocated")[0])
print(f"retries: {torch.cuda.memory_stats()['num_alloc_retries']}")
print(f"failures: {torch.cuda.memory_stats()['num_ooms']}")
del blocks
torch.cuda.empty_cache()
whole = torch.empty(60 * GIB, dtype=torch.uint8, device="cuda")
print(f"allocated after recovery: {torch.cuda.memory_allocated()}")
del whole

batch = 1
while True:
    try:
        activations = torch.empty(batch, 16 << 20, device="cuda")
        del activations
        torch.cuda.empty_cache()
        batch *= 2
    except RuntimeError as error:
        assert "out of memory" in str(error)
        break
print(f"first batch that does not fit: {batch}")
