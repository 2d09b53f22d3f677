"""generate() of transformers: greedy, sampled, by beams, with a static cache, compiled or not, of a Llama and of GPT-2.

No word ends a text here, or the tokens that may end it are drawn: each has its prompt and all new tokens, 64 + 16, and 16 + 8.
"""
import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

config = LlamaConfig(hidden_size=512, intermediate_size=1024, num_hidden_layers=4, num_attention_heads=8, vocab_size=32000,
                     eos_token_id=None, pad_token_id=0)
model = LlamaForCausalLM(config).to("cuda", torch.bfloat16).eval()
prompt = torch.randint(1, 32000, (2, 64)).cuda()
mask = torch.ones_like(prompt)
ways = {
    "greedy": {"do_sample": False},
    "sampled": {"do_sample": True, "top_k": 50, "top_p": 0.9, "temperature": 0.7},
    "beams": {"num_beams": 3, "do_sample": False},
    "beams with an end": {"num_beams": 3, "do_sample": False, "eos_token_id": 2},
    "beams that end early": {"num_beams": 3, "do_sample": False, "eos_token_id": 2, "early_stopping": True},
    "static cache": {"cache_implementation": "static", "do_sample": False, "disable_compile": True},
    "compiled": {"cache_implementation": "static", "do_sample": False},
}
for name, options in ways.items():
    print(f"length, {name}: {model.generate(prompt, attention_mask=mask, max_new_tokens=16, **options).shape[1]}", flush=True)
small = GPT2LMHeadModel(GPT2Config(n_layer=2, eos_token_id=None, bos_token_id=None, pad_token_id=0)).cuda().eval()
prompt = torch.randint(1, 50257, (2, 16)).cuda()
print(f"length, gpt2: {small.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=8).shape[1]}")
