"""Preserves the program's own use of PyTorch's memory history.

PyTorch has one history. Ours is on from the first allocation, and must stay on. A program that
records a history itself must still get its own part: its calls are answered from ours, cut to the
part between its own start and stop.
"""
import sys


class Window:
    """The part of the history that the program requested."""

    def __init__(self):
        self.begins = None  # entries of each device's trace before it; None: nothing was requested
        self.stacked = set()  # addresses of blocks that were recorded before the history was switched off
        self.max_entries = sys.maxsize
        self.context = "all"

    def cut(self, snapshot):
        """The snapshot that the program would have got."""
        alive = set(self.stacked)
        for device, trace in enumerate(snapshot["device_traces"]):
            trace[:] = self._cut_trace(device, trace)
            alive.update(entry["addr"] for entry in trace if entry["action"] == "alloc")
        for segment in snapshot["segments"]:
            for block in segment["blocks"]:
                address = block.get("address")
                if address is not None and address not in alive and "frames" in block:
                    block["frames"] = []  # it was allocated before
        return snapshot

    def _cut_trace(self, device, trace):
        if self.begins is None or self.max_entries == 0:
            return []
        first = self.begins[device] if device < len(self.begins) else 0
        kept = trace[first:][-self.max_entries :]
        if self.context != "all":
            for entry in kept:
                if self.context is None or self.context == "state" or entry["action"] != "alloc":
                    entry["frames"] = []
        return kept


class _WithoutCompiler:
    """Within `with`, PyTorch does not ask its compiler which lines compiled code comes from.

    It would import the compiler for that, which takes more than a second. If the compiler is not
    loaded, nothing was compiled.
    """

    def __init__(self, torch):
        self.names = torch.__dict__
        self.is_hidden = "torch._inductor" not in sys.modules and "_inductor" not in self.names

    def __enter__(self):
        if self.is_hidden:
            self.names["_inductor"] = None

    def __exit__(self, *_):
        if self.is_hidden and self.names["_inductor"] is None:  # else another thread has imported it
            del self.names["_inductor"]


def share(torch, begin_ours):
    """Begins our history, and answers the program's calls from it.

    begin_ours: called with PyTorch's function that switches the history on, and optionally stacks.
    Returns a function without arguments that returns PyTorch's whole snapshot.
    """
    memory = torch.cuda.memory
    switch = memory._record_memory_history_impl
    look = torch._C._cuda_memorySnapshot
    window = Window()
    begin_ours(switch)

    def whole():
        with _WithoutCompiler(torch):
            try:
                found = look(None)
            except TypeError:  # before PyTorch 2.7 it took no argument
                found = look()
        for trace in found["device_traces"]:
            if trace and trace[-1]["action"] == "snapshot":
                trace.pop()  # this look; the next one finds it in its place
        return found

    def lengths():
        return [len(trace) + 1 for trace in whole()["device_traces"]]  # and the entry that this look leaves

    def record(enabled="all", context="all", stacks="all", max_entries=sys.maxsize, *rest, **named):
        if enabled is None:  # PyTorch forgets the events, but not the stacks of blocks
            window.stacked = {entry["addr"] for trace in window.cut(whole())["device_traces"] for entry in trace
                              if entry["action"] == "alloc"} | window.stacked
            window.begins = None
            return
        clears = named.get("clear_history", rest[1] if len(rest) > 1 else False)
        if window.begins is None or clears:
            window.begins = lengths()
        window.max_entries = max_entries if enabled == "all" else 0
        window.context = context
        if stacks == "all" and context is not None:
            begin_ours(switch, stacks="all")

    def record_old(enabled, record_context=True, trace_alloc_max_entries=1, *rest, **named):
        record("all" if enabled else None, max_entries=trace_alloc_max_entries)

    def snapshot(*arguments):
        found = look(*arguments)
        return window.cut(found) if "device_traces" in found else found

    memory._record_memory_history_impl = record
    if hasattr(memory, "_record_memory_history_legacy"):
        memory._record_memory_history_legacy = record_old
    torch._C._cuda_memorySnapshot = snapshot
    return whole
