"""The process groups of torch.distributed that this process is a member of, for its snapshot.

Of a job of which only some ranks run, the store learns of them, too: the key of a unique id names a group,
and the store has to know whether the rank runs that makes the id (cluster/store.py).
"""
import functools
import inspect

from . import settings
from .imports import when_imported
from .ranks import _replace

_GROUP_KEY = "tidemark/group/"  # as cluster/store.py has it
_groups = {}  # name -> Group


class Group:
    def __init__(self, name, description, ranks):
        self.name, self.description, self.ranks = name, description, ranks
        self.sends = False  # members send each other something, two by two

    def described(self, own):
        """For PID.json (programs/launch/left/left.h). Members that are no regular row have the stride 0."""
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
    """The groups that this process, of that rank, has been a member of, in the order in which they were made."""
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
    """What makes a group does not know its ranks yet, but for what it is given; none are all ranks."""
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
    """Other objects than groups stand for none that this process is a member of."""
    try:
        ranks = sorted(ranks or c10d._world.pg_group_ranks.get(group, ()))
        name = c10d._world.pg_names.get(group)
    except TypeError:
        return  # it is no key of a dictionary
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
