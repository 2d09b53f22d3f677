"""generate() of transformers with an end token: greedy, by beams, by beams that end early, assisted, with a static cache."""
import torch
from transformers import LlamaConfig, LlamaForCausalLM

NEW = 16


def llama(layers: int) -> LlamaForCausalLM:
    config = LlamaConfig(hidden_size=512, intermediate_size=1024, num_hidden_layers=layers, num_attention_heads=8, vocab_size=1000,
                         bos_token_id=1, eos_token_id=2, pad_token_id=0)
    return LlamaForCausalLM(config).to("cuda", torch.bfloat16).eval()


model = llama(4)
prompt = torch.randint(3, 1000, (2, 64), device="cuda")
mask = torch.ones_like(prompt)
ways = {
    "greedy": {},
    "beams": {"num_beams": 3},
    "early": {"num_beams": 4, "early_stopping": True, "num_return_sequences": 2},
    "sampled beams": {"num_beams": 3, "do_sample": True},
    "static cache": {"cache_implementation": "static", "disable_compile": True},
}
for name, options in ways.items():
    text = model.generate(prompt, attention_mask=mask, max_new_tokens=NEW, **{"do_sample": False} | options)
    print(f"{name}: {tuple(text.shape)}", flush=True)
assistant = llama(1)
text = model.generate(prompt[:1], attention_mask=mask[:1], max_new_tokens=NEW, do_sample=False, assistant_model=assistant)
print(f"assisted: {tuple(text.shape)}", flush=True)
