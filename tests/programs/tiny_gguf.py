"""A Llama of random weights in the format GGUF, for llama.cpp: tiny_gguf.py FILE."""
import random
import struct
import sys

VOCABULARY, WIDTH, HEADS, KV_HEADS, INNER, LAYERS, CONTEXT = 300, 256, 8, 4, 512, 4, 4096
UINT32, INT32, FLOAT32, STRING, ARRAY = 4, 5, 6, 8, 9  # types of values
F32, F16, ALIGNMENT = 0, 1, 32


def string(text: bytes) -> bytes:
    return struct.pack("<Q", len(text)) + text


def value(key: str, kind: int, data: bytes) -> bytes:
    return string(key.encode()) + struct.pack("<I", kind) + data


def array(kind: int, parts: list) -> bytes:
    return struct.pack("<IQ", kind, len(parts)) + b"".join(parts)


def numbers() -> list:
    named = {"context_length": CONTEXT, "embedding_length": WIDTH, "block_count": LAYERS, "feed_forward_length": INNER,
             "attention.head_count": HEADS, "attention.head_count_kv": KV_HEADS, "rope.dimension_count": WIDTH // HEADS,
             "vocab_size": VOCABULARY}
    return [value(f"llama.{key}", UINT32, struct.pack("<I", n)) for key, n in named.items()]


def vocabulary() -> list:
    words = [b"<unk>", b"<s>", b"</s>"] + [b"<0x%02X>" % i for i in range(256)]
    kinds = [2, 3, 3] + [6] * 256 + [1] * (VOCABULARY - 259)
    words += [b"t%d" % i for i in range(VOCABULARY - len(words))]
    return [value("tokenizer.ggml.model", STRING, string(b"llama")),
            value("tokenizer.ggml.tokens", ARRAY, array(STRING, [string(word) for word in words])),
            value("tokenizer.ggml.scores", ARRAY, array(FLOAT32, [struct.pack("<f", 0.0)] * VOCABULARY)),
            value("tokenizer.ggml.token_type", ARRAY, array(INT32, [struct.pack("<i", kind) for kind in kinds])),
            value("tokenizer.ggml.bos_token_id", UINT32, struct.pack("<I", 1)),
            value("tokenizer.ggml.eos_token_id", UINT32, struct.pack("<I", 2))]


def tensors() -> list:
    """Name, shape (the innermost dimension first) and type of each."""
    kv = WIDTH // HEADS * KV_HEADS
    made = [("token_embd.weight", (WIDTH, VOCABULARY), F16), ("output_norm.weight", (WIDTH,), F32), ("output.weight", (WIDTH, VOCABULARY), F16)]
    for i in range(LAYERS):
        made += [(f"blk.{i}.{name}.weight", shape, F32 if len(shape) == 1 else F16) for name, shape in (
            ("attn_norm", (WIDTH,)), ("ffn_norm", (WIDTH,)), ("attn_q", (WIDTH, WIDTH)), ("attn_k", (WIDTH, kv)), ("attn_v", (WIDTH, kv)),
            ("attn_output", (WIDTH, WIDTH)), ("ffn_gate", (WIDTH, INNER)), ("ffn_up", (WIDTH, INNER)), ("ffn_down", (INNER, WIDTH)))]
    return made


def padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % ALIGNMENT)


def main() -> None:
    values = [value("general.architecture", STRING, string(b"llama")),
              value("llama.attention.layer_norm_rms_epsilon", FLOAT32, struct.pack("<f", 1e-5))] + numbers() + vocabulary()
    listed, data = b"", b""
    draws = random.Random(1)
    for name, shape, kind in tensors():
        listed += string(name.encode()) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, len(data))
        if kind == F32:
            data += padded(struct.pack(f"<{shape[0]}f", *[1.0] * shape[0]))
        else:
            n = shape[0] * shape[1]
            data += padded(struct.pack(f"<{n}e", *(draws.gauss(0, 0.02) for _ in range(n))))
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors()), len(values)) + b"".join(values) + listed
    with open(sys.argv[1], "wb") as file:
        file.write(padded(head) + data)


main()
