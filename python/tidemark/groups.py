"""The process groups of torch.distributed of which this process is a member, for its snapshot.

In a job in which only some ranks run, the store also gets them: the key of a unique id names a group, and the
store must know whether the rank that makes the id runs (cluster/store.py).
"""
import functools
import inspect

from . import settings
from .imports import when_imported
from .ranks import _replace

_GROUP_KEY = "tidemark/group/"  # as in cluster/store.py
_groups = {}  # name -> Group


class Group:
    def __init__(self, name, description, ranks):
        self.name, self.description, self.ranks = name, description, ranks
        self.sends = False  # members send to each other, in pairs

    def described(self, own):
        """For PID.json (programs/launch/left/left.h). Members without a regular stride have the stride 0."""
        strides = {b - a for a, b in zip(self.ranks, self.ranks[1:])}
        return {
            "name": self.name,
            "description": self.description,
            "size": len(self.ranks),
            "position": self.ranks.index(own) if own in self.ranks else -1,
            "first": self.ranks[0],
            "stride": strides.pop() if len(strides) == 1 else 0 if strides else 1,
            "sends": self.sends,
        }


def described(own):
    """The groups of which this process, with that rank, has been a member, in the order of their creation."""
    return [group.described(own) for group in _groups.values()]


def watch():
    """Changes torch.distributed, now or when it is imported."""
    when_imported({"torch.distributed.distributed_c10d": _change})


def _change(c10d):
    if not hasattr(c10d, "_new_process_group_helper"):
        return  # this PyTorch was built without it
    for group in list(c10d._world.pg_map):
        _keep(c10d, group)
    c10d._new_process_group_helper = _kept(c10d, c10d._new_process_group_helper)
    _replace(c10d, "split_group", functools.partial(_kept_split, c10d))
    for name in ("send", "recv"):
        _note_sends(c10d.ProcessGroup, name)


def _kept(c10d, make_group):
    """The function that makes a group knows only the ranks it is given; None means all ranks."""
    signature = inspect.signature(make_group)

    @functools.wraps(make_group)
    def call(group_size, group_rank, global_ranks_in_group, *args, **kwargs):
        if global_ranks_in_group and settings.get("TIDEMARK_WORLD"):
            given = signature.bind(group_size, group_rank, global_ranks_in_group, *args, **kwargs).arguments
            given["store"].set(_GROUP_KEY + given["group_name"], ",".join(map(str, global_ranks_in_group)))
        made = make_group(group_size, group_rank, global_ranks_in_group, *args, **kwargs)
        _keep(c10d, made[0], global_ranks_in_group or range(group_size))
        return made

    return call


def _kept_split(c10d, split_group):
    @functools.wraps(split_group)
    def call(*args, **kwargs):
        made = split_group(*args, **kwargs)
        _keep(c10d, made)
        return made

    return call


def _keep(c10d, group, ranks=()):
    """Objects other than groups mean that this process is not a member."""
    try:
        ranks = sorted(ranks or c10d._world.pg_group_ranks.get(group, ()))
        name = c10d._world.pg_names.get(group)
    except TypeError:
        return  # it cannot be the key of a dictionary
    if ranks and name is not None:
        description = str(getattr(group, "group_desc", ""))
        _groups.setdefault(str(name), Group(str(name), "" if description == "undefined" else description, ranks))


def _note_sends(kind, name):
    act = getattr(kind, name)

    @functools.wraps(act)
    def call(group, *args, **kwargs):
        kept = _groups.get(str(getattr(group, "group_name", "")))
        if kept is not None:
            kept.sends = True
        return act(group, *args, **kwargs)

    setattr(kind, name, call)
