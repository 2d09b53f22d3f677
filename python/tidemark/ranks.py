"""Support of torch.distributed on virtual cards, whose kernels compute nothing.

Objects that ranks send each other travel as bytes on the card, with their sizes in small tensors that
operators process: `max` of the sizes, `cat` of the parts. values/ works these out, and the card gets the results before a
collective reads them; within the functions that send objects, of large tensors, too.

NCCL numbers the members of a communicator from 0. The card gets their ranks of the world before it
makes one (programs/virtual_cuda/nccl/job.h).
"""
import functools
import inspect

from . import card
from .imports import when_imported

_OBJECT_FUNCTIONS = (
    "all_gather_object", "gather_object", "broadcast_object_list", "scatter_object_list", "send_object_list",
    "recv_object_list",
)
_ZERO = "torch.distributed.optim.zero_redundancy_optimizer"


def watch():
    """Changes torch.distributed, now or when it is imported."""
    if card.is_virtual():
        when_imported({"torch.distributed.distributed_c10d": _change, _ZERO: _change_zero})


def _change(c10d):
    for name in _OBJECT_FUNCTIONS:
        _replace(c10d, name, _with_objects)
    _replace(c10d, "split_group", functools.partial(_split_announced, c10d))
    c10d._new_process_group_helper = _announced(c10d._new_process_group_helper)


def _change_zero(module):
    module._broadcast_object = _with_objects(module._broadcast_object)


def _replace(c10d, name, change):
    """Changes a function also for code that has imported it by name: PyTorch's functions are wrapped
    by a logger, and the wrapper's own reference is changed."""
    wrapper = getattr(c10d, name, None)
    inner = getattr(wrapper, "__wrapped__", None)
    for cell in getattr(wrapper, "__closure__", None) or ():
        if inner is not None and cell.cell_contents is inner:
            cell.cell_contents = change(inner)
            return
    if wrapper is not None:
        setattr(c10d, name, change(wrapper))


def _with_objects(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        from . import values

        card.objects(1)
        try:
            with values.sending_objects():
                return function(*args, **kwargs)
        finally:
            card.objects(0)

    return call


def _announced(make_group):
    signature = inspect.signature(make_group)

    @functools.wraps(make_group)
    def call(*args, **kwargs):
        given = signature.bind(*args, **kwargs).arguments
        members = given["global_ranks_in_group"] or range(given["group_size"])
        card.announce_group(members, given.get("group_name"))
        return make_group(*args, **kwargs)

    return call


def _split_announced(c10d, split_group):
    """The members of a split are given as ranks of its parent."""

    @functools.wraps(split_group)
    def call(parent_pg=None, split_ranks=None, *args, **kwargs):
        parent = parent_pg or c10d._get_default_group()
        own = parent.rank()
        to_world = {member: rank for rank, member in c10d._world.pg_group_ranks[parent].items()}
        for members in split_ranks or ():
            if own in members:
                card.announce_group([to_world[member] for member in members])
        return split_group(parent_pg, split_ranks, *args, **kwargs)

    return call
