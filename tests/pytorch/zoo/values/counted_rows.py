"""Operators whose result has as many rows as they find: on values of the host the card's counts are those of the CPU.

"differ" has the operators that gave another shape or other values than the CPU.
"""
import torch

torch.manual_seed(0)
labels = torch.randint(0, 12, (4000,))
scores = torch.rand(4000)
edges = torch.randint(0, 500, (2, 20000))
lengths = torch.randint(1, 90, (64,))
CASES = {
    "nonzero": lambda: (labels == 3).nonzero(),
    "mask": lambda: scores[labels > 6],
    "where": lambda: torch.where((labels % 2 == 0) & (scores > 0.5))[0],
    "masked_select": lambda: scores.masked_select(scores > 0.9),
    "unique": lambda: labels.unique(),
    "unique counts": lambda: labels.unique(return_counts=True)[1],
    "unique inverse": lambda: torch.unique(edges, dim=1, return_inverse=True)[1],
    "unique_dim": lambda: edges.unique(dim=1),
    "unique_consecutive": lambda: labels.sort().values.unique_consecutive(),
    "bincount": lambda: torch.bincount(labels),
    "repeat_interleave": lambda: torch.repeat_interleave(torch.arange(64, device=lengths.device), lengths),
    "self loops": lambda: edges[:, edges[0] != edges[1]],
    "one_hot": lambda: torch.nn.functional.one_hot(labels),
    "split": lambda: torch.cat([c[:1] for c in torch.randn(int(lengths.sum()), 2, device=lengths.device).sign().abs().split(lengths.tolist())]),
    "pad": lambda: torch.nn.utils.rnn.pad_sequence([torch.ones(k, device=lengths.device) for k in lengths.tolist()]),
    "cumulated": lambda: torch.arange(int(lengths.cumsum(0)[-1]), device=lengths.device),
    "top": lambda: scores[scores >= scores.topk(50).values[-1]],
    "until": lambda: scores[: int((scores.cumsum(0) > 100).nonzero()[0])],
    "isin": lambda: labels[torch.isin(labels, torch.tensor([1, 5], device=labels.device))],
    "searchsorted": lambda: torch.searchsorted(scores.sort().values, torch.tensor([0.25, 0.5], device=scores.device)),
    "pairs": lambda: torch.combinations(labels.unique()),
    "histc": lambda: torch.histc(scores, 10, 0, 1),
}
wanted = {name: case() for name, case in CASES.items()}
labels, scores, edges, lengths = labels.cuda(), scores.cuda(), edges.cuda(), lengths.cuda()
differ = []
for name, case in CASES.items():
    found = case()
    if found.shape != wanted[name].shape:
        differ.append(f"{name}: {tuple(found.shape)} for {tuple(wanted[name].shape)}")
    elif not torch.allclose(found.cpu().double(), wanted[name].double()):
        differ.append(f"{name}: other values")
print(f"operators: {len(CASES)}")
print(f"differ: {len(differ)}")
print(*differ, sep="\n")
