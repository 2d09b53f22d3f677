"""LoRA of peft under accelerate in half precision with accumulation: only the small matrices are trained.

Two layers of 256 channels; q and v get two matrices of 8 * 256 each: 2 * 2 * 2 * 8 * 256 = 16,384 parameters.
"""
import torch
from accelerate import Accelerator
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

config = LlamaConfig(hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4, vocab_size=1000)
model = get_peft_model(LlamaForCausalLM(config), LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
accelerator = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=2)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
loader = torch.utils.data.DataLoader([torch.randint(0, 1000, (64,)) for _ in range(32)], batch_size=4)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for tokens in loader:
    with accelerator.accumulate(model):
        loss = model(input_ids=tokens, labels=tokens).loss
        accelerator.backward(loss)
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
print("on", accelerator.device)
print(f"trained: {sum(p.numel() for p in model.parameters() if p.requires_grad)}")
print(f"states: {len(optimizer.optimizer.state)}")
print(f"steps taken: {int(next(iter(optimizer.optimizer.state.values()))['step'])}")
