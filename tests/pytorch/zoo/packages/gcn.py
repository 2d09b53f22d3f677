"""A graph convolution of torch_geometric with self loops: gcn.py [NODES EDGES]

The edges come from the host, which counts those that lead from a node to itself: these are replaced by one for each node. A
message takes 64 floats.

The least that the peak holds: the messages of all edges and their gradient, and the edges before and after self loops. The most,
256 MiB above it: features of 128 floats a node (49 MiB), four tensors of 64 floats a node (98 MiB), the edges once more, in
two parts (32 MiB), and some nine numbers an edge: weights, their factors and degrees (76 MiB).
"""
import sys

import torch
from torch_geometric.nn import GCNConv
from torch_geometric.utils import add_remaining_self_loops

nodes, n_edges = map(int, sys.argv[1:]) if len(sys.argv) > 1 else (100_000, 2_000_000)
torch.manual_seed(0)
edges, x = torch.randint(0, nodes, (2, n_edges)), torch.randn(nodes, 128)
n_whole = n_edges - int((edges[0] == edges[1]).sum()) + nodes
edges, x = edges.cuda(), x.cuda()
layer = GCNConv(128, 64).cuda()
optimizer = torch.optim.Adam(layer.parameters())
for _ in range(2):
    layer(x, edges).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print(f"edges differ: {add_remaining_self_loops(edges)[0].shape[1] - n_whole}")
print(f"peak allocated: {torch.cuda.max_memory_allocated()}")
print(f"messages: {n_whole * 64 * 4}")
