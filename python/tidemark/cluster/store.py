"""The store of a job in which only some ranks run.

It speaks the protocol of PyTorch's TCPStore, so the program's own client can use it. It differs from PyTorch's
server in one point: it provides a key that an absent rank would have written, once a running rank waits for it.
Those keys are known by their names:

- NCCL's unique ids. The first member of a group (of larger groups: several) makes one, and of two ranks that send
  to each other, the lower one. python/tidemark/ranks.py announces the ranks of a group in a separate key. An id
  is made from the key's name, the same for all.
- The last rank at PyTorch's barrier over the store.

Other keys of absent ranks cannot be known. If all ranks wait for such keys, the store reports it, and the job
ends.
"""
import hashlib
import os
import re
import selectors
import socket
import struct
import sys
import time

(VALIDATE, SET, COMPARE_SET, GET, ADD, CHECK, WAIT, GETNUMKEYS, DELETE_KEY, APPEND, MULTI_GET, MULTI_SET,
 CANCEL_WAIT, PING, QUEUE_PUSH, QUEUE_POP, QUEUE_LEN, LIST_KEYS) = range(18)
READY, NOT_READY = 0, 1
STOP_WAITING, WAIT_CANCELED = 0, 1

GROUP_KEY = "tidemark/group/"  # and a group's name: the ranks of the world that are its members
DEFAULT_GROUP = "default_pg"  # the first part of all keys of the group of all ranks
UNIQUE_ID_BYTES = 128
RANKS_PER_ROOT = 128  # PyTorch's TORCH_NCCL_RANKS_PER_ROOT
IDLE_SECONDS = 10  # all ranks wait and none sends anything: none ever will
GLOO_IDLE_SECONDS = 2  # the same if the waiting ranks connect to each other

_ID = re.compile(r"/(?:UniqueNCCLID:)?(\d+)$")
_PAIR = re.compile(r"/(\d+):(\d+)(?:[/:].*)?$")
_BARRIER = re.compile(r"(store_based_barrier_key:.*):last_worker$")


class Job:
    """The ranks of a world that run."""

    def __init__(self, world, present):
        self.world = world
        self.present = frozenset(present)


