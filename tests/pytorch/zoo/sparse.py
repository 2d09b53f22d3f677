"""Sparse matrices whose pattern comes from the host: COO, CSR, blocks, and the 2:4 structure.

A matrix of 64 x 64 with three entries: its indices and values are what the host gave. The work areas of cuSPARSE are its own
affair and named as not exact.
"""
import torch

index = torch.tensor([[0, 1, 2], [1, 2, 3]])
dense = torch.randn(64, 64, device="cuda")
coo = torch.sparse_coo_tensor(index, torch.ones(3), (64, 64), is_coalesced=True).cuda()
print("coo", tuple((coo @ dense).shape), coo._nnz())
csr = torch.sparse_csr_tensor(torch.tensor([0, 1, 2, 3]), torch.tensor([0, 1, 2]), torch.ones(3), (3, 64)).cuda()
print("csr", tuple((csr @ dense).shape), tuple((csr @ dense[0]).shape), csr._nnz())
eye = torch.eye(64).to_sparse_csr().cuda()
print("sampled", tuple(torch.sparse.sampled_addmm(eye, dense, dense).shape))
print("triangular", tuple(torch.triangular_solve(dense, eye).solution.shape))
bsr = torch.eye(64).to_sparse_bsr((4, 4)).cuda()
print("blocks", tuple((bsr @ dense).shape), bsr._nnz())
print("dense", tuple(eye.to_dense().shape))
weights = torch.tensor([0, 0, 1, 1] * 32).tile((128, 1)).half().cuda()
structured = torch.sparse.to_sparse_semi_structured(weights)
print("2 of 4", tuple((structured @ torch.randn(128, 128, device="cuda").half()).shape))
