"""A model like nanoGPT's for a launch log: LayerNorm, dropout, flash attention, cross entropy, clipping, fused AdamW.

nanogpt.py [STEPS]: bf16 by autocast, random weights. Its sizes let it run in seconds.
"""
import sys

import torch
import torch.nn.functional as F
from torch import nn

LAYERS, HEADS, CHANNELS, CONTEXT, VOCABULARY, BATCH, DROPOUT = 4, 6, 384, 256, 50304, 8, 0.1


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(CHANNELS), nn.LayerNorm(CHANNELS)
        self.qkv, self.out = nn.Linear(CHANNELS, 3 * CHANNELS), nn.Linear(CHANNELS, CHANNELS)
        self.up, self.down = nn.Linear(CHANNELS, 4 * CHANNELS), nn.Linear(4 * CHANNELS, CHANNELS)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x):
        batch, context, _ = x.shape
        q, k, v = (part.view(batch, context, HEADS, -1).transpose(1, 2) for part in self.qkv(self.norm_1(x)).chunk(3, -1))
        heads = F.scaled_dot_product_attention(q, k, v, dropout_p=DROPOUT if self.training else 0.0, is_causal=True)
        x = x + self.dropout(self.out(heads.transpose(1, 2).reshape(batch, context, CHANNELS)))
        return x + self.dropout(self.down(F.gelu(self.up(self.norm_2(x)))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, CHANNELS), nn.Embedding(CONTEXT, CHANNELS)
        self.dropout = nn.Dropout(DROPOUT)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(CHANNELS), nn.Linear(CHANNELS, VOCABULARY, bias=False)
        self.tokens.weight = self.head.weight

    def forward(self, tokens, targets):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.norm(self.blocks(self.dropout(self.tokens(tokens) + self.places(places))))
        return F.cross_entropy(self.head(x).view(-1, VOCABULARY), targets.view(-1), ignore_index=-1)


model = Model().cuda()
decayed = [p for p in model.parameters() if p.dim() > 1]
others = [p for p in model.parameters() if p.dim() <= 1]
optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
                              lr=6e-4, betas=(0.9, 0.95), fused=True)
for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 3):
    tokens, targets = (torch.randint(VOCABULARY, (BATCH, CONTEXT)).cuda() for _ in range(2))
    with torch.autocast("cuda", torch.bfloat16):
        loss = model(tokens, targets)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
print(loss.item())
