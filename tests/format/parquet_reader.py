"""Reads the Parquet files of `tidemark export --to parquet`, written from the format's specification alone: Thrift's
compact protocol, pages, levels, runs and packed groups. It checks what a lenient reader would ignore: checksums, sizes,
counts, statistics, and that the parts of a file have no gaps.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from pathlib import Path

BOOLEAN, INT32, INT64, BYTE_ARRAY = 0, 1, 2, 6
PLAIN, RLE, RLE_DICTIONARY = 0, 3, 8
GZIP = 2
DATA_PAGE, DICTIONARY_PAGE = 0, 2


class Thrift:
    """Structs become dictionaries by field number, lists become lists."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data = data
        self.at = at

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def zigzag(self) -> int:
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def value(self, kind: int) -> object:
        if kind in (1, 2):
            return kind == 1
        if kind in (4, 5, 6):
            return self.zigzag()
        if kind == 8:
            n = self.varint()
            self.at += n
            assert self.at <= len(self.data)
            return self.data[self.at - n : self.at]
        if kind == 9:
            head = self.byte()
            n = head >> 4 if head >> 4 < 15 else self.varint()
            return [self.value(head & 15) for _ in range(n)]
        assert kind == 12, f"type {kind} at {self.at}"
        return self.struct()

    def struct(self) -> dict[int, object]:
        fields: dict[int, object] = {}
        last = 0
        while (head := self.byte()) != 0:
            number = last + (head >> 4) if head >> 4 else self.zigzag()
            assert number > last, "fields out of order"
            last = number
            fields[number] = self.value(head & 15)
        return fields


def hybrid(data: bytes, width: int, n_values: int) -> tuple[list[int], int]:
    """Runs and packed groups. Returns the values and the number of bytes read."""
    values: list[int] = []
    reader = Thrift(data, 0)
    while len(values) < n_values:
        head = reader.varint()
        if head & 1:
            n_bytes = (head >> 1) * width
            bits = int.from_bytes(data[reader.at : reader.at + n_bytes], "little")
            assert reader.at + n_bytes <= len(data)
            reader.at += n_bytes
            for _ in range((head >> 1) * 8):
                values.append(bits & ((1 << width) - 1))
                bits >>= width
            assert not any(values[n_values:]), "the padding of a packed group is not 0"
            del values[n_values:]
        else:
            n_bytes = (width + 7) // 8
            assert head >> 1 > 0, "an empty run"
            values += [int.from_bytes(data[reader.at : reader.at + n_bytes], "little")] * (head >> 1)
            reader.at += n_bytes
    assert len(values) == n_values
    return values, reader.at


