#!/usr/bin/env python3
"""Writes a large snapshot in the form of PyTorch's pickles: the same opcodes, in the same order, at about 155 bytes an
event.

  make_pickle.py EVENTS FILE [--seed N]     (at least EVENTS: the last step is a whole one)

A training program of 24 layers: parameters that live before the recording, activations that live from the forward pass
to the backward pass, short-lived tensors in between, batches of four lengths. As in files of PyTorch's recorder, each
event is a dict of eight keys with a list of about 30 frames of its own, a free is two events that share one list, a
frame is written once and referred to afterwards, and everything that Python's pickler memoizes has its MEMOIZE. The
same arguments write the same bytes.
"""
import argparse
import itertools
import random
import struct

FRAME_BYTES = 1 << 16  # Python's pickler begins a frame of the file when it has as many bytes
BATCH = 1000  # items that Python's pickler appends at once
LAYERS = 24
OPERATORS = ("linear", "layer_norm", "matmul", "softmax", "gelu", "mul", "add", "silu")
MiB = 1 << 20
SEGMENT_BYTES = 20 * MiB
SMALL_SEGMENT_BYTES = 2 * MiB
SCRIPT = "/home/user/project/train.py"
MODEL = "/home/user/project/model.py"
TORCH = "/home/user/project/.venv/lib/python3.12/site-packages/torch"


class Pickle:
    """The opcodes of Python's pickler, protocol 4."""

    def __init__(self, path):
        self.file = open(path, "wb")
        self.file.write(b"\x80\x04")
        self.parts = []
        self.n_bytes = 0
        self.n_memo = 0

    def put(self, opcodes):
        self.parts.append(opcodes)
        self.n_bytes += len(opcodes)
        if self.n_bytes >= FRAME_BYTES:
            self.flush()

    def flush(self):
        self.file.write(b"\x95" + struct.pack("<Q", self.n_bytes))
        self.file.writelines(self.parts)
        self.parts = []
        self.n_bytes = 0

    def memoized(self, opcodes):
        """Writes what is memoized; returns the opcode that refers to it."""
        self.put(opcodes + b"\x94")
        self.n_memo += 1
        return reference(self.n_memo - 1)

    def text(self, text):
        data = text.encode()
        short = len(data) < 256
        return self.memoized((b"\x8c" + bytes([len(data)]) if short else b"X" + struct.pack("<I", len(data))) + data)

    def close(self):
        self.put(b".")
        self.flush()
        self.file.close()


def reference(number):
    return b"h" + bytes([number]) if number < 256 else b"j" + struct.pack("<I", number)


def integer(value):
    if 0 <= value < 256:
        return b"K" + bytes([value])
    if 0 <= value < 65536:
        return b"M" + struct.pack("<H", value)
    if -(1 << 31) <= value < 1 << 31:
        return b"J" + struct.pack("<i", value)
    n_bytes = (value.bit_length() >> 3) + 1
    return b"\x8a" + bytes([n_bytes]) + value.to_bytes(n_bytes, "little", signed=True)


class Memory:
    """Blocks by size: a released block serves the next request of its size, and a new one follows the last."""

    def __init__(self):
        self.segments = []
        self.open = {}  # of each pool: the segment with room after its last block
        self.free = {}  # size -> addresses

    def alloc(self, n_bytes):
        free = self.free.setdefault(n_bytes, [])
        if free:
            return free.pop()
        is_small = n_bytes <= MiB
        segment = self.open.get(is_small)
        if segment is None or segment["used"] + n_bytes > segment["size"]:
            size = SMALL_SEGMENT_BYTES if is_small else max(SEGMENT_BYTES, n_bytes)
            segment = {"address": 0x7F0000000000 + 64 * MiB * len(self.segments), "size": size, "used": 0, "blocks": []}
            segment["type"] = "small" if is_small else "large"
            self.segments.append(segment)
            self.open[is_small] = segment
        address = segment["address"] + segment["used"]
        segment["used"] += n_bytes
        segment["blocks"].append((address, n_bytes))
        return address

    def release(self, address, n_bytes):
        self.free[n_bytes].append(address)


