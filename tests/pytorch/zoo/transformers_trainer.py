"""The Trainer of transformers: bfloat16, checkpointing, accumulation, evaluation and saving of a small Llama, six steps.

32 samples in batches of 4, two batches a step; it evaluates after steps 3 and 6 and saves after step 4.
"""
import os
import tempfile

import torch
from safetensors.torch import load_file
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments


class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, i):
        tokens = torch.randint(0, 1000, (128,))
        return {"input_ids": tokens, "labels": tokens}


def main():
    config = LlamaConfig(hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4, vocab_size=1000)
    folder = tempfile.mkdtemp()
    arguments = TrainingArguments(
        output_dir=folder, per_device_train_batch_size=4, max_steps=6, bf16=True, gradient_checkpointing=True,
        gradient_accumulation_steps=2, logging_steps=1, save_steps=4, report_to=[], dataloader_num_workers=1,
        eval_strategy="steps", eval_steps=3)
    trainer = Trainer(model=LlamaForCausalLM(config), args=arguments, train_dataset=Texts(), eval_dataset=Texts())
    trainer.train()
    print(f"steps: {trainer.state.global_step}")
    print(f"evaluations: {sum('eval_loss' in row for row in trainer.state.log_history)}")
    weights = os.path.join(folder, "checkpoint-4", "model.safetensors")
    print(f"weights: {int(load_file(weights).keys() == trainer.model.state_dict().keys())}")
    print("on", next(trainer.model.parameters()).device)


if __name__ == "__main__":
    main()
