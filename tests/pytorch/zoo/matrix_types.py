"""Matrix products of every type through cuBLAS and cuBLASLt: batches, biases, 8-bit floats with scales, integers, groups.

What one product adds is known: an output of 1024 x 1024 numbers, 1 MiB for each byte of the type; the workspace of cuBLAS,
which cuBLASLt shares, is there already. Products in 8 bits give bfloat16, integers give int32.
"""
import torch

d = "cuda"
for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float64, torch.complex64, torch.complex128):
    u = torch.randn(4, 32, 32, device=d, dtype=dtype)
    for library in ("cublas", "cublaslt"):
        if hasattr(torch.backends.cuda, "preferred_blas_library"):
            torch.backends.cuda.preferred_blas_library(library)
        assert (u[0] @ u[0]).shape == (32, 32) and (u @ u).shape == (4, 32, 32) and (u[0] @ u[0, 0]).shape == (32,)
        assert torch.addmm(u[0, 0], u[0], u[1]).shape == (32, 32) and torch.baddbmm(u, u, u).shape == (4, 32, 32)
        assert torch.nn.functional.linear(u, u[0], u[0, 0]).shape == (4, 32, 32) and (u[0, 0] @ u[0, 0]).shape == ()
    a, b = (torch.randn(1024, 1024, device=d, dtype=dtype) for _ in range(2))
    before = torch.cuda.memory_stats()["requested_bytes.all.current"]
    c = a @ b
    print(f"{str(dtype)[6:]}: {torch.cuda.memory_stats()['requested_bytes.all.current'] - before}")
    del c
eight = torch.randn(64, 64, device=d).to(torch.float8_e4m3fn)
one = torch.ones((), device=d)
scaled = torch._scaled_mm(eight, eight.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
print("scaled", scaled.dtype, tuple(scaled.shape))
rows = torch._scaled_mm(eight, eight.t(), scale_a=torch.ones(64, 1, device=d), scale_b=torch.ones(1, 64, device=d), out_dtype=torch.bfloat16)
print("scaled by rows", tuple(rows.shape))
whole = torch._int_mm(torch.ones(64, 64, dtype=torch.int8, device=d), torch.ones(64, 64, dtype=torch.int8, device=d))
print("integers", whole.dtype)
if hasattr(torch, "_grouped_mm"):
    ends = torch.tensor([16, 32, 48, 64], device=d, dtype=torch.int32)
    grouped = torch._grouped_mm(torch.randn(64, 64, device=d, dtype=torch.bfloat16), torch.randn(4, 64, 64, device=d, dtype=torch.bfloat16), offs=ends)
    print("grouped", tuple(grouped.shape))
numbers = torch.ones(4, dtype=torch.int32, device=d)
print("compiled at run time", tuple(torch.special.airy_ai(a.real.float()).shape), tuple(torch.gcd(numbers, numbers).shape))
square = torch.cuda.jiterator._create_jit_fn("template <typename T> T square(T x) { return x * x; }")
print("own function", tuple(square(a.real.float()).shape))
