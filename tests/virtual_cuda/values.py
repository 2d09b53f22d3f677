"""What a program reads from the card: the same code gives the same values on the CPU and on the virtual card.

Run with the virtual card preloaded (run.sh): values.py FOLDER ENGINE, where FOLDER holds the package tidemark, and ENGINE is
"python" or "native". Each function runs on both devices, and what it returns is compared. No operator may have failed on the
CPU unexpectedly: then its result would have been drawn.
"""
import os
import pickle
import subprocess
import sys
import threading

import torch
import torch.nn.functional as functional
import torch.utils.checkpoint
from torch.utils._python_dispatch import TorchDispatchMode

sys.path.insert(0, sys.argv[1])
from tidemark import values  # noqa: E402

BIG = 3_000_000  # elements: larger than any small tensor


def counters(d):
    n, flags = torch.zeros((), dtype=torch.long, device=d), torch.zeros(5, dtype=torch.bool, device=d)
    rounds = 0
    while not flags.all():
        flags[n] = True
        n += 1
        rounds += 1
    return rounds, n.item(), flags.any().item(), (~flags).tolist()


def comparisons(d):
    a = torch.arange(12, device=d).view(3, 4)
    b = torch.tensor([3, 1, 2], device=d)
    return (
        (a % 3 == 1).tolist(), a.argmax(1).tolist(), (a > b[:, None]).sum(1).tolist(), torch.equal(a, a.clone()),
        a.float().mean(0).tolist(), torch.where(a > 5, a, -a).tolist(), a.cumsum(1)[:, -1].tolist(), bool((a >= 0).all()),
        torch.isin(a, b).tolist(), a.to(torch.bfloat16).sum().item(), int(a.max()), a.T.reshape(-1)[3:6].tolist(),
    )


def written_views(d):
    base = torch.zeros(4, 6, device=d)
    base[1:3, ::2] = 7
    base.T[0].add_(torch.tensor([1.0, 2.0, 3.0, 4.0]).to(d))
    row = base[3]
    row.mul_(2).sub_(1)
    torch.add(row, 1, out=base[0])
    return base.tolist(), base.sum().item()


def rows(d):
    a = torch.tensor([[0, 1, 0], [2, 0, 3]], device=d)
    x = torch.tensor([3, 1, 3, 3, 2], device=d)
    mask = torch.tensor([True, False, True, True, False], device=d)
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    x2 = x.clone()
    x2[mask] = torch.tensor([7, 8, 9], device=d)
    return (
        torch.nonzero(a).tolist(), [t.tolist() for t in torch.where(a > 0)], torch.argwhere(x == 3).tolist(),
        torch.masked_select(x, mask).tolist(), x[mask].tolist(), x2.tolist(), values.tolist(), inverse.tolist(),
        counts.tolist(), torch.unique(a, dim=0).tolist(), torch.unique_consecutive(x).tolist(),
        torch.bincount(x).tolist(), functional.one_hot(x).tolist(), a.to_sparse()._nnz(),
        torch.repeat_interleave(x, torch.tensor([2, 0, 1, 1, 3], device=d)).tolist(),
        torch.repeat_interleave(x, x, output_size=12).tolist(), x.repeat_interleave(2).tolist(),
    )


