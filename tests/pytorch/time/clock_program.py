"""What a program sees of a forecast's clock: check_clock.py compares it with the forecast. Prints one line of JSON."""
import asyncio
import json
import multiprocessing
import queue
import select
import socket
import threading
import time

import torch
from torch.utils.data import DataLoader

N_PRODUCTS, N_TIMES = 20, 5
SPAN_S = 0.1


def timed(a, b, out):
    """A loop of products on every clock: ms."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    clocks = (time.perf_counter, time.monotonic, time.time)
    began = [clock() for clock in clocks]
    begin.record()
    for _ in range(N_PRODUCTS):
        torch.mm(a, b, out=out)
    end.record()
    issued = time.perf_counter() - began[0]
    torch.cuda.synchronize()
    passed = [1e3 * (clock() - at) for clock, at in zip(clocks, began)]
    return {"event": begin.elapsed_time(end), "issued": 1e3 * issued, "perf_counter": passed[0], "monotonic": passed[1],
            "time": passed[2]}


def graphed(a, b, out):
    """Returns how many ms a loop of products inside a graph takes at each launch, by events that are nodes of the graph, and
    whether an event that is none of its nodes can be timed."""
    begin, end = (torch.cuda.Event(enable_timing=True, external=True) for _ in range(2))
    place = torch.cuda.Event(enable_timing=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.mm(a, b, out=out)
        begin.record()
        for _ in range(N_PRODUCTS):
            torch.mm(a, b, out=out)
        end.record()
        place.record()
        torch.mm(a, b, out=out)
    took = []
    for _ in range(2):
        graph.replay()
        torch.cuda.synchronize()
        took.append(begin.elapsed_time(end))
    try:
        place.elapsed_time(end)
        return took, True
    except RuntimeError:
        return took, False


def go_ahead(a, b, out):
    """The program's clock is minutes ahead of the real one: a wait by the wrong clock takes minutes."""
    for _ in range(10000):  # each some 23 ms of the card
        torch.mm(a, b, out=out)
    torch.cuda.synchronize()


def waits():
    """How long each kind of waiting took on the program's clock, in seconds."""
    took = {}

    def wait(name, function):
        began = time.monotonic()
        function()
        took[name] = time.monotonic() - began

    def get(of):
        try:
            of.get(timeout=SPAN_S)
        except queue.Empty:
            pass

    def condition():
        of = threading.Condition()
        with of:
            of.wait(SPAN_S)

    def receive():
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.settimeout(SPAN_S)
            try:
                ours.recv(1)
            except TimeoutError:
                pass

    wait("Event.wait", lambda: threading.Event().wait(SPAN_S))
    wait("sleep", lambda: time.sleep(SPAN_S))
    wait("select", lambda: select.select([], [], [], SPAN_S))
    wait("socket.recv", receive)
    wait("Queue.get", lambda: get(queue.Queue()))
    wait("multiprocessing.Queue.get", lambda: get(multiprocessing.Queue()))
    wait("asyncio.sleep", lambda: asyncio.run(asyncio.sleep(SPAN_S)))
    wait("Condition.wait", condition)
    wait("Lock.acquire", lambda: [lock.acquire() and lock.acquire(timeout=SPAN_S) for lock in [threading.Lock()]])
    return took


def wakes():
    """A thread that is woken does not wait until the end."""
    event = threading.Event()
    threading.Timer(SPAN_S, event.set).start()
    return event.wait(60.0)


def loaded():
    """Workers of a DataLoader, each in a process of its own, are waited for with a time."""
    return sum(int(batch.sum()) for batch in DataLoader(list(range(32)), batch_size=4, num_workers=2, timeout=60))


def polled(a, b, out):
    """A loop that asks whether an event is complete ends."""
    event = torch.cuda.Event()
    torch.mm(a, b, out=out)
    event.record()
    while not event.query():
        pass
    return True


if __name__ == "__main__":
    torch.backends.cuda.matmul.allow_tf32 = False
    a, b, out = (torch.ones(8192, 8192, device="cuda") for _ in range(3))
    torch.mm(a, b, out=out)
    torch.cuda.synchronize()
    loops = [timed(a, b, out) for _ in range(N_TIMES)]
    go_ahead(a, b, out)
    print(json.dumps({"n_products": N_PRODUCTS, "loops": loops, "waits": waits(), "wakes": wakes(), "loaded": loaded(), "graphed": graphed(a, b, out),
                      "polled": polled(a, b, out)}), flush=True)
