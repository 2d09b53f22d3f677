"""A program's own use of PyTorch's memory history, printed: run alone and by `tidemark run` it must print the same.

The history contains what the program requested: nothing before its start, nothing once it is off, and a new one after
that.
"""
import torch

memory = torch.cuda.memory


def show(what):
    """The number and kinds of events, and which blocks have stacks."""
    found = memory._snapshot()
    events = [(e["action"], e["size"]) for e in found["device_traces"][0] if e["action"] != "snapshot"]
    stacks = [(b["requested_size"], bool(b["frames"])) for s in found["segments"] for b in s["blocks"]
              if b["state"] == "active_allocated"]
    print(what, events, stacks)


before = torch.zeros(10, device="cuda")
memory._record_memory_history(max_entries=1000)
first = torch.zeros(20, device="cuda")
show("on")
memory._record_memory_history(max_entries=1000)
second = torch.zeros(30, device="cuda")
show("on again")
memory._record_memory_history(enabled=None)
show("off")
unseen = torch.zeros(40, device="cuda")
show("still off")
memory._record_memory_history(max_entries=2)
third = torch.zeros(50, device="cuda")
del first, third
show("on once more, for two events")
