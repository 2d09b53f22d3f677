"""Trains one layer, and reports its steps and what its cache is."""
import tidemark
import torch

layer = torch.nn.Linear(1024, 1024, bias=False).cuda()
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
cache = torch.zeros(3 << 20, device="cuda")
tidemark.category({"k": cache}, "kv cache", "cache")
for _ in range(3):
    with tidemark.scope("named by the program"):
        layer(torch.zeros(8, 1024, device="cuda")).sum().backward()
        optimizer.step()
        kept = torch.zeros(1 << 20, device="cuda")
    tidemark.step()
print("snapshot", tidemark.snapshot("now.json.gz"))
