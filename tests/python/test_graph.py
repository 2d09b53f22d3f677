#!/usr/bin/env python3
"""Checks the names that autograd's graph gives: test_graph.py PACKAGES

Tensors and nodes are stand-ins with the methods of PyTorch's that the walk uses; without PyTorch there are no others.
tests/pytorch/names checks the walk of real graphs.
"""
import os
import sys
import unittest
import unittest.mock

PACKAGES = os.path.abspath(sys.argv[1])
sys.path.insert(0, PACKAGES)

from tidemark import graph  # noqa: E402


class Type:
    def __init__(self, name, n_bytes):
        self.name, self.itemsize = name, n_bytes

    def __repr__(self):
        return "torch." + self.name


FLOAT, INT64 = Type("float32", 4), Type("int64", 8)


class Storage:
    def __init__(self, address, n_bytes):
        self.address, self.n_bytes = address, n_bytes

    def data_ptr(self):
        return self.address

    def nbytes(self):
        return self.n_bytes


class Tensor:
    is_cuda = True

    class device:
        index = 0

    def __init__(self, address, *shape, dtype=FLOAT, n_bytes=None, grad_fn=None):
        n = dtype.itemsize
        for size in shape:
            n *= size
        self.storage = Storage(address, n if n_bytes is None else n_bytes)
        self.shape, self.dtype, self.grad_fn, self.output_nr = shape, dtype, grad_fn, 0

    def untyped_storage(self):
        return self.storage


class Made:
    """What a node knows of its result."""

    def __init__(self, *shape, dtype=FLOAT, kind="cuda"):
        self.shape, self.dtype = shape, dtype
        self.device = type("device", (), {"type": kind, "index": 0})


class Saved:
    def __init__(self, data):
        self.data = data


def node(name, following=(), made=(), **kept):
    """kept: what the node saved; an exception is raised."""

    class Node:
        next_functions = tuple(item if isinstance(item, tuple) else (item, 0) for item in following)
        _input_metadata = made

        def name(self):
            return name

    for key, value in kept.items():
        def get(_, value=value):
            if isinstance(value, Exception):
                raise value
            return [Saved(part) for part in value] if isinstance(value, list) else Saved(value)

        setattr(Node, "_raw_saved_" + key, property(get))
    return Node()


def names(*roots):
    return {address: name for address, (_, _, name) in graph.read(roots)[0].items()}


LEAF = node("torch::autograd::AccumulateGrad")


