"""The runs in which the recording is compared with PyTorch's own history: check_truth.py."""
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    name: str
    script: str  # beside this file
    arguments: list[str] = field(default_factory=list)
    device: str = "virtual:h100-80"
    environment: dict[str, str] = field(default_factory=dict)
    options: list[str] = field(default_factory=list)  # of tidemark run
    stacks: str = "python"
    has_own_history: bool = False  # the script itself switches PyTorch's history on
    is_preload_alone: bool = False  # without tidemark run
    as_in: str = ""  # the case in which the program allocates and frees the same memory
    has_faults: bool = False  # faults are planted in what it recorded
    seeded_version: str = ""  # what PyTorch says that it is
    is_long: bool = False
    status: int = 0
    at_least: int = 1  # events
    actions: tuple[str, ...] = ()  # that must be among them


def allocator(settings):
    return {"PYTORCH_CUDA_ALLOC_CONF": settings}


CASES = [
    Case("gpt2", "../zoo/gpt2.py", at_least=10000, as_in="gpt2 by preload alone"),
    Case("gpt2 by preload alone", "../zoo/gpt2.py", is_preload_alone=True, at_least=10000),
    Case("threads", "threads.py", at_least=3000, actions=("oom", "segment_free", "annotate")),
    Case("threads, native stacks, too", "threads.py", stacks="both", at_least=3000),
    Case("network, native stacks alone", "../zoo/mlp.py", stacks="native", at_least=40),
    Case("graphs", "../zoo/graphs.py", at_least=180),
    Case("graphs, expandable segments", "../zoo/graphs.py", environment=allocator("expandable_segments:True"), at_least=180),
    Case("expandable segments", "../zoo/allocator.py", environment=allocator("expandable_segments:True"), at_least=2000,
         as_in="expandable segments by preload alone", actions=("segment_map", "segment_unmap")),
    Case("expandable segments by preload alone", "../zoo/allocator.py", environment=allocator("expandable_segments:True"),
         is_preload_alone=True, at_least=2000, actions=("segment_map", "segment_unmap")),
    Case("rounding up to powers of 2", "../zoo/allocator.py", environment=allocator("roundup_power2_divisions:4"), at_least=2000),
    Case("largest split, garbage collection", "../zoo/allocator.py",
         environment=allocator("garbage_collection_threshold:0.8,max_split_size_mb:40"), at_least=2000),
    Case("two cards", "../zoo/several_cards.py", device="virtual:h100-80x2", has_faults=True, at_least=30),
    Case("streams", "../zoo/streams.py", at_least=100),
    Case("one rank", "../zoo/one_rank.py", at_least=300),
    Case("a history of the program's own", "../history.py", has_own_history=True, at_least=5),
    Case("an unknown version", "../zoo/mlp.py", is_preload_alone=True, seeded_version="9.9.0", at_least=40),
    Case("compiled", "../zoo/compiled.py", is_long=True, at_least=100),
]
