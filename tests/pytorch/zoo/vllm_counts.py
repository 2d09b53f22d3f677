"""The tokens that vLLM's sampler counts on the card: one for each request whose prompt is complete.

A stand-in for vLLM's module, with the members that are used: its kernel, of Triton, makes the counts unknown.
"""
import sys
import types

import numpy
import torch

module = types.ModuleType("vllm.v1.worker.gpu.sample.sampler")


class Sampler:
    def __call__(self, logits, input_batch):
        counts = [torch.randint(0, 9, (3,), device="cuda", dtype=torch.int32) for _ in range(2)]
        return types.SimpleNamespace(num_sampled=counts[0], num_rejected=counts[1])


module.Sampler = Sampler
sys.modules[module.__name__] = module
torch.zeros(1, device="cuda")
batch = types.SimpleNamespace(seq_lens_cpu_upper_bound=torch.tensor([20, 8, 21, 0], dtype=torch.int32),
                              prefill_len_np=numpy.array([20, 16, 5], dtype=numpy.int32))
made = Sampler()(None, batch)
print("sampled:", made.num_sampled.tolist(), "rejected:", made.num_rejected.cpu().tolist())
made = Sampler()(None, types.SimpleNamespace())
print("of another version:", made.num_sampled.shape[0])
