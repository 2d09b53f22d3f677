#!/usr/bin/env python3
"""Writes launch logs (common/run_launches.h) for the cases of the command line: make_launches.py FILE [guessed]

Three steps of a small model on one stream. With "guessed" a tenth of the kernels is not known.
"""
import struct
import sys

ROW = struct.Struct("<qQQQIIIIIIHBBBBBB")
TEXT, KERNEL, PRODUCT, WAIT_DEVICE, MARK = 1, 2, 3, 14, 15
OTHER, VECTORISED, SOFTMAX = 0, 1, 5
BF16 = 2
NONE = 0xFFFFFFFF


class Log:
    def __init__(self, path):
        self.file = open(path, "wb")
        self.file.write(struct.pack("<QII48s", 0x3175616C65646974, 64, 64, b"h100-80"))
        self.texts = {}
        self.ns = 1_000_000

    def row(self, kind, family=0, n_bytes=0, elements=0, shape=(0, 0, 0, 0), name=None, of_type=0, flags=0, us=10):
        number = self.text(name) if name else NONE
        self.file.write(ROW.pack(self.ns, 0, n_bytes, elements, *shape, number, 0, 0, kind, family, of_type, of_type,
                                 flags, 0))
        self.ns += us * 1000

    def text(self, text):
        if text not in self.texts:
            self.texts[text] = len(self.texts)
            data = text.encode()
            self.file.write(ROW.pack(0, 0, len(data), 0, 0, 0, 0, 0, 0, 0, 0, TEXT, 0, 0, 0, 0, 0))
            self.file.write(data + bytes(-len(data) % 64))
        return self.texts[text]

    def mark(self, text):
        self.row(MARK, name=text, us=0)


def layers(log, n, guessed):
    for i in range(n):
        log.row(PRODUCT, shape=(8192, 8192, 4096, 1), of_type=BF16, flags=1)
        log.row(KERNEL, VECTORISED, 3 * 8192 * 8192 * 2, 8192 * 8192, name="vectorized_elementwise_kernel<4, add>")
        log.row(KERNEL, SOFTMAX, 2 * 8192 * 8192 * 2, 8192 * 8192, name="softmax_warp_forward<float>")
        if guessed and i % 3 == 0:
            log.row(KERNEL, OTHER, 8 * 1024 * 1024, 1024 * 1024, name="a_kernel_of_the_users", flags=128)


def main():
    log = Log(sys.argv[1])
    guessed = sys.argv[2:] == ["guessed"]
    for _ in range(3):
        log.mark("step begins")
        layers(log, 4, guessed)
        log.mark("backward begins")
        layers(log, 8, guessed)
        log.mark("backward ends")
        log.mark("optimizer begins")
        log.row(KERNEL, VECTORISED, 1 << 30, 1 << 27, name="multi_tensor_apply_kernel<adam>")
        log.mark("step ends")
    log.mark("program ends")


main()