class Graph(unittest.TestCase):
    def test_results_have_the_name_of_their_operator(self):
        softmax = node("SoftmaxBackward0", [LEAF], result=Tensor(0x100, 2, 3))
        norm = node("NativeLayerNormBackward0", [softmax], result1=Tensor(0x200, 2), result2=Tensor(0x300, 2))
        self.assertEqual(names(Tensor(0x400, 2, 3, grad_fn=norm)), {
            0x100: "softmax [2, 3] float32", 0x200: "native_layer_norm.result1 [2] float32",
            0x300: "native_layer_norm.result2 [2] float32", 0x400: "native_layer_norm [2, 3] float32"})

    def test_operators_are_written_as_in_pytorch(self):
        for name, operator in {"LogSoftmaxBackward0": "log_softmax", "MaxPool2DWithIndicesBackward0": "max_pool2d_with_indices",
                               "Log1PBackward0": "log1p", "CudnnRnnBackward0": "cudnn_rnn", "MulBackward1": "mul",
                               "torch::autograd::CopySlices": "copy_slices", "ToCopyBackward0": "to_copy"}.items():
            self.assertEqual(graph.operator_of(node(name)), operator)

    def test_arguments_have_the_name_of_what_made_them(self):
        linear = node("AddmmBackward0", [LEAF, LEAF, node("TBackward0", [LEAF])], [Made(6, 4)], mat1=Tensor(0x50, 6, 2))
        view = node("ViewBackward0", [linear])
        gelu = node("GeluBackward0", [view], self=Tensor(0x100, 2, 3, 4))
        found = names(Tensor(0x200, 2, 3, 4, grad_fn=gelu))
        self.assertEqual(found[0x100], "addmm [6, 4] float32")
        self.assertEqual(found[0x50], "argument of addmm [6, 2] float32")

    def test_a_part_of_a_block_has_the_shape_of_the_block(self):
        linear = node("AddmmBackward0", [None], [Made(4, 12)])
        split = node("SplitBackward0", [linear])
        attention = node("ScaledDotProductFlashAttentionBackward0", [(split, 0), (split, 1), (split, 2)],
                         query=Tensor(0x100, 4, 4, n_bytes=192), key=Tensor(0x100, 4, 4, n_bytes=192))
        found = names(Tensor(0x200, 4, 4, grad_fn=attention))
        self.assertEqual(found[0x100], "addmm [4, 12] float32")
        lone = node("MulBackward0", [None, None], other=Tensor(0x100, 4, 4, n_bytes=192))
        self.assertEqual(names(Tensor(0x200, 4, 4, grad_fn=lone))[0x100], "argument of mul")

    def test_a_constant_does_not_have_the_name_of_the_other_argument(self):
        exp = node("ExpBackward0", [LEAF], [Made(2)])
        times = node("MulBackward0", [exp, None], other=Tensor(0x100, 2), self=None)
        self.assertEqual(names(Tensor(0x200, 2, grad_fn=times))[0x100], "argument of mul [2] float32")

    def test_other_arguments_are_named_by_their_use(self):
        loss = node("NllLossBackward0", [LEAF], target=Tensor(0x100, 7, dtype=INT64), total_weight=Tensor(0x200))
        self.assertEqual(names(Tensor(0x300, grad_fn=loss)), {
            0x100: "target of nll_loss [7] int64", 0x200: "nll_loss.total_weight [] float32",
            0x300: "nll_loss [] float32"})

    def test_a_function_of_the_program_keeps_its_name(self):
        own = node("MyNormBackward", [LEAF], tensors=[Tensor(0x100, 2), Tensor(0x200, 3)])
        self.assertEqual(names(Tensor(0x300, 2, grad_fn=own)), {
            0x100: "tensors of MyNorm [2] float32", 0x200: "tensors of MyNorm [3] float32", 0x300: "MyNorm [2] float32"})

    def test_what_hooks_keep_and_freed_graphs_have_no_name(self):
        hooked = node("ExpBackward0", [LEAF], result=("packed", 1))
        freed = node("SinBackward0", [hooked], self=RuntimeError("freed"))
        self.assertEqual(names(Tensor(0x300, 2, grad_fn=freed)), {0x300: "sin [2] float32"})
        self.assertEqual(names(Tensor(0x300, 2)), {})

    def test_a_result_is_named_by_what_made_it_and_not_by_what_reads_it(self):
        exp = node("ExpBackward0", [LEAF], [Made(2)], result=Tensor(0x100, 2))
        index = node("IndexBackward0", [exp], source=Tensor(0x100, 2))
        self.assertEqual(names(Tensor(0x200, 1, grad_fn=index))[0x100], "exp [2] float32")

    def test_results_come_in_the_order_in_which_they_were_made(self):
        first = node("MmBackward0", [LEAF], [Made(2)], result=Tensor(0x100, 2))
        clone = node("CloneBackward0", [first], [Made(2, 3, dtype=INT64)])
        view = node("ViewBackward0", [clone], [Made(6)])
        last = node("ExpBackward0", [view], [Made(6)], result=Tensor(0x200, 6), mask=Tensor(0x300, 6))
        for number, made in enumerate((first, clone, view, last)):
            made._sequence_nr = lambda number=number: number
        self.assertEqual(list(graph.in_order(graph.read([Tensor(0x200, 6, grad_fn=last)])[0])), [
            (0x100, 0, "mm [2] float32"), (0, 0, "clone [2, 3] int64"), (0x200, 0, "exp [6] float32"),
            (0x300, 0, "mask of exp [6] float32")])

    def test_a_large_graph_is_cut(self):
        limits = graph.MAX_NODES, graph.MAX_S
        last = LEAF
        for _ in range(100):
            last = node("ExpBackward0", [last])
        root = Tensor(0x100, 2, grad_fn=last)
        try:
            self.assertTrue(graph.read([root])[1])
            graph.MAX_NODES = 50
            found, is_whole = graph.read([root])
            self.assertEqual((len(found), is_whole), (1, False))
            graph.MAX_NODES, graph.MAX_S = limits[0], -1
            self.assertFalse(graph.read([root])[1])
        finally:
            graph.MAX_NODES, graph.MAX_S = limits

    def test_walks_are_few(self):
        walks = graph.Walks(lambda *_: named.append(_), lambda: None)
        named, in_use = [], [0]
        module = type(sys)("torch")
        module.cuda = type("cuda", (), {"memory_allocated": staticmethod(lambda: in_use[0])})
        sys.modules["torch"] = module
        self.addCleanup(sys.modules.pop, "torch")
        root = Tensor(0x100, 2, grad_fn=node("ExpBackward0", [LEAF]))
        counts = []
        for n_bytes in (100, 100, 100, 104, 110, 50, *range(200, 2000, 100)):
            in_use[0] = n_bytes
            walks.begin_backward([root])
            counts.append(len(named))
        self.assertEqual(counts[:6], [1, 2, 2, 2, 3, 3])
        self.assertEqual(counts[-1], 8)

    def test_a_failure_within_a_backward_pass_is_not_walked(self):
        named = []
        root = Tensor(0x100, 2, grad_fn=node("ExpBackward0", [LEAF]))
        walks = graph.Walks(lambda *_: named.append(_), lambda: None)
        with unittest.mock.patch.object(graph, "_with_graph", lambda: [root]):
            walks.n_running = 1
            walks.fail()
            self.assertEqual(named, [])
            walks.n_running = 0
            walks.fail()
            self.assertEqual(len(named), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
