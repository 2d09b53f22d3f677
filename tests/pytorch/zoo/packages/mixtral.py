"""Mixtral of transformers with random weights: mixtral.py [even]

2 layers, 8 experts, of which a token takes 2. 2 x 2048 tokens: an expert gets 1,024 with even routing. "fewest" and "most" are
the rows that experts were given. even: the host deals the tokens out.

The least that the peak holds: parameters and AdamW's two moments, three copies of the logits (4096 x 4000 floats), and of each
layer's 8,192 rows of experts input, output, two inner layers and their product. The most, 256 MiB above it: what attention,
norms and residuals of two layers keep, some ten tensors of 4096 x 512 floats (8 MiB) each, 160 MiB; gradients of an expert's
rows, 64 MiB; gradients of the head and cuBLAS' workspaces, 24 MiB.
"""
import sys

import torch
from transformers import MixtralConfig, MixtralForCausalLM

rows = []


def deal_out(router, inputs, output):
    logits, weights, chosen = output
    n = len(chosen)
    return logits, weights, torch.stack([torch.arange(n) % 8, (torch.arange(n) + 1) % 8], 1).cuda()


def main():
    config = MixtralConfig(hidden_size=512, intermediate_size=1024, num_hidden_layers=2, num_attention_heads=8, num_key_value_heads=4, vocab_size=4000,
                           output_router_logits=True, experts_implementation="eager")
    with torch.device("cuda"):
        model = MixtralForCausalLM(config)
    if "even" in sys.argv:
        for layer in model.model.layers:
            layer.mlp.gate.register_forward_hook(deal_out)
    linear = torch.nn.functional.linear

    def counting(x, weight, bias=None):
        if weight.shape == (2048, 512):
            rows.append(x.shape[0])
        return linear(x, weight, bias)

    torch.nn.functional.linear = counting
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        tokens = torch.randint(0, 4000, (2, 2048)).cuda()
        loss = model(tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    if rows:
        print(f"experts: {len(rows)}")
        print(f"fewest: {min(rows)}")
        print(f"most: {max(rows)}")
        print(f"rows: {sum(rows)}")
    print("loss is finite", loss.isfinite().item())
    print(f"peak allocated: {torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
