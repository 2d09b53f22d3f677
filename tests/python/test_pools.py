#!/usr/bin/env python3
"""Checks what is reported of vLLM's cache of keys and values: test_pools.py PACKAGES

The classes are stand-ins with the members of vLLM's that are used.
"""
import os
import sys
import tempfile
import types
import unittest

sys.path.insert(0, sys.argv[1])
from tidemark.serving import pools  # noqa: E402

TOO_SMALL = (
    "To serve at least one request with the model's max seq len (65536), (8.00 GiB KV cache is needed, which is larger than the "
    "available KV cache memory (5.50 GiB). {}Try increasing `gpu_memory_utilization` or decreasing `max_model_len`."
)


def tensor(n_bytes, **more):
    return types.SimpleNamespace(size=n_bytes, **more)


def planner():
    """vllm.v1.core.kv_cache_utils: the pool holds as many tokens as it has blocks of 16."""
    module = types.ModuleType("vllm.v1.core.kv_cache_utils")
    module.generate_scheduler_kv_cache_config = lambda configs: configs[0]
    module.get_kv_cache_capacity = lambda vllm_config, plan: (16 * plan.num_blocks, 1.953125)
    return module


class PoolsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        os.environ["TIDEMARK_RUN_FOLDER"] = self.folder.name
        self.addCleanup(self.folder.cleanup)
        self.planner = planner()
        core = types.ModuleType("vllm.v1.core")
        core.kv_cache_utils = self.planner
        sys.modules["vllm.v1.core"] = core

    def lines(self):
        path = os.path.join(self.folder.name, f"{os.getpid()}.pool")
        if not os.path.exists(path):
            return ""
        with open(path) as file:
            return file.read()

    def begin(self, tensors, **model):
        module = types.ModuleType("vllm.v1.worker.gpu_worker")

        class Worker:
            vllm_config = types.SimpleNamespace(model_config=types.SimpleNamespace(max_model_len=4096, **model))

            def initialize_from_config(self, kv_cache_config):
                return "begun"

        module.Worker = Worker
        pools._change_worker(module)
        self.assertEqual(Worker().initialize_from_config(types.SimpleNamespace(num_blocks=500, kv_cache_tensors=tensors)), "begun")

    def test_a_pool_of_one_allocation(self):
        self.begin([tensor(1 << 30, layer_stride=4), tensor(1 << 30, layer_stride=4)])
        self.assertEqual(self.lines(), "vLLM\t1073741824\t8000\t4096\t-1\t-1\t195\t0\t-1\n")

    def test_the_modules_of_vllm_are_watched(self):
        worker = types.ModuleType("vllm.v1.worker.gpu_worker")
        worker.Worker = type("Worker", (), {"initialize_from_config": lambda self, config, more=0, *, named=0: (config, more, named)})
        old, others = worker.Worker.initialize_from_config, []
        for name in ("vllm.v1.core.kv_cache_planning", "vllm.v1.core.kv_cache_utils"):
            others.append(self.module_of_checks(name, "check_enough_kv_cache_memory"))
        before = [other.check_enough_kv_cache_memory for other in others]
        for module in (worker, *others):
            sys.modules[module.__name__] = module
            self.addCleanup(sys.modules.pop, module.__name__, None)
        pools.watch()
        self.assertIsNot(worker.Worker.initialize_from_config, old)
        self.assertEqual(worker.Worker().initialize_from_config(1, 2, named=3), (1, 2, 3))
        for other, check in zip(others, before):
            self.assertIsNot(other.check_enough_kv_cache_memory, check)

    def test_other_versions_are_left_as_they_are(self):
        module = types.ModuleType("vllm.v1.worker.gpu_worker")
        pools._change_worker(module)
        module.Worker = type("Worker", (), {})
        pools._change_worker(module)
        self.assertFalse(hasattr(module.Worker, "initialize_from_config"))

    def module_of_checks(self, module_name, *names):
        module = types.ModuleType(module_name)
        for name in names:
            def check():
                raise ValueError(TOO_SMALL.format(""))

            check.__module__ = module_name
            setattr(module, name, check)
        return module

    def test_a_refusal_is_reported_once(self):
        """One of the functions calls the other, and modules import them from each other."""
        module = self.module_of_checks("planning", "_check_enough_kv_cache_memory", "check_enough_kv_cache_memory")
        inner, outer = module._check_enough_kv_cache_memory, module.check_enough_kv_cache_memory
        pools._change_check(module)
        self.assertIsNot(module._check_enough_kv_cache_memory, inner)
        self.assertIs(module.check_enough_kv_cache_memory, outer)
        importing = types.ModuleType("utils")
        importing.check_enough_kv_cache_memory = outer
        pools._change_check(importing)
        self.assertIs(importing.check_enough_kv_cache_memory, outer)

    def test_pools_of_two_models(self):
        self.begin([tensor(1 << 30)])
        self.begin([tensor(1 << 20)])
        self.assertEqual([line.split("\t")[1] for line in self.lines().splitlines()], [str(1 << 30), str(1 << 20)])

    def test_a_pool_without_tensors(self):
        self.begin([])
        self.assertEqual(self.lines().split("\t")[1], "0")

    def test_a_length_that_was_chosen_by_the_cache(self):
        self.begin([tensor(1 << 30)], original_max_model_len=-1)
        self.assertEqual(self.lines().split("\t")[7], "1")

    def test_a_length_that_was_asked_for(self):
        self.begin([tensor(1 << 30)], original_max_model_len=4096)
        self.assertEqual(self.lines().split("\t")[7], "0")

    def test_the_card_of_the_worker(self):
        cuda = types.SimpleNamespace(is_initialized=lambda: True, current_device=lambda: 3)
        sys.modules["torch"] = types.SimpleNamespace(cuda=cuda)
        self.addCleanup(sys.modules.pop, "torch")
        self.begin([tensor(1 << 30)])
        self.assertEqual(self.lines().split("\t")[8], "3\n")
        cuda.is_initialized = lambda: False  # the question would initialize it
        self.begin([tensor(1 << 30)])
        self.assertEqual(self.lines().split("\t")[-1], "-1\n")

    def test_a_pool_of_one_allocation_for_each_layer(self):
        del self.planner.get_kv_cache_capacity  # an older version, which prints the tokens by the concurrency
        self.planner.get_max_concurrency_for_kv_cache_config = lambda vllm_config, plan: 1.5
        self.begin([tensor(1 << 30), tensor(1 << 30)])
        self.assertEqual(self.lines(), "vLLM\t2147483648\t6144\t4096\t-1\t-1\t150\t0\t-1\n")

    def check(self, text, name):
        module = types.ModuleType("planning")

        def check(available, needed):
            if needed > available:
                raise ValueError(text)
            return "enough"

        check.__module__ = module.__name__
        setattr(module, name, check)
        pools._change_check(module)
        self.assertEqual(getattr(module, name)(2, 1), "enough")
        with self.assertRaises(ValueError):
            getattr(module, name)(1, 2)

    def test_a_pool_that_is_too_small(self):
        self.check(TOO_SMALL.format("Based on the available memory, the estimated maximum model length is 47744. "),
                   "_check_enough_kv_cache_memory")
        self.assertEqual(self.lines(), "vLLM\t5905580032\t-1\t47744\t65536\t8589934592\t-1\t0\t-1\n")

    def test_a_pool_without_an_estimate(self):
        self.check(TOO_SMALL.format(""), "check_enough_kv_cache_memory")
        self.assertEqual(self.lines(), "vLLM\t5905580032\t-1\t-1\t65536\t8589934592\t-1\t0\t-1\n")

    def test_other_failures_are_not_reported(self):
        self.check("No available memory for the cache blocks.", "_check_enough_kv_cache_memory")
        self.assertEqual(self.lines(), "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
