"""What each way of spreading the model should allocate, derived from the shapes of the model alone.

A check takes the ranks' figures, by rank, and their snapshots, and returns the errors.
"""
from collections import Counter

V, C, L, T = 8192, 512, 6, 256  # as model.py has them: vocabulary, width, layers, context
FIRST_BUCKET, BUCKET = 1 << 20, 25 << 20  # bytes, of DistributedDataParallel

BLOCK = [C] * 4 + [C * C] * 4 + [4 * C * C] * 2  # elements of each parameter, in the order of the module
ALL = [V * C, T * C] + BLOCK * L + [C, C, V * C]
ROOT = sum(ALL) - L * sum(BLOCK)  # elements outside the blocks


def _differs(what, got, wanted):
    return [] if got == wanted else [f"{what}: {got}, not {wanted}"]


def whole_parameters(figures, snapshots):
    return [fault for rank in figures for fault in
            _differs(f"parameters of rank {rank}", figures[rank]["parameters"], 4 * sum(ALL))]


def shards(figures, snapshots):
    """Every length that is split is a multiple of the number of ranks, so that nothing is padded."""
    wanted = 4 * sum(ALL) // len(figures)
    return [fault for rank in figures for fault in _differs(f"shard of rank {rank}", figures[rank]["parameters"], wanted)]


def halves(figures, snapshots):
    """All parameters in bf16."""
    return [fault for rank in figures for fault in
            _differs(f"parameters of rank {rank}", figures[rank]["parameters"], 2 * sum(ALL))]


def half_shards(figures, snapshots):
    return [fault for rank in figures for fault in
            _differs(f"shard of rank {rank}", figures[rank]["parameters"], 2 * sum(ALL) // len(figures))]


def megatron(figures, snapshots):
    """Weights and biases of layers that are split by columns are divided, and so are the embedding and the head; those
    that are split by rows keep their bias whole. The norms and the positions are whole."""
    n = len(figures)
    split = 2 * V * C + L * (3 * C * C + 3 * C + C * C + 4 * C * C + 4 * C + 4 * C * C)
    whole = T * C + L * (2 * C + 4 * C) + 2 * C
    wanted = 4 * (split // n + whole)
    return [fault for rank in figures for fault in _differs(f"parameters of rank {rank}", figures[rank]["parameters"], wanted)]


def equal_peaks(figures, snapshots):
    peaks = {rank: figures[rank]["peak"] for rank in sorted(figures)}
    return [] if len(set(peaks.values())) == 1 else [f"peaks differ: {peaks}"]


def _bucket_bytes(order):
    """Parameters fill a bucket until it has reached its limit, which the first has lower."""
    found, n_bytes, limit = [], 0, FIRST_BUCKET
    for n_elements in order:
        n_bytes += 4 * n_elements
        if n_bytes >= limit:
            found.append(n_bytes)
            n_bytes, limit = 0, BUCKET
    return found + ([n_bytes] if n_bytes > 0 else [])


def buckets(figures, snapshots):
    """The constructor makes one bucket, because the order of the gradients is not known yet. The second step has
    buckets in that order, which is here from the last parameter to the first."""
    found = []
    for rank, snapshot in enumerate(snapshots):
        first = _large(snapshot.allocations("_ddp_init_helper"))
        found += _differs(f"first bucket of rank {rank}", first, {4 * sum(ALL)})
        rebuilt = Counter(n_bytes for n_bytes in snapshot.allocations("_pre_forward") if n_bytes >= FIRST_BUCKET)
        found += _differs(f"second buckets of rank {rank}", rebuilt, Counter(_bucket_bytes(reversed(ALL))))
    return found


def _large(sizes):
    """What is not bookkeeping: no parameter group is below a MiB."""
    return {n_bytes for n_bytes in sizes if n_bytes >= 1 << 20}


def _gathers(snapshots, n_value):
    wanted = {n_value * sum(BLOCK), n_value * ROOT}
    return [fault for rank, snapshot in enumerate(snapshots) for fault in
            _differs(f"all-gathers of rank {rank}", _large(snapshot.allocations("foreach_all_gather")), wanted)]


def gathers(figures, snapshots):
    """One buffer for each group: a block, or all that is outside the blocks."""
    return _gathers(snapshots, 4)


def mixed_gathers(figures, snapshots):
    """The groups in bf16, with this rank's part, which is converted first."""
    n = len(snapshots)
    wanted = {2 * sum(BLOCK), 2 * ROOT}
    parts = {2 * sum(BLOCK) // n, 2 * ROOT // n}
    return [f"all-gathers of rank {rank}: {sorted(sizes)}, not {sorted(wanted)} and parts of {sorted(parts)}"
            for rank, snapshot in enumerate(snapshots)
            if not wanted <= (sizes := _large(snapshot.allocations("foreach_all_gather"))) <= wanted | parts]


def scatters(figures, snapshots):
    """The gradients of a group in one buffer, and this rank's part of their sum."""
    n = len(snapshots)
    wanted = {4 * sum(BLOCK), 4 * ROOT, 4 * sum(BLOCK) // n, 4 * ROOT // n}
    return [fault for rank, snapshot in enumerate(snapshots) for fault in
            _differs(f"reduce-scatters of rank {rank}", _large(snapshot.allocations("foreach_reduce")), wanted)]


def split_layers(figures, snapshots):
    """The matrices of the blocks are split, all else is whole."""
    matrices = L * sum(BLOCK[4:])
    wanted = 4 * (sum(ALL) - matrices + matrices // len(figures))
    return [fault for rank in figures for fault in _differs(f"parameters of rank {rank}", figures[rank]["parameters"], wanted)]


def stages(figures, snapshots):
    """L // n blocks each; the last has the rest of them, and the head; the first has the embedding."""
    n = len(figures)
    found = []
    for rank in figures:
        n_blocks = L // n if rank < n - 1 else L - (n - 1) * (L // n)
        wanted = 4 * (n_blocks * sum(BLOCK) + (V * C if rank in (0, n - 1) else 0))
        found += _differs(f"parameters of stage {rank}", figures[rank]["parameters"], wanted)
    return found