def plain(data: bytes, kind: int, n_values: int) -> list[object]:
    if kind == BOOLEAN:
        assert len(data) == (n_values + 7) // 8
        return [bool(data[i // 8] >> i % 8 & 1) for i in range(n_values)]
    if kind in (INT32, INT64):
        assert len(data) == n_values * (4 if kind == INT32 else 8), (len(data), n_values)
        return list(struct.unpack(f"<{n_values}{'i' if kind == INT32 else 'q'}", data))
    texts = []
    at = 0
    for _ in range(n_values):
        (n,) = struct.unpack_from("<I", data, at)
        texts.append(data[at + 4 : at + 4 + n].decode())
        at += 4 + n
    assert at == len(data)
    return texts


def bound(data: bytes, kind: int) -> object:
    if kind == BYTE_ARRAY:
        return data
    return plain(data, kind, 1)[0]


class Table:
    """`rows`: a list for each column, by name. `kinds`: the physical type of each."""

    def __init__(self, path: Path) -> None:
        self.data = Path(path).read_bytes()
        assert self.data[:4] == b"PAR1" and self.data[-4:] == b"PAR1"
        (n_footer,) = struct.unpack("<I", self.data[-8:-4])
        reader = Thrift(self.data, len(self.data) - 8 - n_footer)
        footer_at = reader.at
        footer = reader.struct()
        assert reader.at == len(self.data) - 8
        root, *columns = footer[2]
        assert root[5] == len(columns) == len(footer[7])
        self.name = root[4].decode()
        self.keys = {entry[1].decode(): entry[2].decode() for entry in footer[5]}
        self.created_by = footer[6].decode()
        self.columns = [column[4].decode() for column in columns]
        self.kinds = {column[4].decode(): column[1] for column in columns}
        self.optional = {column[4].decode(): column[3] == 1 for column in columns}
        for column in columns:
            assert (column.get(10) == {1: {}}) == (column.get(6) == 0) == (column[1] == BYTE_ARRAY)
        self.n_groups = len(footer[4])
        self.group_rows = [group[3] for group in footer[4]]
        self.n_rows = footer[3]
        self.rows: dict[str, list] = {name: [] for name in self.columns}
        at = 4
        for group in footer[4]:
            assert group[5] == at
            for name, chunk in zip(self.columns, group[1], strict=True):
                at = self.chunk(name, chunk[3], at, group[3])
            assert group[6] == at - group[5]
            assert group[2] == sum(chunk[3][6] for chunk in group[1])
        assert at == footer_at, "something is between the pages and the footer"
        assert all(len(values) == self.n_rows for values in self.rows.values())

    def page(self, at: int) -> tuple[dict, bytes, int, int]:
        reader = Thrift(self.data, at)
        header = reader.struct()
        packed = self.data[reader.at : reader.at + header[3]]
        assert header[4] & 0xFFFFFFFF == zlib.crc32(packed)
        raw = gzip.decompress(packed)
        assert len(raw) == header[2]
        end = reader.at + header[3]
        return header, raw, end, end - at - len(packed) + len(raw)

    def chunk(self, name: str, meta: dict, at: int, n_rows: int) -> int:
        kind = self.kinds[name]
        assert (meta[1], meta[4], meta[5], meta[3]) == (kind, GZIP, n_rows, [name.encode()])
        begin, n_raw = at, 0
        dictionary = None
        if 11 in meta:
            assert meta[11] == at
            header, raw, at, n_page = self.page(at)
            n_raw += n_page
            assert header[1] == DICTIONARY_PAGE and header[7][2] == PLAIN
            dictionary = plain(raw, kind, header[7][1])
            assert len(set(dictionary)) == len(dictionary)
        assert meta[9] == at
        header, raw, at, n_page = self.page(at)
        assert header[1] == DATA_PAGE and header[5][1] == n_rows
        assert meta[7] == at - begin and meta[6] == n_raw + n_page
        levels = [1] * n_rows
        if self.optional[name]:
            (n_levels,) = struct.unpack_from("<I", raw)
            levels, n_taken = hybrid(raw[4 : 4 + n_levels], 1, n_rows)
            assert n_taken == n_levels
            raw = raw[4 + n_levels :]
        n_values = sum(levels)
        if dictionary is not None:
            assert header[5][2] == RLE_DICTIONARY and RLE_DICTIONARY in meta[2]
            indices, n_taken = hybrid(raw[1:], raw[0], n_values)
            assert n_taken == len(raw) - 1 and set(indices) == set(range(len(dictionary)))
            values = [dictionary[i] for i in indices]
        else:
            assert header[5][2] == PLAIN
            values = plain(raw, kind, n_values)
        self.check_statistics(meta[12], kind, values, n_rows)
        source = iter(values)
        self.rows[name] += [next(source) if level else None for level in levels]
        return at

    @staticmethod
    def check_statistics(stated: dict, kind: int, values: list, n_rows: int) -> None:
        assert stated[3] == n_rows - len(values)
        if not values:
            assert 5 not in stated and 6 not in stated
            return
        found = [value.encode() for value in values] if kind == BYTE_ARRAY else values
        if kind == BYTE_ARRAY and max(len(min(found)), len(max(found))) > 128:
            assert 5 not in stated and 6 not in stated
            return
        assert bound(stated[5], kind) == max(found) and bound(stated[6], kind) == min(found)

    def records(self) -> list[dict]:
        return [dict(zip(self.columns, row)) for row in zip(*(self.rows[name] for name in self.columns))]


def read(folder: Path) -> dict[str, Table]:
    return {path.stem: Table(path) for path in sorted(Path(folder).glob("*.parquet"))}
