"""GradScaler leaves out the step whose gradient overflows, and halves its scale: the host knows the input that overflows.

10 steps; the input of steps 3 and 7 is infinite. 8 steps are taken, and the scale is 65536 / 4.
"""
import torch

weight = torch.nn.Parameter(torch.ones(16, device="cuda"))
optimizer = torch.optim.SGD([weight], 0.0)
scaler = torch.amp.GradScaler("cuda")
taken = []
optimizer.register_step_post_hook(lambda *_: taken.append(1))
for i in range(10):
    x = torch.full((16,), float("inf") if i in (3, 7) else 1.0).cuda()
    scaler.scale((weight * x).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
print(f"steps taken: {len(taken)}")
print(f"scale: {int(scaler.get_scale())}")
