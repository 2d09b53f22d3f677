"""What writes on the card by no operator: generated kernels (Triton, torch.compile) and replays of graphs.

The card keeps the addresses that such kernels were given in a ring, without those that a kernel is known only to read. What
is there becomes unknown, and nothing else.
"""
import weakref

import torch

from .. import card


class Unseen:
    def __init__(self, engine):
        self.engine = engine
        self.n_generated = card.n_generated()
        self.n_reached = card.reached_since(0)[1]
        self.begun, self.of_graph = (weakref.WeakKeyDictionary() for _ in range(2))  # graph -> the ring's end, addresses of its kernels

    def forget(self):
        """Looks whether a generated kernel was launched since."""
        n = card.n_generated()
        if n != self.n_generated:
            self.n_generated = n
            addresses, self.n_reached = card.reached_since(self.n_reached)
            self._forget(addresses)

    def _forget(self, addresses):
        """None: the ring was too short, and anything may have been written."""
        if addresses is None:
            self.engine.forget_all()
        else:
            self.engine.forget_addresses(addresses)

    def watch_graphs(self):
        """A replay writes what the capture's kernels were given."""
        kind = torch.cuda.CUDAGraph
        begin, end, replay = kind.capture_begin, kind.capture_end, kind.replay

        def note_and_begin(graph, *args, **kwargs):
            self.begun[graph] = card.reached_since(self.n_reached)[1]
            self.engine.capturing(True)
            return begin(graph, *args, **kwargs)

        def end_and_note(graph):
            try:
                result = end(graph)
            finally:
                self.engine.capturing(False)
            self.of_graph[graph] = card.reached_since(self.begun.pop(graph, 0))[0]
            return result

        def forget_and_replay(graph):
            self._forget(self.of_graph.get(graph, ()))
            return replay(graph)

        kind.capture_begin, kind.capture_end, kind.replay = note_and_begin, end_and_note, forget_and_replay
