"""The arguments of the marker limit_gpu_memory."""
import dataclasses

from ..bytes_text import parse_bytes

_MEMORIES = ("allocated", "reserved")


@dataclasses.dataclass
class Limit:
    n_bytes: int  # None without a limit
    device: str  # as `tidemark run --device` takes it
    memory: str  # "allocated" or "reserved"


def choose(marker, card, default_device):
    """The Limit of a marker, or of none with --tidemark-all CARD, which is also the card of markers without one."""
    if marker is None:
        return Limit(None, _name_card(card), "allocated")
    return from_marker(marker.args, marker.kwargs, card or default_device)


def _name_card(device):
    return device if device.startswith("virtual:") else f"virtual:{device}"


def from_marker(args, kwargs, default_device):
    """The Limit of a marker's arguments. Raises ValueError with a sentence if they are wrong."""
    names = ("limit", "device", "memory")
    unknown = [name for name in kwargs if name not in names]
    if unknown or len(args) > len(names):
        raise ValueError("limit_gpu_memory takes a limit, device= and memory=, not "
                         + (f"{unknown[0]}=" if unknown else f"{len(args)} arguments"))
    given = dict(zip(names, args))
    twice = [name for name in given if name in kwargs]
    if twice:
        raise ValueError(f"limit_gpu_memory has {twice[0]} twice")
    given.update(kwargs)
    if "limit" not in given:
        raise ValueError("limit_gpu_memory needs a limit, such as '2 GiB'")
    device = given.get("device") or default_device
    if not device:
        raise ValueError("limit_gpu_memory needs a card: device='h100-80', or tidemark_device in pytest's settings")
    memory = given.get("memory", "allocated")
    if memory not in _MEMORIES:
        raise ValueError(f"memory={memory!r} is unknown to limit_gpu_memory: it is 'allocated' or 'reserved'")
    return Limit(parse_bytes(given["limit"]), _name_card(str(device)), memory)