def rows_of_large(d):
    """A large tensor's values are unknown; the number of its rows that a small mask selects is known."""
    big = torch.ones(1000, BIG // 1000, device=d)
    mask = torch.arange(1000, device=d) % 3 == 0
    big[mask] = torch.zeros(334, BIG // 1000, device=d)
    return big[mask].shape, big[mask, 5].shape, torch.masked_select(big[:, :2], mask[:, None]).shape


def checks(d):
    """Operators that check their arguments within themselves, and fail on a card that answers every query with no."""
    matrix = torch.eye(3, device=d)
    made = torch.distributions.Categorical(logits=torch.zeros(2, 5, device=d)).sample()
    made2 = torch.distributions.Normal(torch.zeros(3, device=d), torch.ones(3, device=d)).log_prob(torch.ones(3, device=d))
    return torch.linalg.eig(matrix)[0].shape, torch.linalg.eigvals(matrix).shape, made.shape, made2.shape


def given_numbers(d):
    """Checks for NaN and infinity use the host's values, at every call."""
    x = torch.tensor([1.0, float("nan"), float("inf")]).to(d)
    found = [torch.isnan(x).tolist(), x.isinf().tolist(), torch.isfinite(x).tolist(), x.isneginf().tolist()]
    return found, torch.isnan(x).any().item(), x.isfinite().all().item(), torch.any(torch.isinf(x), 0).item()


def unknown_numbers(d):
    """Results of kernels count as finite, small and large."""
    layer = torch.nn.Linear(300, 500).to(d)
    loss = layer(torch.randn(8, 300, device=d)).square().mean()
    big = torch.randn(BIG, device=d)
    loss.backward()
    checked = [bool(torch.isfinite(loss)), bool(loss.isnan() or loss.isinf()), torch.isfinite(big).all().item()]
    checked += [torch.isnan(p.grad).any().item() for p in layer.parameters()]
    scripted = torch.jit.script(_is_any_nan)
    return checked, scripted(torch.tensor([float("nan")])).item(), torch.isfinite(big[:0]).any().item()


def _is_any_nan(x):
    return torch.isnan(x).any()


def objects(d):
    """As torch.distributed sends objects: the bytes and their number travel as tensors."""
    sent = pickle.dumps({"step": 3, "names": ["a", "b"]})
    length = torch.tensor([len(sent)], device=d)
    buffer = torch.zeros(256, dtype=torch.uint8, device=d)
    buffer[: len(sent)] = torch.frombuffer(bytearray(sent), dtype=torch.uint8).to(d)
    return pickle.loads(bytes(buffer.cpu()[: int(length.item())].tolist()))


def gradients(d):
    """The backward pass is computed in the threads of autograd."""
    w = torch.tensor([[1.0, 2.0], [3.0, 4.0]], device=d, requires_grad=True)
    x = torch.tensor([[1.0, -1.0]], device=d)
    seen = []
    w.register_hook(lambda grad: seen.append(threading.current_thread() is threading.main_thread()))
    loss = ((x @ w).relu() * 3).sum() + (w**2).mean()
    loss.backward()
    return loss.item(), w.grad.tolist(), len(seen)


def in_a_thread(d):
    found = []
    worker = threading.Thread(target=lambda: found.append(torch.arange(5, device=d).sum().item()))
    worker.start()
    worker.join()
    return found


def scaled(d, fourth):
    """Five steps with a scale that grows every second step. `fourth`: what the fourth step's input holds."""
    layer = torch.nn.Linear(4, 1, bias=False)
    with torch.no_grad():
        layer.weight.fill_(0.5)
    layer = layer.to(d)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.125)
    scale = torch.amp.GradScaler(d, init_scale=1024.0, growth_interval=2)
    taken = []
    optimizer.register_step_post_hook(lambda *_: taken.append(1))
    for i in range(5):
        optimizer.zero_grad()
        x = torch.full((2, 4), fourth if i == 3 else 1.0, device=d)
        scale.scale(layer(x).sum()).backward()
        scale.step(optimizer)
        scale.update()
    return (len(taken), scale.get_scale(), scale.state_dict()["_growth_tracker"])


def scaler(d):
    """The step whose gradients overflow is skipped, and the scale shrinks."""
    return scaled(d, float("inf"))


def healthy_scaler(d):
    return scaled(d, 1.0)


def generated(d):
    """The loop of transformers' generate: it ends when every sequence has ended or is long enough."""
    tokens = torch.tensor([[5, 6], [7, 8]], device=d)
    unfinished, length = torch.ones(2, dtype=torch.long, device=d), 2
    mask = torch.ones_like(tokens)
    positions = []
    while unfinished.max() != 0:
        drawn = tokens[:, -1] + 1
        drawn = drawn * unfinished + 0 * (1 - unfinished)
        tokens, length = torch.cat([tokens, drawn[:, None]], 1), length + 1
        mask = torch.cat([mask, mask.new_ones((2, 1))], 1)
        positions.append((mask.long().cumsum(-1) - 1)[:, -1:].tolist())
        done = torch.full((2,), length >= 9, device=d) | torch.isin(tokens[:, -1], torch.tensor([11], device=d))
        unfinished = unfinished & ~done.long()
    return tokens.tolist(), positions, mask.sum().item()


def through_modes(d):
    """A mode of the program's sees its operators, and so does the engine."""
    with CountedMode() as mode:
        n = (torch.tensor([1, 0, 2], device=d) > 0).nonzero().shape[0]
    return n, mode.n > 1


class CountedMode(TorchDispatchMode):
    n = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.n += 1
        return func(*args, **(kwargs or {}))


def without_versions(d):
    """Inference tensors have no version counter."""
    with torch.inference_mode():
        x = torch.tensor([1.0, 2.0], device=d)
        x.add_(1)
        x.view(-1)[0] = 7
        return x.tolist()


def transformed(d):
    """Below vmap and grad."""
    mapped = torch.func.vmap(lambda a: (a * 2).sum())(torch.ones(3, 2, device=d)).tolist()
    return mapped, torch.func.grad(lambda a: (a**2).sum())(torch.tensor([1.0, 2.0, 3.0], device=d)).tolist()


def hooked(d):
    """A hook reads in a thread of autograd."""
    seen = []
    x = torch.arange(6.0, device=d, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: seen.append((grad > 0).nonzero().shape[0]))
    (y * y).sum().backward()
    return seen, x.grad.tolist()


def recomputed(d):
    """A checkpoint finds the same rows again."""
    found = []

    def part(x):
        mask = x > 1
        found.append(int(mask.sum()))
        return x[mask].sum()

    x = torch.arange(5.0, device=d, requires_grad=True)
    torch.utils.checkpoint.checkpoint(part, x * 1, use_reentrant=False).backward()
    return found, x.grad.tolist()


def parts_of_storages(d):
    x = torch.zeros(4, 4, device=d)
    x[1:3, 2] = 5
    x.t()[3].fill_(2)
    x[0, :2].copy_(torch.tensor([8.0, 9.0]))
    return x.sum().item(), (x.flatten()[::3] > 0).sum().item()


def changed_by_host(d):
    """The host changes what it has copied; the card does not."""
    given = torch.arange(20_000_000, dtype=torch.int32)
    copied = given.to(d)
    n = int((copied > 5).sum())
    return n, given.add_(1)[0].item()


def random_numbers(d):
    x, y = torch.rand(1000, device=d), torch.randint(3, 9, (1000,), device=d)
    order = torch.randperm(50, device=d)
    drawn = torch.multinomial(torch.tensor([0.0, 1.0, 1.0, 0.0], device=d), 2)
    return bool((x >= 0).all() and (x < 1).all()), int(y.min()), int(y.max()), sorted(order.tolist()), sorted(drawn.tolist())


def hosts_random_numbers(d):
    """What is worked out uses none of the program's random numbers."""
    torch.manual_seed(0)
    torch.rand(3, device=d).tolist()
    torch.multinomial(torch.ones(4, device=d), 1).item()
    after = torch.rand(3).tolist()
    torch.manual_seed(0)
    if d == "cpu":
        torch.manual_seed(0)
        after = torch.rand(3).tolist()
    return after


def counted(d):
    """bincount, histc and repeat_interleave ask for numbers within themselves."""
    a = torch.tensor([1, 1, 3], device=d)
    return a.bincount().tolist(), torch.histc(a.float(), 2, 1, 2).tolist(), torch.repeat_interleave(a, a).tolist()


def long_chain(d):
    """A counter's chain is worked out on the way."""
    n = torch.zeros((), dtype=torch.long, device=d)
    for _ in range(1000):
        n += 1
    return n.item()


def line_search(d):
    """LBFGS reads signs and sizes of products of vectors."""
    x = torch.linspace(0, 1, 180_000, device=d).view(3, 200, 300).requires_grad_()
    y = torch.linspace(1, 2, 180_000, device=d).view(3, 200, 300)
    return minimised(x, y)


def minimised(x, y):
    optimizer, n = torch.optim.LBFGS([x], max_iter=20), 0

    def closure():
        nonlocal n
        n += 1
        optimizer.zero_grad()
        loss = (x - y).square().sum()
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure)
    return n, len(optimizer.state[x].get("old_dirs", []))


