"""CUDA graphs: a training step captured and replayed, two graphs that share a pool, graphed callables, a pool of its own.

A captured step keeps what it allocated in the graph's own pool. A pool of the program's own takes a tensor of 50 MiB, in a
segment of its own. Reading a value in a capture is not allowed, and fails as on a card.
"""
import torch

layer = torch.nn.Linear(1024, 1024, bias=False).cuda()
optimizer = torch.optim.Adam(layer.parameters(), capturable=True)
batch = torch.randn(32, 1024, device="cuda")
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for step in range(3):
        optimizer.zero_grad(set_to_none=True)
        layer(batch).sum().backward()
        optimizer.step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
optimizer.zero_grad(set_to_none=True)
with torch.cuda.graph(graph):
    loss = layer(batch).sum()
    loss.backward()
    optimizer.step()
before = torch.cuda.memory_allocated()
for step in range(5):
    batch.copy_(torch.randn(32, 1024))
    graph.replay()
print(f"more after five replays: {torch.cuda.memory_allocated() - before}")
print(f"moments of a captured optimizer: {sum(t.nbytes for t in optimizer.state[layer.weight].values() if t.numel() > 1)}")

second = torch.cuda.CUDAGraph()
with torch.cuda.graph(second, pool=graph.pool()):
    output = layer(batch)
second.replay()
print("one pool", second.pool() == graph.pool())
second.reset()

graphed = torch.cuda.make_graphed_callables(torch.nn.Linear(64, 64).cuda(), (torch.randn(8, 64, device="cuda", requires_grad=True),))
graphed(torch.randn(8, 64, device="cuda", requires_grad=True)).sum().backward()
print("graphed callable", graphed.weight.grad.shape == (64, 64))

pool = torch.cuda.MemPool()
reserved = torch.cuda.memory_reserved()
with torch.cuda.use_mem_pool(pool):
    own = torch.empty(50 << 20, dtype=torch.uint8, device="cuda")
print(f"reserved by the pool: {torch.cuda.memory_reserved() - reserved}")
print(f"segments of the pool: {len(pool.snapshot())}")
try:
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        loss.item()
except RuntimeError as error:
    print("in a capture:", str(error).splitlines()[0])
