"""What a row of prime-rl's benchmarks says, and which of a run's figures answers it. It needs no PyTorch."""
import re

# Of the published config.json.
QWEN3 = dict(vocab_size=151936, num_key_value_heads=8, head_dim=128, rms_norm_eps=1e-6, tie_word_embeddings=True)
MODELS = {
    "Qwen3-0.6B": ("qwen3", QWEN3 | dict(hidden_size=1024, intermediate_size=3072, num_hidden_layers=28, num_attention_heads=16,
                                         max_position_embeddings=40960, rope_theta=1e6)),
    "Qwen3-4B": ("qwen3", QWEN3 | dict(hidden_size=2560, intermediate_size=9728, num_hidden_layers=36, num_attention_heads=32,
                                       max_position_embeddings=262144, rope_theta=5e6)),
}


def number(pattern: str, text: str, otherwise: int) -> int:
    found = re.search(pattern, text, re.I)
    return int(found.group(1).replace(",", "").replace("_", "")) if found else otherwise


def chosen_of(program: str, config: str, cards: int) -> dict:
    """What a row says; words of the table ("RL LoRA(r=16)", "FA3") or of the names of its files ("rl-16-1gpu-Recompute-flash_attention_3-16384")."""
    text = f"{program} {config}"
    model = next((name for name in MODELS if name.lower() in text.lower()), "")
    words = re.sub(r"qwen3?-?[\d.]+b[\w-]*?(?=[ ,|]|$|-(?:rl|sft))", " ", text, flags=re.I)
    rank = number(r"(?:\br ?= ?|rank ?|\brl-|\bsft-)(\d+)", words, 0)
    length = number(r"seq\w*[ _=:-]*(\d[\d,_]*)", words, 0) or next((int(one) for one in re.findall(r"\b\d{4,6}\b", words)), 0)
    return {"model": model, "kind": "sft" if re.search(r"\bsft\b", words, re.I) else "rl", "rank": rank, "length": length,
            "offload": "offload" in words.lower(), "plain": bool(re.search(r"no ac|ac[ =:]none", words, re.I)), "cards": cards,
            "cp": number(r"\bcp[ =:]?(\d+)", words, 1), "ep": number(r"\bep[ =:]?(\d+)", words, 1)}


def not_here(chosen: dict) -> str:
    if not chosen["model"]:
        return "a mixture of experts, or a model that the trainer of January 2026 was not measured with"
    if not chosen["length"]:
        return "the row does not say how long its sequences are"
    return "ring attention is not written" if chosen["cp"] > 1 else ""


def answer_of(key: str, what: str, found: dict):
    """The table's step time is that of a micro batch; that of the files of baselines, of a step."""
    what = what.lower()
    if "mem" in what:
        return found.get("memory")
    if "time" in what:
        return found.get("step" if "baseline" in key.lower() or ".json" in key.lower() else "micro")
    return found.get("rate") if any(word in what for word in ("tps", "tokens", "throughput", "tok/s")) else None
