"""PEFT's table of its README: fine-tuning of T0_3B, mt0-xxl and bloomz-7b1 in fp32 with batches of 8 short texts, whole or with LoRA.

  peft_runs.py ROWS
"""
import os
import sys
import time
import traceback
from pathlib import Path

import torch

from unused import pretend

os.environ.update(HF_HUB_OFFLINE="1", BNB_CUDA_VERSION="121")
pretend("triton.ops", "triton.ops.matmul_perf_model")  # bitsandbytes 0.43 imports them for int8 products
import transformers  # noqa: E402
from peft import LoraConfig, TaskType, get_peft_model  # noqa: E402

BATCH, TOKENS, ANSWER, STEPS = 8, 64, 3, 3
T5 = dict(d_kv=64, feed_forward_proj="gated-gelu", tie_word_embeddings=False, decoder_start_token_id=0)
# Of the published config.json: part of a name, the type, and sizes.
MODELS = (("t0_3b", "t5", dict(T5, vocab_size=32128, d_model=2048, d_ff=5120, num_layers=24, num_heads=32)),
          ("mt0-xxl", "mt5", dict(T5, vocab_size=250112, d_model=4096, d_ff=10240, num_layers=24, num_heads=64)),
          ("mt0-xl", "mt5", dict(T5, vocab_size=250112, d_model=2048, d_ff=5120, num_layers=24, num_heads=32)),
          ("mt0-large", "mt5", dict(T5, vocab_size=250112, d_model=1024, d_ff=2816, num_layers=24, num_heads=16)),
          ("bloomz-7b1", "bloom", dict(vocab_size=250880, hidden_size=4096, n_layer=30, n_head=32)))


def model_of(text: str, lora: bool):
    kind, sizes = next((kind, sizes) for name, kind, sizes in MODELS if name in text)
    config = transformers.AutoConfig.for_model(kind, **sizes)
    causal = kind == "bloom"
    make = transformers.AutoModelForCausalLM if causal else transformers.AutoModelForSeq2SeqLM
    with torch.device("meta"):
        model = make.from_config(config)
    model.to_empty(device="cuda").tie_weights()
    if lora:
        task = TaskType.CAUSAL_LM if causal else TaskType.SEQ_2_SEQ_LM
        model = get_peft_model(model, LoraConfig(task_type=task, r=8, lora_alpha=32, lora_dropout=0.1))
    return model.train(), TOKENS if causal else ANSWER


def run(text: str) -> dict:
    if "deepspeed" in text or "offload" in text:
        return {"": ("FAILED", "DeepSpeed's offload to the host is not run")}
    try:
        model, answer = model_of(text, "lora" in text)
        optimizer = torch.optim.AdamW([one for one in model.parameters() if one.requires_grad], lr=3e-3, foreach=False)  # as before PyTorch 2.0
        times = []
        for _ in range(STEPS):
            begin = time.perf_counter()
            tokens, labels = (torch.ones(BATCH, length, dtype=torch.long).to("cuda") for length in (TOKENS, answer))
            model(input_ids=tokens, attention_mask=torch.ones_like(tokens), labels=labels).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            torch.cuda.synchronize()
            times.append(time.perf_counter() - begin)
    except torch.OutOfMemoryError as error:
        return {"verdict": ("OOM", ""), "": ("FAILED", f"OutOfMemoryError: {' '.join(str(error).split())[:120]}")}
    memory, reserved = (f"{bytes_ / 1e9:.6g}" for bytes_ in (torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()))
    return {"verdict": ("fits", ""), "memory": (memory, "GB"), "reserved": (reserved, "GB"), "time": (f"{min(times):.6g}", "s")}


def main() -> None:
    lines = [line.split("\t") for line in Path(sys.argv[1]).read_text().splitlines()]
    _, program, config, _, _, _ = lines[0]
    try:
        found = run(f"{program} {config}".lower())
    except Exception as error:  # a row needs an answer
        traceback.print_exc()
        found = {"": ("FAILED", f"{type(error).__name__}: {' '.join(str(error).split())[:150]}")}
    for key, _, _, _, what, _ in lines:
        name = next((name for name in ("verdict", "reserved", "time") if name in what.lower()), "memory")
        print("ROW", key, what, *found.get(name, found.get("", ("FAILED", "it does not say this"))), sep="\t", flush=True)


if __name__ == "__main__":
    main()
