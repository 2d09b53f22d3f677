"""A graph convolution with plain PyTorch: edges of the host, loops removed and one added for each node.

The messages of all edges are there at once: (edges - loops + nodes) x 64 floats. They are the largest tensor, and twice there at
the peak: the gathered rows and their product with the edges' weights.
"""
import torch

NODES, EDGES, SIZE = 20_000, 400_000, 64
torch.manual_seed(0)
edges = torch.randint(0, NODES, (2, EDGES))
n_whole = EDGES - int((edges[0] == edges[1]).sum()) + NODES
edges = edges.cuda()
weight = torch.nn.Parameter(torch.randn(SIZE, SIZE, device="cuda"))
x = torch.randn(NODES, SIZE).cuda()
for _ in range(2):
    kept = edges[:, edges[0] != edges[1]]
    whole = torch.cat([kept, torch.arange(NODES, device="cuda").expand(2, -1)], 1)
    degree = torch.zeros(NODES, device="cuda").index_add_(0, whole[1], torch.ones(whole.shape[1], device="cuda"))
    scale = degree.pow(-0.5)
    assert torch.isfinite(scale).all(), "a node without an edge"
    share = scale[whole[0]] * scale[whole[1]]
    messages = (x @ weight)[whole[0]] * share[:, None]
    y = torch.zeros_like(x).index_add_(0, whole[1], messages)
    y.square().mean().backward()
    weight.grad = None
print(f"edges differ: {whole.shape[1] - n_whole}")
print(f"messages differ: {messages.nbytes - n_whole * SIZE * 4}")
print(f"largest degree differs: {int(degree.max().item()) - int(torch.bincount(torch.cat([e for e in [whole.cpu()[1]]])).max())}")
print(f"peak allocated: {torch.cuda.max_memory_allocated()}")
