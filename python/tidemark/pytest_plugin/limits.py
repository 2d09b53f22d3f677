"""Sizes, and the arguments of the marker limit_gpu_memory."""
import dataclasses
import math
import re

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_MEMORIES = ("allocated", "reserved")
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]*)?) *(?:([KMGTPE])(?:i?B)?|B)?", re.IGNORECASE)


def parse_bytes(size):
    """The bytes of "24GiB", "512 MiB", "1.5 GB" or 1048576, as the options of tidemark read them: every
    unit is binary. Raises ValueError for anything else."""
    if isinstance(size, int) and not isinstance(size, bool) and size >= 0:
        return size
    found = _SIZE.fullmatch(size.strip()) if isinstance(size, str) else None
    if found is None:
        raise ValueError(f"{size!r} is not a size: write '24 GiB', '512 MiB' or plain bytes")
    power = "KMGTPE".index(found[2].upper()) + 1 if found[2] else 0
    return int(found[1]) if found[1].isdigit() and power == 0 else int(float(found[1]) * 1024**power)


def format_bytes(n_bytes):
    """"1.50 GiB", "512 B": two decimals from 1 KiB on, halves rounded up, as tidemark prints them."""
    shown, unit = float(n_bytes), 0
    while unit + 1 < len(_UNITS) and shown >= (1024 if unit == 0 else 1023.995):
        shown, unit = shown / 1024, unit + 1
    return f"{n_bytes} B" if unit == 0 else f"{math.floor(shown * 100 + 0.5) / 100:.2f} {_UNITS[unit]}"


@dataclasses.dataclass
class Limit:
    n_bytes: int
    device: str  # as `tidemark run --device` takes it
    memory: str  # "allocated" or "reserved"


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
    device = str(device)
    return Limit(parse_bytes(given["limit"]), device if device.startswith("virtual:") else f"virtual:{device}", memory)
