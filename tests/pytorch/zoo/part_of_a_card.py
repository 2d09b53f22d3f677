"""A part of a card (a green context): what is not simulated is refused with CUDA's own error."""
import torch

torch.zeros(1, device="cuda")
context = torch.cuda.GreenContext.create(num_sms=16)
with context:
    torch.zeros(1, device="cuda")
