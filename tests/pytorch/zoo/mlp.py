"""Two matrix products with a ReLU between them, forward and backward, at sizes whose every block follows from the shapes.

All eight matrices have 2048 x 2048 float32, 16 MiB, so that each has a segment of its own. In units of one matrix:

  before          x, w1, w2, g                              4
  forward         h = x w1; r = relu(h), then h goes; y     6 at most x, w1, w2, g, h, r; then x, w1, w2, g, r, y
  backward of y   dr = g w2^T and dw2 = r^T g               8
  of relu         dh, while r and dr are there              9, the peak
  of h            r and dr have gone, dw1 comes             8
  after           x, w1, w2, g, y, dw1, dw2                 7

Each thread that calls cuBLAS, the main one and that of the backward pass, has a workspace of its own as well.
"""
import torch

n = 2048
x, w1, w2, g = (torch.randn(n, n, device="cuda") for _ in range(4))
w1.requires_grad_()
w2.requires_grad_()
y = torch.relu(x @ w1) @ w2
y.backward(g)
torch.cuda.synchronize()
print(f"peak allocated: {torch.cuda.max_memory_allocated()}")
print(f"allocated: {torch.cuda.memory_allocated()}")
print(f"peak reserved: {torch.cuda.max_memory_reserved()}")
