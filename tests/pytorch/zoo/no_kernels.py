"""A PyTorch without kernels for the card: memory can be allocated and copied, and the first kernel fails as on the card."""
import torch

x = torch.empty(1000, device="cuda")
x.copy_(torch.ones(1000))
print("architectures", "sm_70" in torch.cuda.get_arch_list(), flush=True)
torch.ones(3, device="cuda")
