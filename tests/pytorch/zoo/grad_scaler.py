"""Mixed precision with a GradScaler and accumulation: no step may be skipped, because nothing overflows.

A layer of 1024 x 1024 without bias: weight, gradient and two moments of 4 MiB each are kept, and of the scaler a scale and a
counter of 4 bytes. AdamW counts steps on the host. Its state is made at the first step; if that were skipped it would be
missing. cuBLAS has a workspace for the main thread and one for that of the backward pass.

The scale grows from 65536 to twice as much after three steps, and again after six, and then the program sets it. A
program takes a step for a skipped one if the scale has shrunk by its update.
"""
import torch

layer = torch.nn.Linear(1024, 1024, bias=False).cuda()
optimizer = torch.optim.AdamW(layer.parameters())
scaler = torch.amp.GradScaler("cuda", growth_interval=3)
seen, n_shrunk = [], 0
for step in range(7):
    before = scaler.get_scale()
    for part in range(2):
        with torch.autocast("cuda", torch.float16):
            loss = layer(torch.randn(8, 1024, device="cuda")).sum() / 2
        scaled = scaler.scale(loss)
        seen.append(int(scaler.get_scale()))  # between the two, the graph holds the scale
        scaled.backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    n_shrunk += scaler.get_scale() < before
    if step < 6:
        optimizer.zero_grad()
print("scales:", seen)
print(f"taken for skipped: {n_shrunk}")
print("saved:", scaler.state_dict()["scale"], scaler.state_dict()["_growth_tracker"])
scaler.update(1024.0)
print(f"set: {int(scaler.get_scale())}")
scaler.load_state_dict(scaler.state_dict() | {"scale": 2.0, "_growth_tracker": 2})
with torch.autocast("cuda", torch.float16):
    scaled = scaler.scale(layer(torch.randn(8, 1024, device="cuda")).sum())
scaled.backward()
scaler.step(optimizer)
scaler.update()
print(f"loaded and grown: {int(scaler.get_scale())}")
del loss, scaled
state = optimizer.state[layer.weight]
print(f"steps taken: {int(state['step'])}")
print(f"kept: {torch.cuda.memory_stats()['requested_bytes.all.current']}")
