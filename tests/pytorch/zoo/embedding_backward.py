"""The gradient of an embedding of 50,257 words and 768 channels from 65,536 tokens: a sort, a count and partial sums.

Nothing of it may depend on what the card computes: PyTorch sizes its tensors by bounds (ATen's EmbeddingBackwardKernel.cu).
With T tokens, V words, C channels and 10 rows a partial sum, S = min(T, V) segments at most and P = T/10 + S partial sums:

  kept before    weight 4VC, tokens 8T, gradient of the output 4TC
  backward       sorted tokens and their origin 8T each, gradient of the weight 4VC, starts of segments 8T,
                 two counts 8 each, partial sums of each segment and their starts 8S each, starts of partial sums 8P,
                 partial sums 4PC

The peak is where the partial sums are there; the sort's own memory has gone by then. (The output, 4TC, is dropped before.)
"""
import torch

T, V, C = 65536, 50257, 768
weight = torch.randn(V, C, device="cuda", requires_grad=True)
tokens = torch.randint(0, V, (T,), device="cuda")
gradient = torch.randn(T, C, device="cuda")
output = torch.nn.functional.embedding(tokens, weight)
node = output.grad_fn
del output
torch.cuda.reset_peak_memory_stats()
weight.grad = node(gradient)
torch.cuda.synchronize()
statistics = torch.cuda.memory_stats()
print(f"peak requested: {statistics['requested_bytes.all.peak']}")
print(f"kept: {statistics['requested_bytes.all.current']}")
print("gradient", tuple(weight.grad.shape))
