"""TRL's SFTTrainer on a Llama of random weights: trl_sft.py [lora] [packed]

Prompts of 40 tokens and completions of 24, of which the loss has the completions with their end token; packed: texts of
64 tokens in rows of 128, of which the loss has all. The head gets the rows whose label counts. The host counts these labels in
each batch that it makes ("labels"); "rows" are those that the card's head is given, and "rows differ" is their difference.
"""
import sys

import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import LlamaConfig, LlamaForCausalLM
from trl import SFTConfig, SFTTrainer
from trl.trainer import utils

import words

N_WORDS, IS_PACKED = 32000, "packed" in sys.argv
counted, given = [], []


def watch_rows():
    """Counts the rows of the hidden states that TRL's own loss multiplies with the head."""
    kind = utils._ChunkedLogProbFunction
    apply = kind.apply

    def counting(hidden, *rest):
        given.append(hidden.shape[0])
        return apply(hidden, *rest)

    kind.apply = counting


def count_labels(collate):
    def counting(examples):
        batch = collate(examples)
        counted.append(int((batch["labels"][:, 1:] != -100).sum()))
        return batch
    return counting


def main():
    if IS_PACKED:
        rows = [{"text": words.text(63, N_WORDS, i)} for i in range(128)]
    else:
        rows = [{"prompt": words.text(40, N_WORDS, i), "completion": " " + words.text(24 - i % 5, N_WORDS, 1000 + i)} for i in range(64)]
    model = LlamaForCausalLM(LlamaConfig(hidden_size=512, intermediate_size=1024, num_hidden_layers=2, num_attention_heads=8, vocab_size=N_WORDS,
                                         pad_token_id=0, eos_token_id=1))
    arguments = SFTConfig(output_dir="out", per_device_train_batch_size=8, max_steps=3, report_to=[], logging_steps=1, save_strategy="no",
                          bf16=False, packing=IS_PACKED, max_length=128, gradient_checkpointing=False)
    trainer = SFTTrainer(model, args=arguments, train_dataset=Dataset.from_list(rows), processing_class=words.tokenizer(N_WORDS),
                         peft_config=LoraConfig(r=8, target_modules=["q_proj", "v_proj"]) if "lora" in sys.argv else None)
    trainer.data_collator = count_labels(trainer.data_collator)
    trainer.train()
    print(f"labels: {sum(counted[:3])}")
    print(f"rows: {sum(given[:3])}")
    print(f"rows differ: {sum(given[:3]) - sum(counted[:3])}")
    print(f"steps: {trainer.state.global_step}")
    print(f"peak allocated: {torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    watch_rows()
    main()
