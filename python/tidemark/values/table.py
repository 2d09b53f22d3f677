"""What is known of the card's storages: the table of the engine in Python."""
import ctypes

import torch

from .. import card

CARD_FLOATS = 1 << 20  # bytes of the largest storage of floats whose bytes the card is asked for
CARD_BYTES = 256 << 20  # the same for integers and truth values, such as objects that ranks send each other


class Value:
    """The bytes of one storage after one write. A Value without a node and without bytes is unknown: it is drawn."""

    __slots__ = ("n_bytes", "node", "place", "storage", "is_assumed", "kind", "high", "seed", "depth", "host", "__weakref__")

    def __init__(self, n_bytes, node=None, place=None):
        self.n_bytes = n_bytes
        self.node, self.place = node, place  # what makes it, and where its result is in the storage
        self.storage = None  # its bytes on the CPU, once they are known
        self.is_assumed = False
        self.kind, self.high, self.seed = None, 0, 0  # how it is drawn
        self.depth = node.depth if node is not None else 0
        self.host = None  # the host's tensor that it was copied from, and its version then

    def holds(self):
        """Its bytes; None if they are not there. What the host has changed since is unknown."""
        if self.host is not None:
            tensor, version = self.host
            if tensor._version != version:
                self.storage = self.host = None
                self.is_assumed = True
        return self.storage


class Table:
    """Values by storage, each with the version counter that the tensor had and the storage's address."""

    def __init__(self):
        # address of the storage's description -> (Value, version or -1, whether one more is right, address on the card)
        self.rows = {}
        self.n_next_sweep = 4096

    def put(self, tensor, value, is_in_place=False):
        """`is_in_place`: an operator wrote it in place, whose version counter PyTorch raises after the kernel."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key not in self.rows:
            if len(self.rows) >= self.n_next_sweep:
                self._sweep()
            storage._weak_ref()  # keeps the description, whose address no other gets
        self.rows[key] = (value, version_of(tensor), is_in_place, storage.data_ptr())

    def forget(self, key):
        if self.rows.pop(key, None) is not None:
            torch.UntypedStorage._free_weak_ref(key)

    def _sweep(self):
        """Drops the values of storages that are gone."""
        for key in [key for key in list(self.rows) if torch.UntypedStorage._expired(key)]:
            self.forget(key)
        self.n_next_sweep = max(4096, 2 * len(self.rows))

    def find(self, tensor):
        """The tensor's Value; None if there is none.

        At a version that it was not noted with, something unseen has written, such as an optimizer: floats then count as
        they were, assumed, and integers are unknown.
        """
        storage = tensor.untyped_storage()
        row = self.rows.get(storage._cdata)
        if row is None:
            return None
        value, version, is_in_place, _ = row
        now = version_of(tensor)
        if value.n_bytes == storage.nbytes():
            if now == version or -1 in (now, version):
                return value
            if is_in_place and now == version + 1:
                self.put(tensor, value)
                return value
            if tensor.dtype.is_floating_point:
                value = as_assumed(value)
                self.put(tensor, value)
                return value
        self.forget(storage._cdata)
        return None


def version_of(tensor):
    return -1 if tensor.is_inference() else tensor._version


def as_assumed(value):
    """The value in the place of one that is not known."""
    if value.node is not None or value.storage is None:
        value.is_assumed = True
        return value
    made = Value(value.n_bytes)
    made.storage, made.host, made.is_assumed = value.storage, value.host, True
    return made


_ends_held = ctypes.create_string_buffer(8)
_ends = ctypes.addressof(_ends_held)


def known_to_card(tensor):
    """A Value of the bytes that the card knows itself: what the host copied there by no operator, and fills. None: it
    does not. Its first and last bytes are asked for first, since nearly all storages are unknown."""
    storage = tensor.untyped_storage()
    n = storage.nbytes()
    if n == 0 or n > (CARD_FLOATS if tensor.is_floating_point() else CARD_BYTES):
        return None
    address, few = storage.data_ptr(), min(8, n)
    if not (card.read(_ends, address, few) and card.read(_ends, address + n - few, few)):
        return None
    held = torch.UntypedStorage(n, device="cpu")
    if not card.read(held.data_ptr(), address, n):
        return None
    value = Value(n)
    value.storage = held
    return value
