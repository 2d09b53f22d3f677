"""SGLang, offline with weights of no value: one request to its end. sglang_request.py MODEL [KEY=VALUE...]; MODEL is tiny or llama8b."""
import sys

from vllm_request import model_folder, value_of


def main():
    import sglang

    settings = {key: value_of(text) for key, text in (part.split("=", 1) for part in sys.argv[2:])}
    engine = sglang.Engine(model_path=model_folder(sys.argv[1]), load_format="dummy", skip_tokenizer_init=True, **settings)
    made = engine.generate(input_ids=list(range(5, 25)), sampling_params={"max_new_tokens": 8, "ignore_eos": True})
    print("tokens", len(made["output_ids"]), flush=True)
    engine.shutdown()


if __name__ == "__main__":
    main()