def root_of(number, size, per_root):
    """The member of a group of `size` that makes its unique id with that number.

    A group with more than per_root members has one id for each about per_root members, and the members that make
    them are spread evenly. In a smaller one the first makes all, one after the other.
    """
    n_roots = -(-size // per_root)
    if n_roots == 1 or number >= n_roots:
        return 0
    short, n_long = divmod(size, n_roots)
    return number * (short + 1) if number < n_long else n_long * (short + 1) + (number - n_long) * short


class Answers:
    """The answers for ranks that do not run."""

    def __init__(self, job):
        self.job = job
        self.groups = {}  # name -> ranks of the world
        self.per_root = int(os.environ.get("TORCH_NCCL_RANKS_PER_ROOT") or RANKS_PER_ROOT)

    def learn(self, key, value):
        """Reads a key that lists the ranks of a group."""
        if GROUP_KEY in key:
            self.groups[key.partition(GROUP_KEY)[2]] = [int(rank) for rank in value.split(b",") if rank]

    def members(self, key):
        """The ranks of the group of a key: the last group named in it."""
        found, at = None, -1
        for name, ranks in self.groups.items():
            place = max(key.rfind(f"/{name}/"), 0 if key.startswith(f"{name}/") else -1)
            if place > at:
                found, at = ranks, place
        return found if found is not None else range(self.job.world)

    def find(self, key, data):
        """The value that an absent rank would have written; None if there is no such key, or its value cannot be
        known."""
        barrier = _BARRIER.search(key)
        if barrier:
            came = key[: barrier.end(1)]
            return b"1" if int(data.get(came, b"0")) >= self._n_present(barrier.group(1)) else None
        pair, number = _PAIR.search(key), _ID.search(key)
        if (not pair and not number) or "/cuda/" not in key and "UniqueNCCLID" not in key:
            return None
        members = self.members(key)
        root = min(int(pair[1]), int(pair[2])) if pair else self._root(key, int(number[1]), len(members))
        if root < len(members) and members[root] in self.job.present:
            return None
        return unique_id(key)

    def _root(self, key, number, size):
        return root_of(number, size, self.per_root) if "UniqueNCCLID" in key else 0

    def _n_present(self, barrier):
        """The number of a barrier's ranks that run."""
        ranks = self.groups.get(barrier.partition(":")[2])
        return len(self.job.present if ranks is None else self.job.present.intersection(ranks))


def unique_id(key):
    """The bytes of an NCCL unique id, the same for all ranks."""
    return hashlib.shake_128(key.encode()).digest(UNIQUE_ID_BYTES)


def is_of_gloo(key):
    """Whether gloo wrote the key: its groups connect each member with every other."""
    return "/cpu/" in key or "gloo" in key


class _Client:
    def __init__(self, peer):
        self.peer = peer
        self.bytes = bytearray()  # received, and not yet understood
        self.awaited = ()  # keys; the client is answered when all exist


class _Incomplete(Exception):
    """The command is not complete yet."""


class _Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        if len(self.data) - self.at < n:
            raise _Incomplete
        self.at += n
        return bytes(self.data[self.at - n : self.at])

    def number(self, kind):
        return struct.unpack(kind, self.take(struct.calcsize(kind)))[0]

    def value(self):
        return self.take(self.number("<Q"))

    def key(self):
        return self.value().decode(errors="surrogateescape")

    def keys(self):
        return [self.key() for _ in range(self.number("<Q"))]


def _sized(value):
    return struct.pack("<Q", len(value)) + value


class Store:
    """The server. Call look() again and again: it never waits longer than the given time."""

    def __init__(self, job):
        self.answers = Answers(job)
        self.data = {}
        self.clients = {}  # socket -> _Client
        self.changed = time.monotonic()
        self.server = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self.server.getsockname()[1]
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.server, selectors.EVENT_READ)
        self.commands = {
            VALIDATE: self._validate, SET: self._set, COMPARE_SET: self._compare_set, GET: self._get, ADD: self._add,
            CHECK: self._check, WAIT: self._wait, GETNUMKEYS: self._count, DELETE_KEY: self._delete,
            APPEND: self._append, MULTI_GET: self._multi_get, MULTI_SET: self._multi_set,
            CANCEL_WAIT: self._cancel, PING: self._ping, LIST_KEYS: self._list,
        }

    def close(self):
        self.selector.close()
        self.server.close()
        for peer in self.clients:
            peer.close()

    def look(self, seconds):
        """Answers the received commands; waits at most this long for one."""
        for key, _ in self.selector.select(seconds):
            if key.fileobj is self.server:
                peer, _ = self.server.accept()
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.clients[peer] = _Client(peer)
                self.selector.register(peer, selectors.EVENT_READ)
            else:
                self._hear(self.clients[key.fileobj])

    def stuck(self, n_ranks):
        """A key for which n_ranks wait for ever; None if they do not."""
        awaiting = [client for client in self.clients.values() if client.awaited]
        if len(awaiting) < max(n_ranks, 1):
            return None
        key = next(key for key in awaiting[0].awaited if key not in self.data)
        idle = GLOO_IDLE_SECONDS if is_of_gloo(key) else IDLE_SECONDS
        return key if time.monotonic() - self.changed > idle else None

    def _hear(self, client):
        try:
            received = client.peer.recv(1 << 16)
        except OSError:
            received = b""
        if not received:
            self._leave(client)
            return
        client.bytes += received
        self.changed = time.monotonic()
        while client.bytes and client.peer in self.clients:
            reader = _Reader(client.bytes)
            try:
                command = reader.number("<B")
                if command not in self.commands:
                    raise ValueError(f"it serves no command {command}")
                self.commands[command](client, reader)
            except _Incomplete:
                return
            except ValueError as wrong:  # PyTorch's server also hangs up on such a client
                print(f"tidemark: the store hangs up on a client: {wrong}", file=sys.stderr, flush=True)
                self._leave(client)
                return
            del client.bytes[: reader.at]

    def _leave(self, client):
        self.selector.unregister(client.peer)
        client.peer.close()
        del self.clients[client.peer]

    def _send(self, client, data):
        try:
            client.peer.sendall(data)
        except OSError:
            pass  # the process has ended; its socket reports that next

    def _put(self, key, value):
        self.data[key] = value
        self.answers.learn(key, value)
        for client in self.clients.values():
            self._wake(client)

    def _wake(self, client):
        if client.awaited and all(self._has(key) for key in client.awaited):
            client.awaited = ()
            self._send(client, bytes([STOP_WAITING]))

    def _has(self, key):
        """Whether the key exists; the key of an absent rank is written here."""
        if key not in self.data:
            value = self.answers.find(key, self.data)
            if value is not None:
                self.data[key] = value
        return key in self.data

    # ---- commands; each reads all of its arguments before it does anything

    def _validate(self, client, reader):
        reader.number("<I")

    def _ping(self, client, reader):
        self._send(client, reader.take(4))

    def _set(self, client, reader):
        key, value = reader.key(), reader.value()
        self._put(key, value)

    def _multi_set(self, client, reader):
        for key, value in [(reader.key(), reader.value()) for _ in range(reader.number("<Q"))]:
            self._put(key, value)

    def _compare_set(self, client, reader):
        key, expected, wanted = reader.key(), reader.value(), reader.value()
        now = self.data.get(key)
        if now == expected or (now is None and not expected):
            self._put(key, wanted)
        self._send(client, _sized(self.data.get(key, expected)))

    def _append(self, client, reader):
        key, value = reader.key(), reader.value()
        self._put(key, self.data.get(key, b"") + value)

    def _add(self, client, reader):
        key, more = reader.key(), reader.number("<q")
        total = int(self.data.get(key, b"0")) + more
        self._put(key, str(total).encode())
        self._send(client, struct.pack("<q", total))

    def _get(self, client, reader):
        self._send(client, _sized(self.data.get(reader.key(), b"")))

    def _multi_get(self, client, reader):
        self._send(client, b"".join(_sized(self.data.get(key, b"")) for key in reader.keys()))

    def _check(self, client, reader):
        there = all(key in self.data for key in reader.keys())
        self._send(client, bytes([READY if there else NOT_READY]))

    def _wait(self, client, reader):
        client.awaited = tuple(reader.keys())
        if client.awaited:
            self._wake(client)
        else:
            self._send(client, bytes([STOP_WAITING]))

    def _cancel(self, client, reader):
        client.awaited = ()
        self._send(client, bytes([WAIT_CANCELED]))

    def _count(self, client, reader):
        self._send(client, struct.pack("<q", len(self.data)))

    def _delete(self, client, reader):
        self._send(client, struct.pack("<q", self.data.pop(reader.key(), None) is not None))

    def _list(self, client, reader):
        keys = [key.encode(errors="surrogateescape") for key in self.data]
        self._send(client, struct.pack("<q", len(keys)) + b"".join(map(_sized, keys)))
