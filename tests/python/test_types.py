#!/usr/bin/env python3
"""Checks how the types of parameters are counted: test_types.py PACKAGES

Modules and parameters are stand-ins with the members of PyTorch's that are used.
"""
import sys
import unittest

sys.path.insert(0, sys.argv[1])
from tidemark import types_held  # noqa: E402


class Storage:
    def __init__(self, address, n_bytes):
        self.address, self.n_bytes = address, n_bytes

    def data_ptr(self):
        return self.address

    def nbytes(self):
        return self.n_bytes


class Parameter:
    def __init__(self, address, n_bytes, dtype="torch.float32", is_cuda=True):
        self.storage, self.dtype, self.is_cuda = Storage(address, n_bytes), dtype, is_cuda

    def untyped_storage(self):
        return self.storage


class Bare(Parameter):
    def untyped_storage(self):
        raise NotImplementedError


class Module:
    def __init__(self, **parameters):
        self._parameters = parameters


class TypesTest(unittest.TestCase):
    def test_each_type_is_counted(self):
        modules = [Module(weight=Parameter(1, 400), bias=Parameter(2, 40)), Module(weight=Parameter(3, 20, "torch.bfloat16"))]
        self.assertEqual(types_held.types_of(modules), {"float32": (440, 2), "bfloat16": (20, 1)})

    def test_shared_memory_counts_once(self):
        table = Parameter(1, 400)
        self.assertEqual(types_held.types_of([Module(weight=table), Module(weight=table), Module(flat=Parameter(1, 400))]),
                         {"float32": (400, 1)})

    def test_parameters_elsewhere_are_left_out(self):
        module = Module(a=Parameter(1, 400, is_cuda=False), b=None, c=Bare(2, 8), d=Parameter(0, 8))
        self.assertEqual(types_held.types_of([module]), {})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
