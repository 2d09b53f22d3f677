"""Reads a launch log, PID.launches of a run's folder (programs/wire/run_launches.h), without the code that wrote it."""
import struct
from collections import namedtuple

KINDS = ["none", "text", "kernel", "product", "attention", "convolution", "copy", "fill", "collective", "graph launch",
         "record", "stream wait", "wait event", "wait stream", "wait device", "mark"]
FAMILIES = ["other", "vectorised", "casting", "strided", "reduction", "softmax", "norm", "loss", "dropout", "gather", "scatter",
            "multi-tensor", "sort", "scan", "generated", "library", "own", "attention, parts",
            "depthwise", "own rows", "fourier", "quantized"]
COPIES = ["on the host", "to the card", "from the card", "on the card", "between cards"]
TYPES = ["fp32", "tf32", "bf16", "fp16", "fp64", "fp8", "int8", "complex64", "complex128", "int32", "fp4"]
TRANSPOSED_A, TRANSPOSED_B, CAUSAL, BACKWARD, WAITS, CAPTURED, ESTIMATED, GUESSED = (1 << i for i in range(8))

HEADER = struct.Struct("<Q2I48s")
ROW = struct.Struct("<q3Q6IH6B")
MAGIC = int.from_bytes(b"tidelau2", "little")
Row = namedtuple("Row", "host_ns stream bytes elements m n k count name graph thread kind family type out_type flags device")


def read(path):
    """(the card's name, the rows); a row's kind and name are texts."""
    with open(path, "rb") as file:
        data = file.read()
    magic, header_bytes, row_bytes, card = HEADER.unpack_from(data)
    assert magic == MAGIC and row_bytes == ROW.size and header_bytes == HEADER.size, f"{path} is no launch log"
    rows, texts, at = [], [], header_bytes
    while at + row_bytes <= len(data):
        row = Row(*ROW.unpack_from(data, at))
        at += row_bytes
        if row.kind == 0:
            break
        if KINDS[row.kind] == "text":
            texts.append(data[at:at + row.bytes].decode())
            at += (row.bytes + row_bytes - 1) // row_bytes * row_bytes
            continue
        name = texts[row.name] if row.name != 0xFFFFFFFF else ""
        rows.append(row._replace(kind=KINDS[row.kind], name=name))
    return card.rstrip(b"\0").decode(), rows
