"""A Llama whose linear layers are bitsandbytes' 4-bit ones, trained with LoRA: the way of QLoRA and of Unsloth.

Each of 2 layers has 4 matrices of 1024 x 1024 and 3 of 1024 x 2048, half a byte for each weight; the words and the head become
float32, as PEFT prepares such a model.

The least that the peak holds: words and head in float32, the 4-bit weights, and three copies of the logits, 512 x 32,000 floats.
The most, 160 MiB above it: the head's copy in bfloat16 for autocast (62.5 MiB), the logits and their gradient in bfloat16
(2 x 31.25 MiB), and 35 MiB for the matrices that a layer unpacks (at most 4 MiB each) and what two layers keep of 512 tokens.
"""
import torch
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import BitsAndBytesConfig, LlamaConfig, LlamaForCausalLM
from transformers.integrations.bitsandbytes import replace_with_bnb_linear

def main():
    quantization = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16)
    torch.set_default_dtype(torch.bfloat16)
    model = LlamaForCausalLM(LlamaConfig(hidden_size=1024, intermediate_size=2048, num_hidden_layers=2, num_attention_heads=8, vocab_size=32000))
    model = replace_with_bnb_linear(model, modules_to_not_convert=["lm_head"], quantization_config=quantization)
    torch.set_default_dtype(torch.float32)
    for module in model.modules():
        if type(module).__name__ == "Linear4bit":
            import bitsandbytes
            module.weight = bitsandbytes.nn.Params4bit(torch.randn(module.out_features, module.in_features, dtype=torch.bfloat16), requires_grad=False, quant_type="nf4")
    model.cuda()
    model.is_loaded_in_4bit = True
    print(f"weights in 4 bits: {sum(p.nbytes for p in model.parameters() if p.dtype == torch.uint8)}")
    model = prepare_model_for_kbit_training(model)
    model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"]))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    for _ in range(3):
        tokens = torch.randint(0, 32000, (2, 256)).cuda()
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print("loss is finite", loss.isfinite().item())
    print(f"peak allocated: {torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
