"""Sorting, searching, gathering, scattering, losses, random numbers, printing: what depends on shapes alone.

The shapes are those of PyTorch's own documentation. Results whose size depends on values are in data_dependent.py.
"""
import torch
from torch import nn

functional = nn.functional
d = "cuda"
for n in (8, 5000, 200_000):
    index = torch.randint(0, 1000, (n,), device=d)
    table = nn.Embedding(1000, 64).cuda()
    table(index).sum().backward()
    assert table.weight.grad.shape == (1000, 64)
    table = nn.Embedding(1000, 64, sparse=True).cuda()
    table(index).sum().backward()
    assert table.weight.grad._values().shape == (n, 64)
bags = nn.EmbeddingBag(1000, 64, mode="mean").cuda()
bags(torch.randint(0, 1000, (300,), device=d), torch.arange(0, 300, 10, device=d)).sum().backward()

x, y = torch.randn(1000, 300, device=d, requires_grad=True), torch.randint(0, 300, (1000,), device=d)
functional.cross_entropy(x, y, label_smoothing=0.1).backward()
functional.nll_loss(x.log_softmax(-1), y).backward()
functional.binary_cross_entropy_with_logits(x, torch.rand_like(x)).backward()
shapes = {
    "topk": x.topk(5).values, "sort": x.sort().indices, "argsort": x.argsort(), "cumsum": x.cumsum(0), "cumprod": x.cumprod(1),
    "median": x.median(1).values, "kthvalue": x.kthvalue(3).values, "mode": x.mode(1).values, "argmax": x.argmax(1),
    "cummax": x.cummax(0).values, "roll": x.roll(1), "prod": x.prod(1), "logsumexp": x.logsumexp(1), "var": x.var(0),
    "multinomial": torch.multinomial(torch.rand(10, 100, device=d), 5), "one_hot": functional.one_hot(y, 300),
    "bernoulli": torch.bernoulli(torch.rand(5, device=d)), "histc": torch.histc(x.detach()), "cdist": torch.cdist(x, x),
    "searchsorted": torch.searchsorted(torch.arange(10, device=d), y), "bucketize": torch.bucketize(x, torch.arange(10.0, device=d)),
    "einsum": torch.einsum("ij,kj->ik", x, x), "kron": torch.kron(x[:5], x[:5]), "pdist": functional.pdist(x[:50]),
    "randperm": torch.randperm(100_000, device=d), "trapezoid": torch.trapezoid(x),
    "repeat_interleave": torch.repeat_interleave(torch.arange(3, device=d), torch.tensor([1, 2, 3], device=d), output_size=6),
}
for name, tensor in shapes.items():
    print(name, tuple(tensor.shape))
torch.sort(torch.randn(3_000_000, device=d))

z = x.detach().clone()
z[y[:10]] = 3
z[y[:10], y[:10]] = torch.ones(10, device=d)
z.index_put_((y[:10],), torch.ones(10, 300, device=d), accumulate=True)
z.index_add_(0, y[:5], torch.ones(5, 300, device=d))
z.scatter_add_(0, torch.zeros(5, 300, dtype=torch.long, device=d), torch.ones(5, 300, device=d))
x[y[:10]].sum().backward()
functional.dropout(x, 0.5).sum().backward()
generator = torch.Generator(device=d)
generator.manual_seed(3)
torch.randn(5, generator=generator, device=d)
state = torch.cuda.get_rng_state()
torch.cuda.set_rng_state(state)
print("state of the generator", tuple(state.shape))
print("gradient", x.grad.shape == x.shape)
text = str(torch.randn(3, dtype=torch.float16, device=d))
print("printed", text.startswith("tensor([") and "device='cuda:0'" in text)
