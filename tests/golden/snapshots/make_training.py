#!/usr/bin/env python3
"""Writes a snapshot of a made training run, as PyTorch writes them, on stdout.

    make_training.py [leak] [annotated] [oom] [fragmented] [bare] [python] >training.pickle

Six steps of two layers with AdamW on one device: parameters from before the recording, activations that the backward pass
releases, gradients that the next step releases, optimizer state from the first step on.

leak        each step keeps 6 MiB more, at metrics.py:17
annotated   the optimizer's step and the profiler's steps are annotated
oom         after the steps a request of 64 MiB finds 8 MiB on the device
fragmented  with oom: what the last step has released would be enough, but it is in pieces
bare        no history: only the segments at the end
python      call stacks without the frames of C++, as stacks="python" records them
"""
import pickle
import sys

MIB = 1 << 20
BASE = 0x7F0000000000
SEGMENT = 1 << 30
PACKAGES = "/opt/venv/lib/python3.11/site-packages/"


def frame(name, file="", line=0):
    return {"name": name, "filename": file, "line": line}


ALLOCATOR = [frame("torch::unwind::unwind()"), frame("c10::cuda::CUDACachingAllocator::Native::malloc(void**)"),
             frame("at::empty(c10::ArrayRef<long>)")]
CALL = frame("_call_impl", PACKAGES + "torch/nn/modules/module.py", 1750)
def train(line):
    return [frame("train", "/home/me/train.py", line), frame("<module>", "/home/me/train.py", 50)]


MAIN = train(30)
ENGINE = [frame("torch::autograd::Engine::thread_main(std::shared_ptr<void>)"), frame("clone")]


def forward(line):
    return [frame("linear", PACKAGES + "torch/nn/functional.py", 125), frame("forward", "/home/me/model.py", line), CALL,
            frame("forward", "/home/me/model.py", 40), CALL] + MAIN


class Run:
    def __init__(self, words):
        self.words, self.trace, self.notes = words, [], []
        self.live, self.next, self.time = {}, BASE, 1000
        self.gaps = []  # (address, bytes), by address

    def frames(self, frames):
        """Threads of autograd have no frames of Python's."""
        return [f for f in frames if f["filename"]] if "python" in self.words else ALLOCATOR + frames

    def row(self, action, address, size, frames, **more):
        self.time += 10
        self.trace.append({"action": action, "addr": address, "size": size, "stream": 0, "time_us": self.time,
                           "frames": self.frames(frames), **more})

    def place(self, size):
        """The first gap that is large enough, or the space after all blocks."""
        for i, (address, n_bytes) in enumerate(self.gaps):
            if n_bytes >= size:
                self.gaps[i:i + 1] = [(address + size, n_bytes - size)] if n_bytes > size else []
                return address
        address, self.next = self.next, self.next + size
        return address

    def give_back(self, address, size):
        gaps = sorted(self.gaps + [(address, size)])
        self.gaps = gaps[:1]
        for at, n_bytes in gaps[1:]:
            last, n_last = self.gaps[-1]
            if last + n_last == at:
                self.gaps[-1] = (last, n_last + n_bytes)
            else:
                self.gaps.append((at, n_bytes))

    def take(self, size, frames, is_older=False):
        address = self.place(size)
        self.live[address] = (size, [] if is_older else self.frames(frames))
        if not is_older:
            self.row("alloc", address, size, frames)
        return address

    def drop(self, address, frames):
        size, _ = self.live.pop(address)
        self.row("free_requested", address, size, frames)
        self.row("free_completed", address, size, frames)
        self.give_back(address, size)

    def note(self, name, stage):
        self.time += 1
        if "annotated" in self.words:
            self.notes.append({"stage": stage, "name": name, "device": 0, "time_us": self.time})

    def backward(self, activations):
        """The gradients, in the order of the layers."""
        gradients = []
        for layer in (1, 0):
            temporary = self.take(2 * MIB, [frame("torch::autograd::generated::AddmmBackward0::apply(int)")] + ENGINE)
            gradients.append(self.take(8 * MIB, [frame("torch::autograd::AccumulateGrad::apply(int)")] + ENGINE))
            for address in activations[2 * layer:2 * layer + 2]:
                self.drop(address, ENGINE)
            self.drop(temporary, ENGINE)
        return gradients

    def optimizer(self, is_first):
        step = [frame("step", PACKAGES + "torch/optim/adamw.py", 220),
                frame("wrapper", PACKAGES + "torch/optim/optimizer.py", 493)] + train(31)
        self.note("Optimizer.step#AdamW.step", "START")
        if is_first:
            for _ in range(4):
                self.take(8 * MIB, [frame("_init_group", PACKAGES + "torch/optim/adamw.py", 160)] + step)
        scratch = self.take(4 * MIB, step)
        self.drop(scratch, step)
        self.note("Optimizer.step#AdamW.step", "END")

    def step(self, number, older):
        """Releases the gradients of the step before; returns those of this one."""
        self.note(f"ProfilerStep#{number}", "START")
        for address in older:
            self.drop(address, [frame("zero_grad", PACKAGES + "torch/optim/optimizer.py", 990)] + MAIN)
        activations = [self.take(size * MIB, forward(20 + size)) for _ in range(2) for size in (4, 2)]
        loss = self.take(2 * MIB, [frame("cross_entropy", PACKAGES + "torch/nn/functional.py", 3104)] + MAIN)
        gradients = self.backward(activations)
        self.drop(loss, ENGINE)
        self.optimizer(number == 0)
        if "leak" in self.words:
            self.take(6 * MIB, [frame("append_loss", "/home/me/metrics.py", 17)] + train(32))
        self.note(f"ProfilerStep#{number}", "END")
        return gradients

    def fail(self):
        """64 MiB, of which less is free in all; `fragmented`: of which each gap has less."""
        gaps = []
        if "fragmented" in self.words:
            for _ in range(6):
                gaps.append(self.take(16 * MIB, forward(24)))
                self.take(20 * MIB, forward(22))
            for address in gaps:
                self.drop(address, forward(24))
        self.row("oom", 0, 64 * MIB, [frame("sample", "/home/me/eval.py", 9)] + MAIN, device_free=8 * MIB)

    def segment(self):
        size = SEGMENT if "oom" not in self.words else self.next - BASE
        blocks, at = [], BASE
        for address, (n_bytes, frames) in sorted(self.live.items()):
            if address > at:
                blocks.append({"address": at, "size": address - at, "requested_size": 0, "state": "inactive", "frames": []})
            blocks.append({"address": address, "size": n_bytes, "requested_size": n_bytes, "state": "active_allocated",
                           "frames": frames})
            at = address + n_bytes
        if at < BASE + size:
            blocks.append({"address": at, "size": BASE + size - at, "requested_size": 0, "state": "inactive", "frames": []})
        used = sum(n_bytes for n_bytes, _ in self.live.values())
        return {"address": BASE, "total_size": size, "stream": 0, "device": 0, "segment_type": "large",
                "allocated_size": used, "active_size": used, "blocks": blocks}


def main():
    run = Run(set(sys.argv[1:]))
    for _ in range(2):
        run.take(8 * MIB, [], is_older=True)
    gradients = []
    for number in range(6):
        gradients = run.step(number, gradients)
    if "oom" in run.words:
        run.fail()
    document = {"segments": [run.segment()], "device_traces": [[] if "bare" in run.words else run.trace],
                "allocator_settings": {}, "external_annotations": run.notes}
    sys.stdout.buffer.write(pickle.dumps(document, protocol=4))


if __name__ == "__main__":
    main()
