"""vLLM, offline with weights of no value: one request to its end. vllm_request.py MODEL [KEY=VALUE...]; MODEL is tiny or llama8b."""
import json
import os
import sys
import tempfile

LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "rms_norm_eps": 1e-05, "torch_dtype": "bfloat16",
         "bos_token_id": 1, "eos_token_id": 2, "tie_word_embeddings": False}
MODELS = {
    "tiny": {"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
             "head_dim": 64, "vocab_size": 1024, "max_position_embeddings": 4096, "rope_theta": 10000.0},
    "llama8b": {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
                "vocab_size": 128256, "max_position_embeddings": 131072, "rope_theta": 500000.0,
                "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                 "original_max_position_embeddings": 8192, "rope_type": "llama3"}},
}


def model_folder(name):
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(LLAMA | MODELS[name], file)
    return folder


def value_of(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def main():
    from vllm import LLM, SamplingParams

    settings = {key: value_of(text) for key, text in (part.split("=", 1) for part in sys.argv[2:])}
    engine = LLM(model=model_folder(sys.argv[1]), skip_tokenizer_init=True, load_format="dummy", **settings)
    sampling = SamplingParams(max_tokens=8, detokenize=False, ignore_eos=True)
    made = engine.generate([{"prompt_token_ids": list(range(5, 25))}], sampling)
    print("tokens", [len(one.outputs[0].token_ids) for one in made], flush=True)


if __name__ == "__main__":
    main()
