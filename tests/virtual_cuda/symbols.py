"""Reads the dynamic symbols of a 64-bit little-endian ELF file: what it defines, and what it needs from others."""
import struct
from pathlib import Path

SHT_DYNSYM, SHT_GNU_VERNEED, SHT_GNU_VERSYM = 11, 0x6FFFFFFE, 0x6FFFFFFF
SHN_UNDEF, STB_WEAK = 0, 2
HIDDEN = 0x8000  # a bit of a version that is not part of its number


class NotElf(Exception):
    pass


def text_at(strings: bytes, at: int) -> str:
    return strings[at:strings.index(b"\0", at)].decode()


def sections_of(data: memoryview) -> list[tuple[int, ...]]:
    """Of each section: name, type, flags, address, offset, size, link, info, alignment, size of an entry."""
    if bytes(data[:6]) != b"\x7fELF\x02\x01":
        raise NotElf()
    offset, = struct.unpack_from("<Q", data, 0x28)
    entry_bytes, n_entries = struct.unpack_from("<HH", data, 0x3A)
    return [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * entry_bytes) for i in range(n_entries)]


def content(data: memoryview, section: tuple[int, ...]) -> bytes:
    return bytes(data[section[4]:section[4] + section[5]])


def needed_versions(data: memoryview, sections: list[tuple[int, ...]]) -> dict[int, str]:
    """The number of a version -> its name, such as "libcudart.so.13"."""
    names: dict[int, str] = {}
    for section in (s for s in sections if s[1] == SHT_GNU_VERNEED):
        table, strings = content(data, section), content(data, sections[section[6]])
        at = 0
        for _ in range(section[7]):
            _, n_versions, _, first, following = struct.unpack_from("<HHIII", table, at)
            version_at = at + first
            for _ in range(n_versions):
                _, _, number, name, step = struct.unpack_from("<IHHII", table, version_at)
                names[number] = text_at(strings, name)
                version_at += step
            at += following
    return names


def dynamic_symbols(path: Path) -> tuple[set[str], dict[str, str]]:
    """The names that the file defines; the names that it needs, each with its version or ""."""
    defined, needed = set(), {}
    data = memoryview(path.read_bytes())
    sections = sections_of(data)
    versions = needed_versions(data, sections)
    numbers = next((content(data, s) for s in sections if s[1] == SHT_GNU_VERSYM), b"")
    for section in (s for s in sections if s[1] == SHT_DYNSYM):
        table, strings = content(data, section), content(data, sections[section[6]])
        for i, (name, kind, _, place, _, _) in enumerate(struct.iter_unpack("<IBBHQQ", table)):
            if name == 0 or (place == SHN_UNDEF and kind >> 4 == STB_WEAK):
                continue  # weak references are not needs
            if place != SHN_UNDEF:
                defined.add(text_at(strings, name))
            else:
                number = struct.unpack_from("<H", numbers, 2 * i)[0] & ~HIDDEN if numbers else 0
                needed[text_at(strings, name)] = versions.get(number, "")
    return defined, needed
