"""The memory that the staff model keeps for its backward pass, compared with closed forms; run with the virtual card
preloaded.

The forms count the bytes that were alive at the end of the forward pass in recordings of real cards (2.7B, edition
2025, batch 4, context 512: 27572.633 MiB in fp32, 24564.398 in bf16), and hold for every shape and every PyTorch.
"""
import torch

from staff_model import SIZES, VOCABULARY, make_model

MIB = 1 << 20
RECORDED_MIB = {"fp32": "27572.633", "bf16": "24564.398"}  # ../shared/facts/workload.md, section 4.2


def form(size, batch, context, precision, edition):
    d, d_ff, n_blocks, n_heads = SIZES[size]
    t = batch * context
    n, f, a, rows = t * d, t * d_ff, batch * n_heads * context**2, batch * n_heads * context
    gathered = 8 * context * d // n_heads if edition == 2025 else 0
    if precision == "fp32":
        block = 40 * n + 20 * f + 8 * a + 8 * t + context**2 + 12 * rows + gathered
        return n_blocks * block + 12 * n + 4 * t + 4 * t * VOCABULARY
    block = 34 * n + 10 * f + 6 * a + 8 * t + context**2 + 12 * rows + gathered + 2 * (4 * d * d + 3 * d * d_ff)
    return n_blocks * block + 10 * n + 4 * t + 2 * t * VOCABULARY + 2 * VOCABULARY * d


def kept(size, batch, context, precision, edition):
    """Bytes by the requested sizes, of the second pass: the first one makes the library's workspace."""
    model = make_model(size, context, edition)
    inputs = torch.zeros((batch, context), dtype=torch.int64).to("cuda")
    autocast = torch.autocast("cuda", dtype=torch.bfloat16, enabled=precision == "bf16")
    for _ in range(2):
        before = torch.cuda.memory_stats()["requested_bytes.all.current"]
        with autocast:
            logits = model(inputs)
            after = torch.cuda.memory_stats()["requested_bytes.all.current"]
        del logits
    return after - before


def main():
    for precision, text in RECORDED_MIB.items():
        assert f"{form('2.7B', 4, 512, precision, 2025) / MIB:.3f}" == text
    for case in [(size, batch, context, precision, edition) for precision in ("fp32", "bf16") for edition in (2025, 2026)
                 for size, batch, context in (("2.7B", 4, 512), ("small", 2, 96), ("medium", 3, 200), ("tiny", 5, 33))]:
        found, expected = kept(*case), form(*case)
        assert found == expected, (case, found, expected, found - expected)
        print(*case, f"{found / MIB:.3f} MiB, as the closed form")


main()
