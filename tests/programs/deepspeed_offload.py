"""DeepSpeed ZeRO-3 with parameters and the optimizer offloaded to the host, on one card."""
import deepspeed
import torch
from transformers import GPT2Config, GPT2LMHeadModel

settings = {
    "train_micro_batch_size_per_gpu": 2,
    "bf16": {"enabled": True},
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "torch_adam": True}},
    "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "cpu"}},
}
deepspeed.init_distributed("nccl")
with deepspeed.zero.Init(config_dict_or_path=settings):
    model = GPT2LMHeadModel(GPT2Config(n_layer=4, n_embd=512, n_head=8, vocab_size=8192))
engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=settings)
for _ in range(3):
    ids = torch.randint(0, 8192, (2, 512), device="cuda")
    loss = engine(input_ids=ids, labels=ids).loss
    engine.backward(loss)
    engine.step()
print("steps", engine.global_steps, torch.cuda.max_memory_allocated() >> 20, "MiB", flush=True)
