"""Programs whose course depends on values: each runs on a device, and returns what it found (values.py)."""
import pickle
import threading

import torch
import torch.nn.functional as functional
import torch.utils.checkpoint
from torch.utils._python_dispatch import TorchDispatchMode

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
    """What is computed uses none of the program's random numbers."""
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
    """A counter's chain is computed on the way."""
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