SAME = (
    counters, comparisons, written_views, rows, rows_of_large, checks, given_numbers, unknown_numbers, objects, gradients,
    in_a_thread, scaler, healthy_scaler, generated, through_modes, without_versions, transformed, hooked, recomputed,
    parts_of_storages, changed_by_host, random_numbers, hosts_random_numbers, counted, long_chain, line_search,
)


def same_values():
    for part in SAME:
        on_cpu, on_card = part("cpu"), part("cuda")
        assert on_cpu == on_card, f"{part.__name__}: on the CPU {on_cpu}, on the card {on_card}"
        print(part.__name__)


def typical():
    """What nobody knows is drawn: each decision is that of a healthy run, and two reads of a value agree."""
    x = torch.nn.functional.linear(torch.empty(3000, 1000, device="cuda").normal_(), torch.empty(1000, 1000, device="cuda").normal_())
    low, high = x.min().item(), x.max().item()
    assert low < 0 < high and x.min().item() == low, (low, high)
    assert x.view(-1).dot(-x.view(-1)).item() < 0
    assert bool((x.sigmoid() >= 0).all()) and bool((x.softmax(-1) <= 1).all()) and bool(torch.isfinite(x).all())
    experts = x[:, :8].softmax(-1).topk(2, -1).indices
    counts = [int((experts == e).sum()) for e in range(8)]
    assert sum(counts) == 6000 and min(counts) > 600 and max(counts) < 900, counts
    assert 0 <= int(x.argmax()) < x.numel() and 0 <= int(x.argmax(-1).max()) < 1000
    matrix = torch.empty(4000, 4000, device="cuda").normal_() @ torch.empty(4000, 4000, device="cuda").normal_()
    torch.linalg.solve(matrix, matrix)
    layer = torch.nn.Linear(3000, 3000).cuda()
    loss = functional.cross_entropy(layer(torch.randn(64, 3000, device="cuda")), torch.zeros(64, dtype=torch.long, device="cuda"))
    assert loss.item() > 0 and 1 / loss.item() < 1e6
    print("typical")


