"""ViT-B/16 of torchvision in mixed precision with a GradScaler and clipping: the last step's gradients are kept.

86,567,656 parameters: patches 3*16*16*768 + 768, a class token 768, 197 * 768 places, 12 layers of 12*768*768 + 13*768,
2*768 of the last normalisation and a head of 768*1000 + 1000. Parameters, gradients and momenta of 4 bytes; the scaler's
scale and counter; two workspaces of cuBLAS.
"""
import torch
import torchvision

model = torchvision.models.vit_b_16().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scaler = torch.amp.GradScaler("cuda")
for step in range(3):
    images, labels = torch.randn(16, 3, 224, 224, device="cuda"), torch.randint(0, 1000, (16,)).cuda()
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype=torch.float16):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
del images, labels, loss
print(f"parameters: {sum(p.numel() for p in model.parameters())}")
print(f"momenta: {len(optimizer.state)}")
print(f"kept: {torch.cuda.memory_stats()['requested_bytes.all.current']}")
