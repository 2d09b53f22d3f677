"""Whether a Llama of transformers takes an attention with a mask: the same on the CPU and on the card, which computes nothing.

The model decides by values: whether the padding mask has any padding, and whether the position ids are of one sequence or
of several packed ones.
"""
import torch
from transformers import LlamaConfig, LlamaForCausalLM

attention, taken = torch.nn.functional.scaled_dot_product_attention, []


def noted(*args, **kwargs):
    taken.append((kwargs.get("attn_mask") is not None, kwargs.get("is_causal")))
    return attention(*args, **kwargs)


def arguments(kind):
    if kind == "packed":
        return {"position_ids": torch.arange(32).repeat(2).expand(4, 64).contiguous()}
    mask = torch.ones(4, 64, dtype=torch.long)
    mask[0, : 3 if kind == "padded" else 0] = 0
    return {} if kind == "none" else {"attention_mask": mask}


torch.nn.functional.scaled_dot_product_attention = noted
model = LlamaForCausalLM(
    LlamaConfig(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, vocab_size=1000))
tokens = torch.randint(0, 1000, (4, 64))
found = {}
for device in ("cpu", "cuda"):
    model.to(device)
    for kind in ("none", "full", "padded", "packed"):
        taken.clear()
        model(tokens.to(device), use_cache=False, **{name: value.to(device) for name, value in arguments(kind).items()})
        found[device, kind] = list(taken)
        assert len(taken) == 2, taken
print("with a mask:", [kind for kind in ("none", "full", "padded", "packed") if found["cuda", kind][0][0]])
print("as on the CPU:", all(found["cpu", kind] == found["cuda", kind] for kind in ("none", "full", "padded", "packed")))
