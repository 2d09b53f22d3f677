"""Reads a launch log (common/run_launches.h)."""
import collections
import struct

KINDS = {2: "kernel", 3: "product", 4: "attention", 5: "convolution", 6: "copy", 7: "fill", 8: "collective"}
FAMILIES = ["unknown", "elementwise", "elementwise, casts", "elementwise, strided", "reduction", "softmax", "norm", "loss",
            "dropout", "gather", "scatter", "multi-tensor", "sort", "scan", "Triton", "library", "tidemark"]
ESTIMATED, GUESSED = 64, 128
TEXT = 1
Row = collections.namedtuple("Row", "kind family bytes elements name flags")


def rows(path):
    """The rows of kinds that take time on a card, in their order."""
    with open(path, "rb") as file:
        data = file.read()
    _, at, row_bytes = struct.unpack_from("<QII", data)
    names, found = [], []
    while at + row_bytes <= len(data):
        _, _, n_bytes, elements = struct.unpack_from("<qQQQ", data, at)
        name, _, _, kind, family, _, _, flags, _ = struct.unpack_from("<IIHBBBBBB", data, at + 48)
        at += row_bytes
        if kind == 0:
            break
        if kind == TEXT:
            names.append(data[at:at + n_bytes].rstrip(b"\0").decode())
            at += -(-n_bytes // row_bytes) * row_bytes
        elif kind in KINDS:
            text = names[name] if name < len(names) else ""
            found.append(Row(KINDS[kind], FAMILIES[family] if kind == 2 else "", n_bytes, elements, text, flags))
    return found
