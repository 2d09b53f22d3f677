"""A decoder of transformers in the shape of Llama-3.2-3B with random weights, in bf16, as torchtune's table trains it:
batch 2, context 4,096 without padding, fused AdamW. docs/results/plan.md has the commands."""
import torch
from torch.nn import functional as F
from transformers import LlamaConfig, LlamaForCausalLM

BATCH, CONTEXT, CLASSES = 2, 4096, 128256

config = LlamaConfig(
    vocab_size=CLASSES, hidden_size=3072, intermediate_size=8192, num_hidden_layers=28, num_attention_heads=24,
    num_key_value_heads=8, head_dim=128, max_position_embeddings=CONTEXT, tie_word_embeddings=True, use_cache=False)
torch.set_default_dtype(torch.bfloat16)
with torch.device("cuda"):
    model = LlamaForCausalLM(config)
torch.set_default_dtype(torch.float32)
optimizer = torch.optim.AdamW(model.train().parameters(), lr=2e-5, fused=True)
for _ in range(3):
    tokens = torch.zeros(BATCH, CONTEXT, dtype=torch.long, device="cuda")
    logits = model(input_ids=tokens).logits[:, :-1]
    loss = F.cross_entropy(logits.reshape(-1, CLASSES).float(), tokens[:, 1:].reshape(-1))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
