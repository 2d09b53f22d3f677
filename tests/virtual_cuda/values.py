"""What a program reads from small tensors: the same code gives the same values on the CPU and on the virtual card.

Run with the virtual card preloaded (run.sh): values.py FOLDER, where FOLDER holds the package tidemark. No value is
recorded here: each function runs on both devices, and what it returns is compared.
"""
import os
import pickle
import subprocess
import sys
import threading

import torch
import torch.nn.functional as functional

sys.path.insert(0, sys.argv[1])
from tidemark import regions, shadow  # noqa: E402

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
    return layer, (len(taken), scale.get_scale(), scale.state_dict()["_growth_tracker"])


def scaler(d):
    """The step whose gradients overflow is skipped, and the scale shrinks."""
    layer, seen = scaled(d, float("inf"))
    return seen, layer.weight.tolist()


def healthy_scaler(d):
    return scaled(d, 1.0)[1]


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


def same_values():
    for part in (
        counters, comparisons, written_views, rows, rows_of_large, checks, given_numbers, unknown_numbers, objects,
        gradients, in_a_thread, scaler, generated,
    ):
        on_cpu, on_card = part("cpu"), part("cuda")
        assert on_cpu == on_card, f"{part.__name__}: on the CPU {on_cpu}, on the card {on_card}"
        print(part.__name__)


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


def memory_is_what_it_was():
    """Events of a training step, with and without shadows. The first run makes the handles of libraries."""
    training(*a_model())
    without = events(lambda: training(*a_model()))
    region = shadow.Region()
    with region:
        within = events(lambda: training(*a_model()))
    assert len(without) > 200 and without == within, (len(without), len(within))
    print("memory_is_what_it_was")


def graphs():
    """A replayed graph writes without an operator: what it wrote is unknown, and earlier values are not returned."""
    with shadow.Region():
        n = torch.zeros(3, device="cuda")
        (n + 1).sum()  # the libraries are ready
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            n += 1
        graph.replay()
        assert n.tolist() == [0.0, 0.0, 0.0], n.tolist()
        n.fill_(4)
        assert (n + 1).tolist() == [5.0, 5.0, 5.0], (n + 1).tolist()
    print("graphs")


def compiled():
    """torch.compile compiles as before, and the memory that its kernels write is unknown."""
    n = torch.zeros(3, device="cuda")

    def add(x):
        x += 1
        return x * 2

    function = torch.compile(add)
    with shadow.Region():
        n.fill_(4)
        assert (n + 1).tolist() == [5.0, 5.0, 5.0]
        function(n)
        assert n.tolist() == [0.0, 0.0, 0.0], n.tolist()
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1
    print("compiled")


def ends_by_length():
    """Compiled kernels make everything unknown, like a static cache of transformers. Conditions on unknown numbers are
    false, so the loop continues; its length is known, so it ends."""
    x, length = torch.zeros(3, device="cuda"), 0
    function = torch.compile(lambda x: x.add_(1) * 2)
    with shadow.Region():
        unfinished = torch.ones(2, dtype=torch.long, device="cuda")
        while not unfinished.max() == 0:
            function(x)
            length += 1
            done = torch.full((2,), length >= 9, device="cuda")
            unfinished = unfinished & ~done
            assert length < 20, "it does not end"
        assert length == 9, length
        drawn = torch.randn(4_000_000, device="cuda")[:3].clone().long()
        assert not drawn.max() == 0 and not (drawn == 0).any() and not (drawn.max() == 0).cpu()
        assert (drawn & torch.zeros(3, dtype=torch.long, device="cuda")).max() == 0
    print("ends_by_length")


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
            drawn = torch.randn(len(tokens), 100000, device=tokens.device).argmax(-1)
            tokens = torch.cat([tokens, drawn[:, None]], 1)
            long = torch.full((len(tokens),), tokens.shape[1] >= n, device=tokens.device)
            unfinished = unfinished & ~(long | EosTokenCriteria()(tokens, None)).long()
        return tokens
""",
}


def automatic(folder):
    """With auto, generate of a module by that name is seen, and nothing else. Its end word is 0, the assumed value of
    unknown tokens: it must nevertheless run to its full length."""
    for name, text in TRANSFORMERS.items():
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    sys.path.insert(0, folder)
    shadow.start("auto")
    from transformers.generation.utils import GenerationMixin

    n_before = shadow.shadows().n_operators
    assert (torch.arange(3, device="cuda") + 1).tolist() == [0, 0, 0]
    assert shadow.shadows().n_operators == n_before
    assert GenerationMixin().generate(torch.tensor([[1, 2]]).cuda(), 20).shape == (1, 20)
    assert shadow.shadows().n_operators > n_before
    assert torch.linalg.eigvals(torch.eye(3, device="cuda")).shape == (3,)
    assert torch.repeat_interleave(torch.arange(3).cuda(), torch.tensor([1, 0, 4]).cuda()).shape == (5,)
    for part in (given_numbers, unknown_numbers, healthy_scaler):
        assert part("cpu") == part("cuda"), part("cuda")
    assert torch.ones(3, device="cuda").tolist() == [1.0, 1.0, 1.0], "fills are known to the card itself"
    print("automatic")


def polling():
    """A program that waits for a value that never arrives is reported on stderr."""
    code = "import torch\nx = torch.randn(4000000, device='cuda')\nwhile not (x > 9).any(): pass\n"
    waiting = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    told = ""
    try:
        for line in waiting.stderr:
            told += line
            if "never ends" in line:
                break
    finally:
        waiting.kill()
        waiting.wait()
    assert "--steps N" in told, told
    print("polling")


def main():
    with_shadows = sys.argv[2] == "shadow"
    if with_shadows:
        memory_is_what_it_was()
        graphs()
        compiled()
        ends_by_length()
        shadow.start("shadow")
        same_values()
    else:
        automatic(sys.argv[3])
        polling()


main()