def frames_of(layer, operator, backward):
    """The frames of a call, innermost first: (name, filename, line)."""
    inside = [(f"c10::cuda::CUDACachingAllocator::allocate_{i}(unsigned long)", "??", 0) for i in range(6)]
    name = OPERATORS[operator]
    inside += [(f"at::native::{name}_{i}(at::Tensor const&, at::Tensor const&)", "RegisterCUDA_0.cpp", 0) for i in range(8)]
    if backward:
        inside += [(f"torch::autograd::generated::{name}Backward0::apply_{i}()", "Functions.cpp", 0) for i in range(4)]
        return inside + [(f"torch::autograd::Engine::thread_{i}()", "??", 0) for i in range(6)] + [("__clone", "??", 0)]
    python = [(f"_call_impl_{i}", f"{TORCH}/nn/modules/module.py", 1775 + 11 * i) for i in range(2)]
    inside += [("forward", f"{TORCH}/nn/modules/{name}.py", 100 + operator), (name, MODEL, 40 + 7 * operator)]
    inside += python + [("forward", MODEL, 300 + layer)] + python
    inside += [("forward", MODEL, 520), ("train_step", SCRIPT, 88), ("main", SCRIPT, 141), ("<module>", SCRIPT, 150)]
    return inside + [(f"Py_RunMain_{i}", "??", 0) for i in range(9)]


class Program:
    """Steps of training, as calls of `event(action, address, bytes, stack)`."""

    def __init__(self, memory):
        self.memory = memory
        self.frames = [frames_of(*call) for call in itertools.product(range(LAYERS), range(len(OPERATORS)), (False, True))]
        self.parameters = [(memory.alloc(n), n) for n in [4 * MiB, 4 * MiB, 6144] * (2 * LAYERS)]

    def stack(self, layer, operator, backward):
        """The number of a call's stack; self.frames has its frames."""
        return (layer * len(OPERATORS) + operator) * 2 + backward

    def step(self, length, event):
        def alloc(n_bytes, stack):
            address = self.memory.alloc(n_bytes)
            event("alloc", address, n_bytes, stack)
            return address, n_bytes

        def free(block, stack):
            event("free_requested", *block, stack)
            event("free_completed", *block, stack)
            self.memory.release(*block)

        kept = []
        for layer in range(LAYERS):
            for operator in range(len(OPERATORS)):
                stack = self.stack(layer, operator, False)
                scratch = alloc(512 * (1 + operator), stack)
                kept.append((alloc(length * 8192 * (1 + operator % 3), stack), layer, operator))
                free(scratch, stack)
        for block, layer, operator in reversed(kept):
            stack = self.stack(layer, operator, True)
            gradient = alloc(block[1], stack)
            free(block, stack)
            free(gradient, stack)


LENGTHS = (128, 256, 384, 512)


