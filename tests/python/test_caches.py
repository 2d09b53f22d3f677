#!/usr/bin/env python3
"""Checks which tensors of transformers' caches get names: test_caches.py PACKAGES

The classes are stand-ins with the members of transformers' that are used.
"""
import sys
import types
import unittest

sys.path.insert(0, sys.argv[1])
compiler = types.ModuleType("torch.compiler")
compiler.is_compiling = lambda: compiler.compiles
compiler.compiles = False
sys.modules.setdefault("torch", types.ModuleType("torch"))
sys.modules["torch.compiler"] = compiler
from tidemark.serving import caches  # noqa: E402


class Tensor:
    def __init__(self, requires_grad=False):
        self.requires_grad = requires_grad


def cache_module():
    """transformers.cache_utils, with a class of this version and one of an old version."""
    module = types.ModuleType("cache_utils")

    class Layer:
        keys = values = None

    class Cache:
        def __init__(self):
            self.layers = []

        def update(self, keys, values, layer_idx):
            while len(self.layers) <= layer_idx:
                self.layers.append(Layer())
            self.layers[layer_idx].keys, self.layers[layer_idx].values = keys, values
            return "all keys", "all values"

        def reorder_cache(self, indices):
            for layer in self.layers:
                layer.keys, layer.values = Tensor(), Tensor()

    class OldCache(Cache):
        def __init__(self):
            self.key_cache, self.value_cache = [], []

        def update(self, keys, values, layer_idx):
            self.key_cache.append(keys)
            self.value_cache.append(values)

    class Other:
        def update(self, keys, values, layer_idx):
            pass

    module.Cache, module.OldCache, module.Other = Cache, OldCache, Other
    return module


class CachesTest(unittest.TestCase):
    def setUp(self):
        self.module, self.named = cache_module(), []
        self.unchanged = self.module.Other.update
        caches._change(lambda values, category: self.named.append((category, [name for name, _ in values])), self.module)
        compiler.compiles = False

    def test_the_layer_that_was_updated_is_named(self):
        cache = self.module.Cache()
        self.assertEqual(cache.update(Tensor(), Tensor(), 0), ("all keys", "all values"))
        cache.update(Tensor(), Tensor(), layer_idx=1)
        cache.update(Tensor(), Tensor(), 0)
        self.assertEqual(self.named.pop(), ("kv_cache", ["cache.layers.0.keys", "cache.layers.0.values"]))
        self.assertEqual(self.named, [("kv_cache", ["cache.layers.0.keys", "cache.layers.0.values"]),
                                     ("kv_cache", ["cache.layers.1.keys", "cache.layers.1.values"])])

    def test_all_layers_are_named_after_a_reordering(self):
        cache = self.module.Cache()
        cache.update(Tensor(), Tensor(), 1)
        self.named.clear()
        cache.reorder_cache(None)
        self.assertEqual(self.named, [("kv_cache", [f"cache.layers.{i}.{key}" for i in (0, 1) for key in ("keys", "values")])])

    def test_transformers_is_watched(self):
        module = cache_module()
        sys.modules["transformers.cache_utils"] = module
        self.addCleanup(sys.modules.pop, "transformers.cache_utils")
        update = module.Cache.update
        caches.watch(None)
        self.assertIsNot(module.Cache.update, update)

    def test_all_that_changes_a_cache_names_it(self):
        names = ("early_initialization", "batch_repeat_interleave", "batch_select_indices")
        module = cache_module()
        for name in names:
            setattr(module.Cache, name, module.Cache.reorder_cache)
        held = dict.fromkeys(("_quantized_keys", "_quantized_values", "indexer_keys"))
        module.Cache.reorder_cache = lambda cache, indices: None
        for name in names:
            def change(cache, indices):
                vars(cache.layers[0]).update({key: Tensor() for key in held})

            change.__name__ = name
            setattr(module.Cache, name, change)
        caches._change(lambda values, category: self.named.append([name for name, _ in values]), module)
        for name in names:
            cache = module.Cache()
            cache.layers.append(types.SimpleNamespace())
            getattr(cache, name)(None)
        self.assertEqual(self.named, [[f"cache.layers.0.{key}" for key in held]] * 3)

    def test_nothing_is_reported_of_an_empty_cache(self):
        self.module.Cache().reorder_cache(None)
        self.assertEqual(self.named, [])

    def test_a_layer_that_is_not_there(self):
        """Then all layers are named; old lists may differ in their lengths, and may be other objects."""
        cache = self.module.OldCache()
        cache.key_cache += [Tensor(), Tensor()]
        cache.value_cache = "no list"
        caches._look(lambda values, category: self.named.append([name for name, _ in values]), cache, 5)
        self.assertEqual(self.named, [["cache.layers.0.keys", "cache.layers.1.keys"]])
        cache.value_cache = [Tensor()]
        caches._look(lambda values, category: self.named.append([name for name, _ in values]), cache, 1)
        self.assertEqual(self.named[1:], [["cache.layers.1.keys"]])

    def test_lists_of_old_versions(self):
        cache = self.module.OldCache()
        cache.update(Tensor(), Tensor(), 0)
        self.assertEqual(self.named, [("kv_cache", ["cache.layers.0.keys", "cache.layers.0.values"])])

    def test_what_autograd_also_keeps_is_left_out(self):
        self.module.Cache().update(Tensor(requires_grad=True), Tensor(), 0)
        self.assertEqual(self.named, [("kv_cache", ["cache.layers.0.values"])])

    def test_compiled_code_is_left_as_it_is(self):
        compiler.compiles = True
        self.module.Cache().update(Tensor(), Tensor(), 0)
        self.assertEqual(self.named, [])

    def test_other_classes_are_left_as_they_are(self):
        self.assertIs(self.module.Other.update, self.unchanged)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
