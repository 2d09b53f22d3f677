"""The training jobs of GPUMemNet's test: networks of torchvision and timm on ImageNet, and transformers of 512 tokens, in fp32 with Adam.

  gpumemnet.py ROWS

Answers with the memory that nvidia-smi shows after three steps of training.
"""
import re
import sys
from pathlib import Path

import torch

WORDS = {"bert": (30522, dict(hidden_size=768, num_hidden_layers=12, num_attention_heads=12, intermediate_size=3072),
                  dict(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)),
         "xlnet": (32000, dict(d_model=768, n_layer=12, n_head=12, d_inner=3072), dict(d_model=1024, n_layer=24, n_head=16, d_inner=4096)),
         "gpt2": (50257, {}, dict(n_embd=1280, n_layer=36, n_head=20), dict(n_embd=1600, n_layer=48, n_head=25))}
TOKENS = 512


def images(name: str):
    """A network and the side of its images."""
    import torchvision.models as models
    if name == "xception":
        import timm
        return timm.create_model("legacy_xception", pretrained=False, num_classes=1000), 224
    if name == "inception":
        return models.inception_v3(weights=None, aux_logits=False, init_weights=False, num_classes=1000), 299
    names = {"mobilenetv2": "mobilenet_v2", "efficientnet": "efficientnet_b0"}
    return getattr(models, names.get(name, name))(weights=None, num_classes=1000), 224


def texts(name: str):
    """Classifiers of a sequence, as the repository's listings of their modules show."""
    import transformers
    kind, size = name.split("_")[:2]
    vocabulary, *sizes = WORDS[kind]
    config = transformers.AutoConfig.for_model(kind, vocab_size=vocabulary, **sizes[("base", "large").index(size) if size != "xl" else -1])
    config.pad_token_id = 0
    return transformers.AutoModelForSequenceClassification.from_config(config, attn_implementation="eager")


def used() -> float:
    free, total = torch.cuda.mem_get_info()
    return (total - free) / 2**20


def train(config: str) -> float:
    name, batch = re.match(r"(\S+) batch (\d+)", config).groups()
    name, batch = name.lower(), int(batch)
    if name.split("_")[0] in WORDS:
        model = texts(name).to("cuda")
        tokens = torch.ones(batch, TOKENS, dtype=torch.long)
        forward = lambda: model(input_ids=tokens.to("cuda"), attention_mask=torch.ones_like(tokens).to("cuda")).logits  # noqa: E731
        classes = 2
    else:
        model, side = images(name)
        model.to("cuda")
        forward = lambda: model(torch.zeros(batch, 3, side, side).to("cuda"))  # noqa: E731
        classes = 1000
    optimizer, loss_of = torch.optim.Adam(model.parameters(), lr=1e-3), torch.nn.CrossEntropyLoss()
    model.train()
    for _ in range(3):
        optimizer.zero_grad()
        loss = loss_of(forward(), torch.zeros(batch, dtype=torch.long, device="cuda") % classes)
        loss.backward()
        optimizer.step()
        loss.item()
    return used()


def main() -> None:
    for line in Path(sys.argv[1]).read_text().splitlines():
        key, _, config, _, what, _ = line.split("\t")
        try:
            answer = f"{train(config):.0f}", "MiB"
        except Exception as why:
            answer = "FAILED", f"{type(why).__name__}: {' '.join(str(why).split())[:150]}"
        print("ROW", key, what, *answer, sep="\t", flush=True)


if __name__ == "__main__":
    main()
