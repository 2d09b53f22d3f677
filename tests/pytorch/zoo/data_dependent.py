"""Results whose size depends on values that the host gave: they have the size that they have on a card.

Of [0, 3, 0, 5, 5] two or three values are not zero: positions 1, 3 and 4; two of them differ; three are larger than 2. A sum
of repeats 1 + 2 + 3 gives 6 rows, classes up to 5 give 6 columns.
"""
import torch

x = torch.tensor([0, 3, 0, 5, 5]).cuda()
print(f"nonzero: {x.nonzero().shape[0]}")
print(f"masked: {x[x > 2].shape[0]}")
print(f"where: {torch.where(x == 5)[0].shape[0]}")
print(f"unique: {x.unique().shape[0]}")
print(f"repeated: {torch.repeat_interleave(torch.arange(3).cuda(), torch.tensor([1, 2, 3]).cuda()).shape[0]}")
print(f"classes: {torch.nn.functional.one_hot(x).shape[1]}")
print("all and any", (x >= 0).all().item(), (x > 4).any().item(), torch.equal(x, x.clone()), x.max().item(), x.sum().item())
counter = torch.zeros((), dtype=torch.long, device="cuda")
for _ in range(3):
    counter += 1
print(f"counted: {counter.item()}")