def large_vectors():
    """Vectors of 18 million elements are worked out on a window: LBFGS ends as on the CPU with fewer elements."""
    x, y = torch.rand(3, 2000, 3000, device="cuda", requires_grad=True), torch.rand(3, 2000, 3000, device="cuda")
    n, directions = minimised(x, y)
    assert (n, directions) == (9, 5), (n, directions)  # as the CPU has it for the same 18 million elements
    print("large_vectors")


def training(layer, optimizer):
    x = torch.ones(64, 300, device="cuda")
    for _ in range(2):
        optimizer.zero_grad()
        loss = functional.cross_entropy(layer(x), torch.arange(64, device="cuda") % 10)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
        optimizer.step()
        loss.item()


def events(work):
    """What PyTorch allocates and frees while it works: actions and sizes, in order."""
    torch.cuda.memory._record_memory_history()
    work()
    trace = torch.cuda.memory._snapshot()["device_traces"][0]
    torch.cuda.memory._record_memory_history(enabled=None)
    return [(event["action"], event["size"]) for event in trace]


def a_model():
    layer = torch.nn.Sequential(
        torch.nn.Linear(300, 500), torch.nn.GELU(), torch.nn.Dropout(0.1), torch.nn.LayerNorm(500), torch.nn.Linear(500, 10)
    ).cuda()
    return layer, torch.optim.AdamW(layer.parameters(), amsgrad=True)


def memory_is_what_it_was(without):
    """Events of a training step, as without values. The first run makes the handles of libraries."""
    training(*a_model())
    within = events(lambda: training(*a_model()))
    assert len(without) > 200 and without == within, (len(without), len(within))
    print("memory_is_what_it_was")


def graphs():
    """A replayed graph writes without an operator: what its kernels were given is unknown, and nothing else."""
    n, other = torch.zeros(3, dtype=torch.long, device="cuda"), torch.tensor([1, 2, 3], device="cuda")
    (n + 1).sum()  # the libraries are ready
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        n += 1
    graph.replay()
    assert engine().find(n) is None and other.tolist() == [1, 2, 3]
    n.fill_(4)
    assert (n + 1).tolist() == [5, 5, 5], (n + 1).tolist()
    print("graphs")


