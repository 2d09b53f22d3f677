"""A static cache of transformers, compiled with CUDA graphs or plain: static_cache.py compiled|plain

4 texts of 64 tokens, 32 new ones; no end token: 96.
"""
import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.set_default_dtype(torch.bfloat16)
with torch.device("cuda"):
    model = LlamaForCausalLM(LlamaConfig(hidden_size=512, intermediate_size=1024, num_hidden_layers=2, num_attention_heads=8, vocab_size=1000,
                                         eos_token_id=None, pad_token_id=0)).eval()
prompt = torch.randint(1, 1000, (4, 64), device="cuda")
options = {"disable_compile": True} if sys.argv[1] == "plain" else {}
tokens = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=32, do_sample=False, cache_implementation="static", **options)
print(f"length: {tokens.shape[1]}")
print(f"out of range: {int(((tokens < 0) | (tokens >= 1000)).sum())}")
