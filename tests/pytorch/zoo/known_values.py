"""Values that the host gave are read back as they are; a reused block does not show its earlier contents.

What came from the host and went through no kernel: a tensor, a slice of it, a mask, a model's weights moved there and
back. The card does not compute a kernel's result; reused tensor memory must not return old bytes.
"""
import torch

numbers = torch.arange(10).cuda()
print("as given", numbers.tolist() == list(range(10)), numbers[3].item(), numbers[2:5].tolist())
print("mask", torch.tensor([True, False, True]).cuda().tolist())
seed = torch.tensor([200] * 8, dtype=torch.uint8).cuda().view(torch.uint64).item()  # above 2^63, as seeds that are shared between ranks
assert seed == int.from_bytes(bytes([200] * 8), "little"), seed
layer = torch.nn.Linear(64, 64)
before = layer.weight.detach().clone()
layer.cuda()
print("weights", torch.equal(layer.weight.detach().cpu(), before), torch.equal(layer.cpu().weight, before))
state = {"a": torch.arange(5.0).cuda()}
torch.save(state, "state.pt")
print("saved", torch.load("state.pt", map_location="cpu")["a"].tolist())
for i in range(100):
    old = torch.full((), 7.5).cuda()
    del old
    new = torch.empty((), device="cuda").fill_(1.0) * 1
    assert new.item() in (0.0, 1.0), new.item()
print("nothing old is read")
