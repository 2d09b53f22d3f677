"""TRL's DPOTrainer on a Llama of random weights: trl_dpo.py [lora]

Prompts of 24 tokens, chosen and rejected completions of 16 to 20. The head gets the rows of the completions' tokens. "rows"
are what the card's head is given in a step, of the policy and of the reference; "rows differ" is their difference from what the
host counts in the batches that it makes.
"""
import sys
import tempfile

import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import LlamaConfig, LlamaForCausalLM
from trl import DPOConfig, DPOTrainer
from trl.trainer import utils

import words

N_WORDS = 32000
counted, given = [], []


def watch_rows():
    kind = utils._ChunkedLogProbFunction
    apply = kind.apply

    def counting(hidden, *rest):
        given.append(hidden.shape[0])
        return apply(hidden, *rest)

    kind.apply = counting


def count_completions(collate):
    def counting(examples):
        batch = collate(examples)
        counted.append(int((batch["completion_mask"][:, 1:] != 0).sum()))
        return batch
    return counting


def main():
    rows = [{"prompt": words.text(24, N_WORDS, i), "chosen": " " + words.text(16 + i % 5, N_WORDS, 1000 + i),
             "rejected": " " + words.text(20 - i % 3, N_WORDS, 2000 + i)} for i in range(32)]
    model = LlamaForCausalLM(LlamaConfig(hidden_size=512, intermediate_size=1024, num_hidden_layers=2, num_attention_heads=8, vocab_size=N_WORDS,
                                         pad_token_id=0, eos_token_id=1))
    folder = tempfile.mkdtemp()
    model.save_pretrained(folder)  # the reference is loaded from where the model came from
    model = LlamaForCausalLM.from_pretrained(folder)
    arguments = DPOConfig(output_dir="out", per_device_train_batch_size=4, max_steps=3, report_to=[], logging_steps=1, save_strategy="no",
                          bf16=False, gradient_checkpointing=False)
    trainer = DPOTrainer(model, args=arguments, train_dataset=Dataset.from_list(rows), processing_class=words.tokenizer(N_WORDS),
                         peft_config=LoraConfig(r=8, target_modules=["q_proj", "v_proj"]) if "lora" in sys.argv else None)
    trainer.data_collator = count_completions(trainer.data_collator)
    trainer.train()
    print(f"completions: {sum(counted[:3])}")
    print(f"rows: {sum(given)}")
    print(f"calls of the head: {len(given)}")
    print(f"rows differ: {sum(given) - 2 * sum(counted[:3])}")
    print(f"steps: {trainer.state.global_step}")
    print(f"peak allocated: {torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    watch_rows()
    main()
