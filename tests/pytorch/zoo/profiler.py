"""torch.profiler with the card's activities, its trace and its memory, ranges of NVTX, and the old profiler.

The card's times are not there, because nothing runs. What the host did is: 2 calls of aten::linear in the first profile, and
the memory that the profile saw, 64 x 256 float32 for the output of each, 65,536 bytes.
"""
import json

import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule

layer = torch.nn.Linear(256, 256).cuda()
batch = torch.randn(64, 256, device="cuda")
layer(batch)
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True, profile_memory=True, with_stack=True) as profiled:
    with record_function("mine"), torch.no_grad():
        outputs = [layer(batch) for _ in range(2)]
events = {event.key: event for event in profiled.key_averages()}
print(f"calls of linear: {events['aten::linear'].count}")
print(f"memory of linear: {events['aten::linear'].device_memory_usage}")
print(f"ranges: {events['mine'].count}")
print("a table with", "aten::linear" in profiled.key_averages().table(sort_by="cpu_time_total"))
profiled.export_chrome_trace("trace.json")
with open("trace.json", errors="replace") as file:  # PyTorch 2.6 writes names of functions that are gone already
    print("a trace of", "traceEvents" in json.load(file))
kept = []
with profile(schedule=schedule(wait=1, warmup=1, active=2), on_trace_ready=kept.append) as profiled:
    for step in range(5):
        layer(batch).sum().backward()
        profiled.step()
print(f"cycles: {len(kept)}")
with torch.autograd.profiler.emit_nvtx():
    layer(batch)
torch.cuda.nvtx.range_push("range")
torch.cuda.nvtx.range_pop()
torch.cuda.profiler.start()
torch.cuda.profiler.stop()
