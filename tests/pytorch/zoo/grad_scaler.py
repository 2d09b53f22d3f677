"""Mixed precision with a GradScaler and accumulation: no step may be skipped, because nothing overflows.

A layer of 1024 x 1024 without bias: weight, gradient and two moments of 4 MiB each are kept, and of the scaler a scale and a
counter of 4 bytes. AdamW counts steps on the host. Its state is made at the first step; if that were skipped it would be
missing. cuBLAS has a workspace for the main thread and one for that of the backward pass.
"""
import torch

layer = torch.nn.Linear(1024, 1024, bias=False).cuda()
optimizer = torch.optim.AdamW(layer.parameters())
scaler = torch.amp.GradScaler("cuda")
for step in range(4):
    for part in range(2):
        with torch.autocast("cuda", torch.float16):
            loss = layer(torch.randn(8, 1024, device="cuda")).sum() / 2
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    if step < 3:
        optimizer.zero_grad()
del loss
state = optimizer.state[layer.weight]
print(f"steps taken: {int(state['step'])}")
print(f"scale: {int(scaler.get_scale())}")
print(f"kept: {torch.cuda.memory_stats()['requested_bytes.all.current']}")
