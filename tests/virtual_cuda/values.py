"""What a program reads from the card: the same code gives the same values on the CPU and on the virtual card.

Run with the virtual card preloaded (run.sh): values.py FOLDER ENGINE, where FOLDER holds the package tidemark, and ENGINE is
"python" or "native". Each function runs on both devices, and what it returns is compared. No operator may have failed on the
CPU unexpectedly: then its result would have been drawn.
"""
import io
import os
import subprocess
import sys
import threading
import warnings

import torch
import torch.nn.functional as functional

sys.path.insert(0, sys.argv[1])
from tidemark import values  # noqa: E402
from value_programs import SAME, minimised  # noqa: E402


def same_values():
    for part in SAME:
        on_cpu, on_card = part("cpu"), part("cuda")
        assert on_cpu == on_card, f"{part.__name__}: on the CPU {on_cpu}, on the card {on_card}"
        print(part.__name__)


def typical():
    """What is not known is drawn: each decision is that of a healthy run, and two reads of a value agree."""
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


def page_locked():
    """Unknown floats that are copied to page-locked memory take no memory of the host: only the first are drawn."""

    def resident():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    matrix = torch.empty(8192, 8192, device="cuda").normal_()
    unknown = (matrix @ matrix).view(-1)
    kept = torch.empty(unknown.shape, pin_memory=True)
    before = resident()
    kept.copy_(unknown)
    taken = resident() - before
    assert taken < kept.nbytes / 8, taken
    assert kept[:1000].std() > 0.5 and not kept[-1000:].any()
    print("page_locked")


def large_vectors():
    """Vectors of more than a million elements are computed on a window, which has the same numbers as the rest here. The
    last of LBFGS's directions, with a loss of rounding errors, is left open."""

    def pattern(device, factor):
        return ((torch.arange(3 * 700 * 1024, device=device) * factor % 1024).float() / 1024).view(3, 700, 1024)

    found = [minimised(pattern(d, 1).requires_grad_(), pattern(d, 7))[0] for d in ("cpu", "cuda")]
    assert found[0] == found[1], found
    print("large_vectors")


def shared_rows():
    """A router shares the tokens out: one expert gets more only at the cost of others, so the bound is of one. Masks that have
    nothing to do with each other may all be full."""
    tokens, outputs = torch.ones(2048, 1000, device="cuda"), []
    for _ in range(2):
        logits = torch.randn(2048, 2048, device="cuda").mm(torch.randn(2048, 8, device="cuda"))
        experts = logits.softmax(-1).topk(2, -1).indices
        for expert in range(8):
            outputs.append(routed(tokens, experts == expert))
    shared = site_at("# the line that shares")
    assert shared.shares.is_found and [g.ratio for g in shared.shares.groups.values()] == [2, 1], shared.shares.groups
    of_one, of_all = (sites().rows.bytes_of((shared.place, shared.what), is_of_one)[1] for is_of_one in (True, False))
    assert 2048 * 4000 / 2 < of_one < of_all / 4, (of_one, of_all)  # two of the sixteen reads may give the same number of rows
    for _ in range(20):
        mask = torch.randn(2048, 2048, device="cuda").mm(torch.randn(2048, 1, device="cuda"))[:, 0] > 0
        outputs.append(tokens[mask])  # the line of its own
    assert not site_at("# the line of its own").shares.is_found
    print("shared_rows")


def waiting():
    """A loop that reads a value again and again may wait for it. One that gets new data from the host does not, such as an
    evaluation, nor one that trains."""
    assumed = sys.modules["tidemark.values.assumed"]
    assumed.MANY_READS, assumed.LONG_S = 32, 0
    unknown = torch.randn(2048, 2048, device="cuda").mm(torch.randn(2048, 8, device="cuda"))
    for _ in range(100):
        (unknown[:, 0] * torch.ones(2048).cuda()).max().item()
    assert not sites().is_waiting
    for _ in range(100):
        unknown[0, 0].item()
        values.end_step()
    assert not sites().is_waiting
    for _ in range(100):
        unknown[0, 1].item()
    assert sites().is_waiting
    print("waiting")


