"""GPT-2 small of transformers, a training loop as its documentation writes it: batch 8 of 512 tokens, clipping, AdamW.

124,439,808 parameters, as in gpt2.py; none of the gradients is kept. Parameters and two moments of 4 bytes each, the batch of
8 * 512 * 8 bytes, and two workspaces of cuBLAS. (Buffers of the model, if a version has any, are subtracted by counting them.)
"""
import torch
from transformers import GPT2Config, GPT2LMHeadModel

model = GPT2LMHeadModel(GPT2Config()).cuda()
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
for step in range(3):
    tokens = torch.randint(0, 50257, (8, 512)).cuda()
    loss = model(input_ids=tokens, labels=tokens).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    print("loss", loss.item())
del loss
buffers = sum(b.nbytes for b in model.buffers())
print(f"parameters: {sum(p.numel() for p in model.parameters())}")
print(f"kept: {torch.cuda.memory_stats()['requested_bytes.all.current'] - buffers}")
