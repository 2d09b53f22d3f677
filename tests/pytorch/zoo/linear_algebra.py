"""torch.linalg through cuSOLVER and MAGMA, and Fourier transforms: the shapes of the factors.

The sizes of the libraries' work areas are their own affair, and named as not exact. A matrix of zeros has no inverse, but
what a routine says of that is read from the card, where nothing was computed.
"""
import torch

linalg = torch.linalg
a = torch.randn(64, 64, device="cuda")
spd = a @ a.T + 64 * torch.eye(64, device="cuda")
batch = torch.randn(5, 32, 32, device="cuda")
UNARY = ("inv", "det", "slogdet", "qr", "svd", "svdvals", "eigh", "eigvalsh", "cholesky", "lu_factor", "lu", "pinv", "cond", "ldl_factor")


def shapes(result):
    return [tuple(t.shape) for t in result] if isinstance(result, tuple) else tuple(result.shape)


for library in ("default", "cusolver", "magma"):
    torch.backends.cuda.preferred_linalg_library(library)
    for name in UNARY:
        function = getattr(linalg, name)
        for matrix in (spd, spd.double(), spd.to(torch.complex64)):
            if not (name == "ldl_factor" and library == "magma" and matrix.is_complex()):
                function(matrix)
        print(library, name, shapes(function(spd)), shapes(function(batch)))
torch.backends.cuda.preferred_linalg_library("default")
print("solve", shapes(linalg.solve(spd, a)), shapes(linalg.lstsq(a, a).solution), shapes(torch.cholesky_solve(a, spd)))
print("triangular", shapes(linalg.solve_triangular(spd, a, upper=True)), shapes(linalg.householder_product(a, a[0])))
print("low rank", shapes(torch.svd_lowrank(a)), shapes(torch.pca_lowrank(a)))

fft = torch.fft
big = torch.randn(8, 1023, 1021, device="cuda")
for name in ("fft", "ifft", "rfft", "fft2", "rfft2", "fftn", "rfftn"):
    print(name, shapes(getattr(fft, name)(a)), shapes(getattr(fft, name)(big)))
print("irfft", shapes(fft.irfft(a.to(torch.complex64))))
spectrum = torch.stft(torch.randn(2, 16000, device="cuda"), 400, return_complex=True, window=torch.ones(400, device="cuda"))
print("stft", shapes(spectrum))
