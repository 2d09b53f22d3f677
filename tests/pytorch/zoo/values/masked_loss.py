"""Only the tokens that have a label reach the head; the labels come from the host: masked_loss.py [TEXTS]

A quarter of each text of 1024 tokens is a prompt: 768 rows a text. At the peak the backward pass of the loss holds the log
probabilities and their gradient, rows x 32,000 words x 4 bytes each.
"""
import sys

import torch

N_TEXTS, WORDS, SIZE = int(sys.argv[1]) if len(sys.argv) > 1 else 8, 32000, 512
labels = torch.randint(0, WORDS, (N_TEXTS, 1024))
labels[:, :256] = -100
words = torch.nn.Embedding(WORDS, SIZE, device="cuda")
head = torch.nn.Linear(SIZE, WORDS, bias=False, device="cuda")
optimizer = torch.optim.AdamW([*words.parameters(), *head.parameters()])
for _ in range(2):
    wanted = labels.cuda()
    hidden = words(wanted.clamp(min=0))
    mask = wanted != -100
    torch.nn.functional.cross_entropy(head(hidden[mask]), wanted[mask]).backward()
    optimizer.step()
    optimizer.zero_grad()
print(f"rows: {hidden[mask].shape[0]}")
print(f"peak allocated: {torch.cuda.max_memory_allocated()}")
