"""TRL's GRPOTrainer on a Llama of random weights: trl_grpo.py [lora]

Four completions of at most 16 tokens for each prompt of 12, rewarded by their length. The tokens are drawn on the card: texts
end early only where the end token is drawn, which is one of 1,000.
"""
import sys
import tempfile

import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import LlamaConfig, LlamaForCausalLM
from trl import GRPOConfig, GRPOTrainer

import words

N_WORDS = 1000
lengths = []


def by_length(completions, completion_ids, **kwargs):
    lengths.extend(len(tokens) for tokens in completion_ids)
    return [float(len(tokens)) for tokens in completion_ids]


def main():
    rows = [{"prompt": words.text(12, N_WORDS, i)} for i in range(32)]
    model = LlamaForCausalLM(LlamaConfig(hidden_size=512, intermediate_size=1024, num_hidden_layers=2, num_attention_heads=8, vocab_size=N_WORDS,
                                         pad_token_id=0, eos_token_id=1))
    folder = tempfile.mkdtemp()
    model.save_pretrained(folder)  # the reference is loaded from where the model came from
    model = LlamaForCausalLM.from_pretrained(folder)
    arguments = GRPOConfig(output_dir="out", per_device_train_batch_size=8, num_generations=4, max_completion_length=16, max_steps=2, report_to=[],
                           logging_steps=1, save_strategy="no", bf16=False, gradient_checkpointing=False, beta=0.04)
    trainer = GRPOTrainer(model, args=arguments, train_dataset=Dataset.from_list(rows), processing_class=words.tokenizer(N_WORDS),
                          reward_funcs=by_length, peft_config=LoraConfig(r=8, target_modules=["q_proj", "v_proj"]) if "lora" in sys.argv else None)
    trainer.train()
    print(f"completions: {len(lengths)}")
    print(f"longest: {max(lengths)}")
    print(f"tokens: {sum(lengths)}")
    print(f"steps: {trainer.state.global_step}")
    print(f"peak allocated: {torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