def compiled():
    """torch.compile compiles as before. What its kernels store through is unknown, and nothing else."""
    n, other = torch.zeros(3, dtype=torch.long, device="cuda"), torch.tensor([1, 2, 3], device="cuda")

    def add(x, y):
        x += 1
        return x * 2 + y

    function = torch.compile(add)
    n.fill_(4)
    assert (n + 1).tolist() == [5, 5, 5]
    function(n, other)
    assert engine().find(n) is None and other.tolist() == [1, 2, 3], other.tolist()
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1
    print("compiled")


def engine():
    return values._state["engine"]


def sites():
    return values._state["sites"]


def named():
    """A read that rests on an assumption is named by its line, with what all rows would take; a known one is not."""
    before = dict(sites().by_place)
    known = torch.tensor([1, 0, 1], device="cuda")
    known[known > 0].tolist()
    assert sites().by_place == before
    mask = torch.randn(2048, 2048, device="cuda").mm(torch.randn(2048, 64, device="cuda"))[:, 0] > 0
    rows_of_line = torch.ones(2048, 3000, device="cuda")[mask]
    squared = rows_of_line * rows_of_line
    site = next(site for key, site in sites().by_place.items() if key not in before)
    assert site.place.startswith("values.py:") and site.what == "mask" and site.possible == 2048, vars(site)
    assert 900 < site.least == site.most == squared.shape[0] < 1150, vars(site)
    row_bytes, all_bytes = sites().rows.bytes_of((site.place, site.what))
    assert row_bytes == 2 * 3000 * 4 and all_bytes == row_bytes * (2048 - site.most), (row_bytes, all_bytes)
    print("named")


TRANSFORMERS = {
    "transformers/__init__.py": "",
    "transformers/generation/__init__.py": "",
    "transformers/generation/stopping_criteria.py": """
import torch
class EosTokenCriteria:
    def __call__(self, tokens, scores):
        return torch.isin(tokens[:, -1], torch.zeros(1, dtype=torch.long, device=tokens.device))
""",
    "transformers/generation/utils.py": """
import torch
from transformers.generation.stopping_criteria import EosTokenCriteria
class GenerationMixin:
    def generate(self, tokens, n):
        unfinished = torch.ones(len(tokens), dtype=torch.long, device=tokens.device)
        while unfinished.max() != 0:
            drawn = torch.randn(len(tokens), 5, device=tokens.device).argmax(-1)
            tokens = torch.cat([tokens, drawn[:, None]], 1)
            long = torch.full((len(tokens),), tokens.shape[1] >= n, device=tokens.device)
            unfinished = unfinished & ~(long | EosTokenCriteria()(tokens, None)).long()
        return tokens
""",
}


def generation(folder):
    """generate of a module by that name runs to its full length, although each token may be the last one."""
    for name, text in TRANSFORMERS.items():
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    sys.path.insert(0, folder)
    from transformers.generation.utils import GenerationMixin

    assert GenerationMixin().generate(torch.tensor([[1, 2]]).cuda(), 20).shape == (1, 20)
    print("generation")


def polling():
    """A program that waits for a value that may never come is named on stderr."""
    code = f"import sys; sys.path.insert(0, {sys.argv[1]!r})\n" + """
import torch
from tidemark import values
torch.zeros(1, device='cuda')
values.start()
x = torch.randn(4000000, device='cuda')
while not (x > 9).any(): pass
"""
    waiting = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    said = ""
    try:
        for line in waiting.stderr:
            said += line
            if "never end" in line:
                break
    finally:
        waiting.kill()
        waiting.wait()
    assert "--steps N" in said and "<string>" not in said, said
    print("polling")


def main():
    torch.zeros(1, device="cuda")
    training(*a_model())
    without = events(lambda: training(*a_model()))
    values.start(sys.argv[2])
    assert engine().is_native == (sys.argv[2] == "native")
    memory_is_what_it_was(without)
    graphs()
    compiled()
    generation(sys.argv[3])
    same_values()
    typical()
    large_vectors()
    named()
    polling()
    errors = {name: error for name, error in engine().errors.items() if name not in EXPECTED_ERRORS}
    assert not errors, errors


EXPECTED_ERRORS = ()

main()
