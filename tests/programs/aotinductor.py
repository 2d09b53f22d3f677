"""AOTInductor: a model is compiled into a package, which is loaded and run."""
import os
import tempfile

import torch

D, B = 1024, 4096


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.Linear(D, 4 * D)
        self.down = torch.nn.Linear(4 * D, D)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


with torch.no_grad():
    net = Net().cuda().eval()
    x = torch.randn(B, D, device="cuda")
    program = torch.export.export(net, (x,))
    path = torch._inductor.aoti_compile_and_package(program, package_path=os.path.join(tempfile.mkdtemp(), "net.pt2"))
    del net, program
    loaded = torch._inductor.aoti_load_package(path)
    for _ in range(3):
        y = loaded(x)
    torch.cuda.synchronize()
print("ran", tuple(y.shape))
