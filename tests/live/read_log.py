"""Reads a log that programs/live/ wrote, for tests: docs/reference/log-format.md specifies it.

    python3 read_log.py LOG [N]   counts, and the last N rows
"""
import collections
import mmap
import struct
import sys

ACTIONS = ["alloc", "free", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map",
           "segment_unmap", "oom", "mark"]
DRIVER = ["device_alloc", "device_free", "host_alloc", "host_free", "physical_alloc", "physical_free", "", "refused"]
DRIVER_FIRST = 32
LABEL = 31
NONE = 0xFFFFFFFF
PYTHON_BIT = 1 << 63
ROW = struct.Struct("<qQQQIIIBBBBIIIHH")
Row = collections.namedtuple("Row", "time address requested block stack scope name action category device stream "
                                    "sequence node module pool thread mode")
POOL_BITS = 13  # of the row's pool; autograd's mode follows
LAYOUT = struct.Struct("<8sIIIIII" + "Q" * 9 + "qqQII")


def row_at(data, at):
    *fields, pool, thread = ROW.unpack_from(data, at)
    return Row(*fields, pool & ((1 << POOL_BITS) - 1), thread, pool >> POOL_BITS)


class Log:
    """rows: oldest first. Numbers in them lead to strings, stacks (lists of frames or addresses) and pools."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        layout = LAYOUT.unpack_from(data, 0)
        assert layout[0] == b"TIDELOG\n" and layout[3] == ROW.size, layout
        _, journal_at, _, _, _, base_at, _, events_at, max_events = layout[7:16]
        counters = struct.unpack_from("<10Q", data, 256)
        self.n_written, self.n_folded, self.n_refused, self.n_base = counters[:4]
        self.is_closed = counters[9] == 1
        self.started_us = layout[16]
        self.rows = [row_at(data, events_at + i % max_events * ROW.size)
                     for i in range(self.n_folded, self.n_written)]
        self.base = [row_at(data, base_at + i * ROW.size) for i in range(self.n_base)]
        self.strings, self.stacks, self.frames, self.streams, self.pools = {}, {}, {}, {}, {}
        self.texts = {}
        at, end = journal_at, journal_at + counters[6]
        while at < end:
            mark, kind, size, _ = struct.unpack_from("<IIII", data, at)
            assert mark == 0x4A524454
            self._take(kind, data[at + 16 : at + 16 + size])
            at += 16 + (size + 7) // 8 * 8

    def _take(self, kind, payload):
        number = struct.unpack_from("<I", payload)[0] if len(payload) >= 4 else 0
        if kind == 1:
            key, value = payload.split(b"\0")[:2]
            self.texts[key.decode()] = value.decode()
        elif kind == 2:
            self.strings[number] = payload[8:].decode()
        elif kind == 3:
            self.stacks[number] = struct.unpack(f"<{len(payload) // 8 - 1}Q", payload[8:])
        elif kind == 4:
            self.streams[number] = struct.unpack("<Q", payload[8:])[0]
        elif kind == 6:
            self.frames[number] = struct.unpack("<III", payload[4:16])
        elif kind == 7:
            self.pools[number] = struct.unpack("<QQ", payload[8:])

    def text(self, number):
        return None if number == NONE else self.strings[number]

    def labels(self):
        """[(rows before it, address, category, name)]"""
        return [(self.n_folded + i, row.address, self.text(row.node), self.text(row.name))
                for i, row in enumerate(self.rows) if row.action == LABEL]

    def action(self, row):
        if row.action == LABEL:
            return "label"
        return ACTIONS[row.action] if row.action < DRIVER_FIRST else DRIVER[row.action - DRIVER_FIRST]

    def python(self, row):
        """[(file, line, qualified name)], innermost first."""
        found = []
        for pc in self.stacks.get(row.stack, ()):
            if pc & PYTHON_BIT:
                line, file, function = self.frames[pc & ~PYTHON_BIT]
                found.append((self.text(file), line, self.text(function)))
        return found

    def events(self):
        """PyTorch's events in order, as in its own history: every free twice."""
        for row in self.rows:
            name = self.action(row)
            if row.action >= LABEL:
                continue
            if name == "mark":
                if self.text(row.name) in ("snapshot", "annotate"):
                    yield self.text(row.name), row
            elif name == "free":
                yield "free_requested", row
                yield "free_completed", row
            else:
                yield name, row


def main():
    log = Log(sys.argv[1])
    print(len(log.rows), "rows", len(log.stacks), "stacks", len(log.frames), "frames", len(log.labels()), "labels",
          "closed" if log.is_closed else "open")
    print(dict(collections.Counter(log.action(row) for row in log.rows)))
    print(log.texts)
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    for row in log.rows[len(log.rows) - n :]:
        print(log.action(row), hex(row.address), row.requested, "sequence", row.sequence, log.text(row.node), "module",
              log.text(row.module), "pool", log.pools.get(row.pool), "thread", row.thread)
        for frame in log.python(row)[:3]:
            print("   ", frame)


if __name__ == "__main__":
    main()