class Snapshot:
    """The parts of a snapshot, written as Python would write its dicts and lists."""

    def __init__(self, path):
        self.pickle = Pickle(path)
        self.keys = {}  # (part, text) -> the opcode that refers to it
        self.frames = {}  # frame -> the same
        self.lists = {}  # stack -> the opcodes of its items, once all of them have been written

    def key(self, part, text):
        """A text in many dicts of this part, where it is one object."""
        if (part, text) in self.keys:
            self.pickle.put(self.keys[part, text])
        else:
            self.keys[part, text] = self.pickle.text(text)

    def begin(self, opcode):
        self.pickle.memoized(opcode)
        self.pickle.put(b"(")

    def values(self, part, values):
        """A dict; a value is a text of this part, or a number, or what writes it."""
        self.begin(b"}")
        for key, value in values.items():
            self.key(part, key)
            if callable(value):
                value()
            elif isinstance(value, str):
                self.key(part, value)
            else:
                self.pickle.put({False: b"\x89", True: b"\x88"}[value] if isinstance(value, bool) else integer(value))
        self.pickle.put(b"u")

    def items(self, items, write):
        """A list of more than one item."""
        self.pickle.memoized(b"]")
        for begin in range(0, len(items), BATCH):
            self.pickle.put(b"(")
            for item in items[begin : begin + BATCH]:
                write(item)
            self.pickle.put(b"e")

    def frame(self, frame):
        if frame in self.frames:
            self.pickle.put(self.frames[frame])
            return
        self.frames[frame] = reference(self.pickle.n_memo)
        name, filename, line = frame
        self.values("frames", {"name": name, "filename": filename, "line": line})

    def stack(self, number, frames):
        """A list of frames; returns the opcode that refers to it."""
        here = reference(self.pickle.n_memo)
        if number not in self.lists:
            self.items(frames, self.frame)
            self.lists[number] = b"(" + b"".join(self.frames[frame] for frame in frames) + b"e"
        else:
            self.pickle.memoized(b"]")
            self.pickle.put(self.lists[number])
        return here

    def segments(self, segments, program):
        alive = dict(program.parameters)

        def block(at):
            address, n_bytes = at
            state = "active_allocated" if address in alive else "inactive"
            values = {"address": address, "size": n_bytes, "requested_size": alive.get(address, 0), "state": state}
            # parameters are from before the recording, so they have no call stack either
            self.values("segments", {**values, "frames": lambda: self.pickle.memoized(b"]")})

        def segment(of):
            rest = of["size"] - of["used"]
            blocks = of["blocks"] + ([(of["address"] + of["used"], rest)] if rest else [])
            active = sum(alive.get(address, 0) for address, _ in blocks)
            values = {"device": 0, "address": of["address"], "total_size": of["size"], "allocated_size": active}
            values |= {"active_size": active, "requested_size": active, "stream": 0, "segment_type": of["type"]}
            values |= {"segment_pool_id": lambda: self.pickle.memoized(b"K\x00K\x00\x86"), "is_expandable": False}
            values |= {"frames": lambda: self.pickle.memoized(b"]"), "blocks": lambda: self.items(blocks, block)}
            self.values("segments", values)

        self.items(segments, segment)

    def traces(self, n_events, program, chance):
        """One device's trace: whole steps, at least n_events."""
        put = self.pickle.put
        written = 0
        time_us = 1783874495000000
        of_request = b""

        def event(action, address, n_bytes, stack):
            nonlocal written, time_us, of_request
            if written % BATCH == 0:
                put(b"e(" if written > 0 else b"(")
            written += 1
            time_us += chance.randrange(1, 40)
            self.begin(b"}")
            self.key("traces", "action")
            self.key("traces", action)
            self.key("traces", "addr")
            put(integer(address))
            self.key("traces", "size")
            put(integer(n_bytes))
            self.key("traces", "stream")
            put(b"K\x00")
            self.key("traces", "time_us")
            put(integer(time_us))
            self.key("traces", "compile_context")
            self.pickle.memoized(b"\x8c\x03N/A")  # a new text object each time
            self.key("traces", "user_metadata")
            self.key("traces", "")
            self.key("traces", "frames")
            if action == "free_completed":
                put(of_request)
            else:
                of_request = self.stack(stack, program.frames[stack])
            put(b"u")

        self.pickle.memoized(b"]")
        self.pickle.memoized(b"]")
        while written < n_events:
            program.step(chance.choice(LENGTHS), event)
        put(b"ea")


def write(path, n_events, seed):
    memory = Memory()
    program = Program(memory)
    for length in LENGTHS:  # the blocks that the steps will use
        program.step(length, lambda *_: None)
    out = Snapshot(path)
    out.begin(b"}")
    out.key("root", "segments")
    out.segments(memory.segments, program)
    out.key("root", "device_traces")
    out.traces(n_events, program, random.Random(seed))
    out.key("root", "allocator_settings")
    out.values("root", {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "expandable_segments": False})
    out.key("root", "external_annotations")
    out.pickle.memoized(b"]")
    out.pickle.put(b"u")
    out.pickle.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("events", type=int)
    parser.add_argument("file")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    write(given.file, given.events, given.seed)
