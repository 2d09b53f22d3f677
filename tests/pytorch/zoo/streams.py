"""Streams, events, copies that do not wait, pinned memory, saved tensors on the host, saving and loading,
recomputation.

A tensor of 4 MiB made on a side stream and used on the main one keeps its block until that use is over (record_stream).
Everything completes immediately here, so after a synchronisation nothing is pending and the block can be used again.
"""
import os
import tempfile

import torch
from torch.utils.checkpoint import checkpoint

MIB = 1 << 20
side = torch.cuda.Stream()
start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
start.record()
with torch.cuda.stream(side):
    first = torch.empty(MIB, device="cuda")
    first.record_stream(torch.cuda.current_stream())
    first.fill_(1)
torch.cuda.current_stream().wait_stream(side)
first.record_stream(torch.cuda.default_stream())
address = first.data_ptr()
del first
end.record()
end.synchronize()
print("time passes", start.elapsed_time(end) >= 0, end.query(), side.query())
torch.cuda.synchronize()
with torch.cuda.stream(side):
    second = torch.empty(MIB, device="cuda")
print("the block is used again", second.data_ptr() == address)
print(f"allocated: {torch.cuda.memory_allocated()}")

pinned = torch.arange(10.0).pin_memory()
there = pinned.cuda(non_blocking=True)
torch.cuda.synchronize()
print("pinned", pinned.is_pinned(), not there.is_pinned(), there.cpu().is_pinned())

layers = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(4))).cuda()
x = torch.randn(8, 512, device="cuda", requires_grad=True)
for reentrant in (False, True):
    checkpoint(layers, x, use_reentrant=reentrant).sum().backward()
with torch.autograd.graph.save_on_cpu(pin_memory=True):
    layers(x).sum().backward()
file = os.path.join(tempfile.mkdtemp(), "model.pt")
torch.save(layers.state_dict(), file)
loaded = torch.load(file)
layers.load_state_dict(loaded)
print("loaded on", {t.device.type for t in loaded.values()}, {t.device.type for t in torch.load(file, map_location="cpu").values()})
print(f"bytes loaded: {sum(t.nbytes for t in loaded.values())}")

torch.cuda.memory._record_memory_history()
kept = torch.randn(1000, device="cuda")
snapshot = torch.cuda.memory._snapshot()
torch.cuda.memory._record_memory_history(enabled=None)
print("history", [event["action"] for event in snapshot["device_traces"][0]][-1:], len(snapshot["segments"]) > 0)
print("summary", "allocated" in torch.cuda.memory_summary().lower())
