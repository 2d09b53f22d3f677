"""What one step of a launch log launches, a line each: eager_launches.py FILE.launches

The lists in tests/unit/model/eager/eager_launches are of the second step of ../plain_training.py's train(), with the
dimensions in their first line, recorded by `tidemark run --device virtual:h100-80 --launch-log FILE.launches`.
"""
import struct
import sys

FAMILIES = ["other", "vectorised", "casting", "strided", "reduction", "softmax", "norm", "loss", "dropout", "gather",
            "scatter", "multi-tensor", "sort"]
TYPES = ["fp32", "tf32", "bf16", "fp16"]
TEXT, KERNEL, PRODUCT, COPY, FILL, MARK = 1, 2, 3, 6, 7, 15


def rows(data):
    at = struct.unpack_from("<QI", data)[1]
    texts = []
    while at + 64 <= len(data):
        row = struct.unpack_from("<qQQQIIIIIIHBBBBBB", data, at)
        at += 64
        n_bytes, elements, m, n, k, count, name = row[2:9]
        kind, family, first, result, flags = row[11:16]
        if kind == 0:
            return
        if kind == TEXT:
            texts.append(data[at:at + n_bytes].decode())
            at += (n_bytes + 63) // 64 * 64
        elif kind == MARK:
            yield texts[name]
        elif kind == KERNEL:
            yield ("kernel", FAMILIES[family], n_bytes, elements)
        elif kind == PRODUCT:
            yield ("product", m, n, k, count, TYPES[first], TYPES[result], flags)
        elif kind in (COPY, FILL):
            yield ("copy" if kind == COPY else "fill", n_bytes)


def main():
    n_steps = 0
    for row in rows(open(sys.argv[1], "rb").read()):
        if row == "step begins":
            n_steps += 1
        elif row == "step ends" and n_steps == 2:
            return
        elif n_steps == 2 and not isinstance(row, str):
            print(*row)


main()
