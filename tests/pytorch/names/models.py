"""Models whose activations must have names: models.py NAME. They train for a few steps. NAME: one of MODELS."""
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

STEPS = 4


class Block(nn.Module):
    """A transformer block as GPT-2 has it."""

    def __init__(self, width, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        n, length, width = x.shape
        q, k, v = self.qkv(self.ln_1(x)).split(width, dim=2)
        q, k, v = (part.view(n, length, self.n_heads, -1).transpose(1, 2) for part in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=0.1)
        x = x + F.dropout(self.proj(y.transpose(1, 2).reshape(n, length, width)), 0.1)
        return x + F.dropout(self.down(F.gelu(self.up(self.ln_2(x)))), 0.1)


class GPT2(nn.Module):
    def __init__(self, n_words=50257, width=768, n_layers=12, length=1024):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(n_words, width), nn.Embedding(length, width)
        self.h = nn.ModuleList(Block(width, 12) for _ in range(n_layers))
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, n_words, bias=False)

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1], device=ids.device))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * h.to(x.dtype)


class LlamaLayer(nn.Module):
    def __init__(self, width, inner, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.norm_1, self.norm_2 = RMSNorm(width), RMSNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(width, inner, bias=False) for _ in range(2))
        self.down = nn.Linear(inner, width, bias=False)

    def turn(self, x, angles):
        a, b = x.chunk(2, dim=-1)
        return x * angles.cos() + torch.cat((-b, a), dim=-1) * angles.sin()

    def forward(self, x, angles):
        h = self.norm_1(x)
        q, k, v = (f(h).unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for f in (self.q, self.k, self.v))
        att = F.scaled_dot_product_attention(self.turn(q, angles), self.turn(k, angles), v, is_causal=True)
        x = x + self.o(att.transpose(1, 2).flatten(2))
        h = self.norm_2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    """Each layer is checkpointed."""

    def __init__(self, n_words=32000, width=2048, n_layers=16, n_heads=32):
        super().__init__()
        self.embed = nn.Embedding(n_words, width)
        self.layers = nn.ModuleList(LlamaLayer(width, 5632, n_heads) for _ in range(n_layers))
        self.norm = RMSNorm(width)
        self.lm_head = nn.Linear(width, n_words, bias=False)
        self.n_turned = width // n_heads

    def forward(self, ids):
        x = self.embed(ids)
        places = torch.arange(ids.shape[1], device=ids.device, dtype=torch.bfloat16)
        angles = torch.outer(places, torch.ones(self.n_turned, device=ids.device, dtype=torch.bfloat16))
        for layer in self.layers:
            x = checkpoint(layer, x, angles, use_reentrant=False)
        logits = self.lm_head(self.norm(x)).float()
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


class Twice(nn.Sequential):
    """Two convolutions with group norms."""

    def __init__(self, n_in, n_out):
        super().__init__(nn.Conv2d(n_in, n_out, 3, padding=1), nn.GroupNorm(8, n_out), nn.SiLU(),
                         nn.Conv2d(n_out, n_out, 3, padding=1), nn.GroupNorm(8, n_out), nn.SiLU())


class UNet(nn.Module):
    def __init__(self, widths=(64, 128, 256, 512)):
        super().__init__()
        pairs = list(zip(widths, widths[1:]))
        self.first = Twice(3, widths[0])
        self.downs = nn.ModuleList(Twice(a, b) for a, b in pairs)
        self.grows = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in reversed(pairs))
        self.ups = nn.ModuleList(Twice(2 * a, a) for a, _ in reversed(pairs))
        self.last = nn.Conv2d(widths[0], 3, 1)

    def forward(self, image):
        kept = [self.first(image)]
        for down in self.downs:
            kept.append(down(F.max_pool2d(kept[-1], 2)))
        x = kept.pop()
        for grow, up in zip(self.grows, self.ups):
            x = up(torch.cat((kept.pop(), grow(x)), dim=1))
        return F.mse_loss(self.last(x), image)


class Classifier(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, images):
        scores = self.model(images)
        return F.cross_entropy(scores, torch.zeros(len(images), dtype=torch.long, device=images.device))


def vit():
    from torchvision.models import vit_b_16

    return Classifier(vit_b_16())


def resnet():
    from torchvision.models import resnet50

    return Classifier(resnet50())


def ids(n, length, n_words):
    return lambda: torch.randint(n_words, (n, length)).cuda()


def images(n, size):
    return lambda: torch.randn(n, 3, size, size).cuda()


# The model, its inputs, and its type.
MODELS = {
    "gpt2": (GPT2, ids(8, 1024, 50257), torch.float32),
    "vit": (vit, images(64, 224), torch.float32),
    "resnet": (resnet, images(64, 224), torch.float32),
    "unet": (UNet, images(8, 256), torch.float32),
    "llama": (Llama, ids(4, 2048, 32000), torch.bfloat16),
}


def main():
    make, inputs, dtype = MODELS[sys.argv[1]]
    model = make().to(device="cuda", dtype=dtype)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(STEPS):
        loss = model(inputs())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