def routed(tokens, chosen):
    """The tokens of an expert, and a mask of another size on the same line."""
    rows, weights = chosen.any(-1).nonzero().flatten(), tokens[:, :2][chosen]  # the line that shares
    assert weights.shape == rows.shape
    return tokens[rows] * 2


def site_at(comment):
    """The site of the line that ends with the comment."""
    with open(__file__, encoding="utf-8") as file:
        number = next(i for i, line in enumerate(file, 1) if line.rstrip().endswith(comment))
    return next(site for (place, _), site in sites().by_place.items() if place == f"values.py:{number}")


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
    assert not engine().has(n) and other.tolist() == [1, 2, 3]
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
    assert not engine().has(n) and other.tolist() == [1, 2, 3], other.tolist()
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1
    print("compiled")


def fake_tensors():
    """What a compiler copies to learn a shape has no memory: no address is read."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    with warnings.catch_warnings(record=True) as warned, FakeTensorMode():
        warnings.simplefilter("always")
        turned = torch.empty_strided((4, 4), (1, 4), device="cuda")
        turned.copy_(torch.empty(4, 4, device="cuda"))
        assert turned.device.type == "cuda" and not warned, [str(one.message) for one in warned]
    print("fake tensors")


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


def saved():
    """What goes into a file decides nothing, so its lines are not named; a copy to the host beside it is."""
    before = set(sites().by_place)
    unknown = torch.randn(64, 64, device="cuda").mm(torch.randn(64, 64, device="cuda"))
    for is_zip in (True, False):
        torch.save({"weight": unknown}, io.BytesIO(), _use_new_zipfile_serialization=is_zip)
    assert set(sites().by_place) == before, set(sites().by_place) - before
    saving, read = threading.Event(), threading.Event()

    class File(io.BytesIO):
        def write(self, data):
            saving.set()
            read.wait()
            return super().write(data)

    other = threading.Thread(target=torch.save, args=({"weight": unknown}, File()))
    other.start()
    saving.wait()
    unknown.cpu()
    read.set()
    other.join()
    assert {what for _, what in set(sites().by_place) - before} == {"values copied to the host"}
    print("saved")


def in_a_thread():
    """A library's own thread that reads a value is no backward pass. Its code has no file here, as a library's that is not named."""
    before = set(sites().by_place)
    unknown = torch.randn(64, 64, device="cuda").mm(torch.randn(64, 64, device="cuda"))
    worker = threading.Thread(target=exec, args=("unknown.cpu()", {"unknown": unknown}))
    worker.start()
    worker.join()
    assert [place for place, _ in set(sites().by_place) - before] == ["a library"], set(sites().by_place) - before
    print("in a thread")


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
    @staticmethod
    def _beam_search_has_unfinished_sequences(is_better_possible, is_complete, has_ended, early_stopping):
        return is_better_possible.any() & ~(is_complete.all() & early_stopping) & ~has_ended.all()
    def search(self, tokens, n):
        length = tokens.shape[1]
        while True:
            scores = torch.randn(len(tokens), 5, device=tokens.device)
            ended = torch.full((len(tokens),), length + 1 >= n, device=tokens.device)
            ended = ended | EosTokenCriteria()(scores.argmax(-1)[:, None], None)
            length += 1
            if not self._beam_search_has_unfinished_sequences(scores > 0, scores > 1, ended, True):
                return length
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
    assert GenerationMixin().search(torch.tensor([[1, 2], [1, 2]]).cuda(), 20) == 20
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
    fake_tensors()
    generation(sys.argv[3])
    same_values()
    typical()
    page_locked()
    large_vectors()
    named()
    saved()
    in_a_thread()
    shared_rows()
    waiting()
    polling()
    errors = {name: error for name, error in engine().errors.items() if name not in EXPECTED_ERRORS}
    assert not errors and not sites().errors, (errors, sites().errors)


# Below 2.9, tensors of the compiler's functionalization come by, which have no storage.
EXPECTED_ERRORS = () if hasattr(torch.library, "get_kernel") else ("aten::add_.Tensor",)

main()
