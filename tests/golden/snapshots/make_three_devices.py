#!/usr/bin/env python3
"""Writes three-devices.pickle: a snapshot as PyTorch writes them, of three devices of which two run out of memory.

    make_three_devices.py >three-devices.pickle

Device 0 has all the memory that it asks for. Device 1 has 90 MiB: blocks of 8 MiB are two by two in segments of 20 MiB,
and the ninth finds no room, which it would with expandable segments. Device 2 has 30 MiB, and its last request of 50
MiB has no room under any settings.
"""
import pickle
import sys

MIB = 1 << 20


class Device:
    """Its trace, as the allocator of PyTorch would write it, and the segments at the end."""

    def __init__(self, number, limit):
        self.number, self.free = number, limit
        self.trace, self.segments = [], []
        self.at = 0x700000000000 + number * (1 << 36)

    def row(self, action, address, size, **more):
        self.trace.append({"action": action, "addr": address, "size": size, "stream": 0, "time_us": 1000 + len(self.trace),
                           "frames": [{"name": "step", "filename": "train.py", "line": 7}], **more})

    def buy(self, size):
        self.row("segment_alloc", self.at, size)
        self.segments.append({"address": self.at, "total_size": size, "stream": 0, "device": self.number,
                              "segment_type": "large", "allocated_size": 0, "active_size": 0, "blocks": []})
        self.at += 64 * MIB
        self.free -= size

    def take(self, size):
        """A block after those of the last segment."""
        segment = self.segments[-1]
        address = segment["address"] + segment["allocated_size"]
        self.row("alloc", address, size)
        segment["blocks"].append({"address": address, "size": size, "requested_size": size, "state": "active_allocated",
                                  "frames": []})
        segment["allocated_size"] += size
        segment["active_size"] += size

    def fail(self, size):
        self.row("oom", 0, size, device_free=self.free)

    def finish(self):
        for segment in self.segments:
            left = segment["total_size"] - segment["allocated_size"]
            if left > 0:
                segment["blocks"].append({"address": segment["address"] + segment["allocated_size"], "size": left,
                                          "requested_size": 0, "state": "inactive", "frames": []})


def main():
    devices = [Device(0, 1024 * MIB), Device(1, 90 * MIB), Device(2, 30 * MIB)]
    for device, n_pairs in zip(devices, (3, 4, 1)):
        for _ in range(n_pairs):
            device.buy(20 * MIB)
            device.take(8 * MIB)
            device.take(8 * MIB)
    devices[1].fail(8 * MIB)
    devices[2].fail(50 * MIB)
    for device in devices:
        device.finish()
    document = {
        "segments": [segment for device in devices for segment in device.segments],
        "device_traces": [device.trace for device in devices],
        "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0,
                               "expandable_segments": False, "roundup_power2_divisions": {}},
    }
    sys.stdout.buffer.write(pickle.dumps(document, protocol=4))


if __name__ == "__main__":
    main()
