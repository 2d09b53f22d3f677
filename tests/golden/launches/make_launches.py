#!/usr/bin/env python3
"""Writes launch logs (programs/wire/run_launches.h) for the cases of the command line, and first inputs of fuzz_launches:

    make_launches.py FILE              # three steps of a small model on one stream
    make_launches.py FILE guessed      # a tenth of the kernels is not known
    make_launches.py FILE one BYTES    # one step, in which a kernel that moves BYTES begins after 0.1 ms; the host ends it after 0.2
    make_launches.py FILE kinds        # rows of every kind, and a CUDA graph
    make_launches.py FILE nodes RANKS  # a step of one of 16 ranks, which ends with all-reduces of all and of so many ranks
"""
import struct
import sys

ROW = struct.Struct("<qQQQIIIIIIHBBBBBB")
(TEXT, KERNEL, PRODUCT, ATTENTION, CONVOLUTION, COPY, FILL, COLLECTIVE, GRAPH_LAUNCH, RECORD, STREAM_WAIT, WAIT_EVENT,
 WAIT_STREAM, WAIT_DEVICE, MARK) = range(1, 16)
OTHER, VECTORISED, SOFTMAX = 0, 1, 5
BF16 = 2
ALL_REDUCE = 5
NONE = 0xFFFFFFFF


class Log:
    def __init__(self, path):
        self.file = open(path, "wb")
        self.file.write(struct.pack("<QII48s", 0x3275616C65646974, 64, 64, b"h100-80"))
        self.texts = {}
        self.ns = 1_000_000

    def row(self, kind, family=0, n_bytes=0, elements=0, shape=(0, 0, 0, 0), name=None, of_type=0, flags=0, us=10, stream=0,
            graph=0):
        number = self.text(name) if name else NONE
        self.file.write(ROW.pack(self.ns, stream, n_bytes, elements, *shape, number, graph, 0, kind, family, of_type, of_type,
                                 flags, 0))
        self.ns += us * 1000

    def text(self, text):
        if text not in self.texts:
            self.texts[text] = len(self.texts)
            data = text.encode()
            self.file.write(ROW.pack(0, 0, len(data), 0, 0, 0, 0, 0, 0, 0, 0, TEXT, 0, 0, 0, 0, 0))
            self.file.write(data + bytes(-len(data) % 64))
        return self.texts[text]

    def mark(self, text, us=0):
        self.row(MARK, name=text, us=us)


def layers(log, n, guessed):
    for i in range(n):
        log.row(PRODUCT, shape=(8192, 8192, 4096, 1), of_type=BF16, flags=1)
        log.row(KERNEL, VECTORISED, 3 * 8192 * 8192 * 2, 8192 * 8192, name="vectorized_elementwise_kernel<4, add>")
        log.row(KERNEL, SOFTMAX, 2 * 8192 * 8192 * 2, 8192 * 8192, name="softmax_warp_forward<float>")
        if guessed and i % 3 == 0:
            log.row(KERNEL, OTHER, 8 * 1024 * 1024, 1024 * 1024, name="a_kernel_of_the_users", flags=128)


def steps(log, guessed):
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


def one_step(log, n_bytes):
    log.mark("step begins", us=100)
    log.row(KERNEL, VECTORISED, n_bytes, name="kernel", us=100)
    log.mark("step ends")
    log.mark("program ends")


def kinds(log):
    captured, graph = 32, 1
    for family in range(19):
        log.row(KERNEL, family, 1 << 20, 1 << 18, name=f"kernel{family}", flags=captured, graph=graph)
    for step in range(2):
        log.mark("step begins")
        for of_type in range(11):
            for kind in PRODUCT, ATTENTION, CONVOLUTION:
                log.row(kind, shape=(256, 512, 64, 2), of_type=of_type, flags=step * 8, stream=step)
        for family in range(5):
            log.row(COPY, family, 1 << 20, flags=16 * step)
        log.row(FILL, n_bytes=1 << 20)
        for family in range(10):
            log.row(COLLECTIVE, family, 1 << 20, elements=7, shape=(0, 1, 0, 2), stream=2)
        log.row(GRAPH_LAUNCH, graph=graph, stream=1)
        log.row(RECORD, n_bytes=1, stream=1)
        log.row(STREAM_WAIT, n_bytes=1, stream=2)
        log.row(WAIT_EVENT, n_bytes=1)
        log.row(WAIT_STREAM, stream=2)
        log.row(WAIT_DEVICE)
        log.mark("step ends")
    log.mark("program ends")


def nodes(log, n_ranks):
    log.mark("step begins")
    layers(log, 4, False)
    for n in 16, n_ranks:
        log.row(COLLECTIVE, ALL_REDUCE, 1 << 28, elements=n, shape=(0, 0, 0, n))
    log.mark("step ends")
    log.mark("program ends")


def main():
    log = Log(sys.argv[1])
    kind = sys.argv[2] if len(sys.argv) > 2 else ""
    if kind == "one":
        one_step(log, int(sys.argv[3]))
    elif kind == "nodes":
        nodes(log, int(sys.argv[3]))
    elif kind == "kinds":
        kinds(log)
    else:
        steps(log, kind == "guessed")


main()
