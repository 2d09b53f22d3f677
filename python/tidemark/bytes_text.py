"""Sizes in bytes in the form that people write and read, as in common/text/bytes.h."""
import math
import re

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
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
