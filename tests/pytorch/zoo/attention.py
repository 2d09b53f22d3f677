"""Scaled dot product attention by each of PyTorch's kernels, multi-head attention, an encoder in training and evaluation.

Two sequences of 1024 tokens, 8 heads of 64 channels in bfloat16: one of q, k, v or the output is 2 MiB (U). What a forward
pass adds and keeps for the backward pass, from each kernel's definition, without dropout:

  math               scores of 2 * 8 * 1024 * 1024 and the like: at least 32 MiB for the probabilities that are kept
  flash              the output, one float32 a row, the generator's state of two numbers and an unused one of 8 bytes:
                     U + 2 * 8 * 1024 * 4 + 3 * 8
  memory-efficient   the output, one float32 a row, the generator's seed and offset: U + 2 * 8 * 1024 * 4 + 2 * 8
"""
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

functional = torch.nn.functional
KERNELS = {"math": SDPBackend.MATH, "flash": SDPBackend.FLASH_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION}
for name, kernel in KERNELS.items():
    for causal in (False, True):
        q, k, v = (torch.randn(2, 8, 1024, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
        before = torch.cuda.memory_stats()["requested_bytes.all.current"]
        with sdpa_kernel(kernel):
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        kept = torch.cuda.memory_stats()["requested_bytes.all.current"] - before
        if kernel == SDPBackend.MATH:
            print("math keeps probabilities", kept >= 32 << 20)
        else:
            print(f"{name}, {'causal' if causal else 'full'}: {kept}")
        y.sum().backward()
        assert q.grad.shape == q.shape
        del q, k, v, y
with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
    q, k, v = (torch.randn(2, 8, 1024, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
    functional.scaled_dot_product_attention(q, k, v, is_causal=True).sum().backward()
    print("cudnn", q.grad.shape == q.shape)

heads = torch.nn.MultiheadAttention(256, 8, batch_first=True).cuda()
x = torch.randn(4, 100, 256, device="cuda", requires_grad=True)
output, weights = heads(x, x, x)
output.sum().backward()
print("weights", tuple(weights.shape))
heads(x, x, x, need_weights=False)[0].sum().backward()
encoder = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(256, 8, batch_first=True), 2).cuda()
mask = torch.zeros(4, 100, dtype=torch.bool, device="cuda")
encoder(x, src_key_padding_mask=mask).sum().backward()
encoder.eval()
with torch.no_grad():
    print("encoder", tuple(encoder(x.detach(), src_key_padding_mask=mask).shape))
