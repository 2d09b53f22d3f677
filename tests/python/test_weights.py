#!/usr/bin/env python3
"""Checks that the weights of a model that vLLM loads are named: test_weights.py PACKAGES

The loader, modules and tensors are stand-ins with the members of vLLM's and PyTorch's that are used.
"""
import sys
import types
import unittest

sys.path.insert(0, sys.argv[1])
from tidemark import modules  # noqa: E402
from tidemark.serving import weights  # noqa: E402


class Weight:
    is_leaf, grad = True, None


class Module:
    def __init__(self, parameters=(), **inner):
        self._parameters, self._buffers, self._modules = dict(parameters), {}, inner

    def named_modules(self, prefix=""):
        yield prefix, self
        for key, module in self._modules.items():
            yield from module.named_modules(prefix + ("." if prefix else "") + key)


def llama():
    projection = {"weight": Weight(), "weight_scale": Weight()}
    layer = Module(self_attn=Module(qkv_proj=Module(projection)), input_layernorm=Module({"weight": Weight()}))
    return Module(model=Module(embed_tokens=Module({"weight": Weight()}), layers=Module(**{"0": layer})))


def vllm(load):
    """The module of vLLM's loader; a model's weights are replaced after it has loaded them."""
    module = types.ModuleType(weights.MODULE)

    class BaseModelLoader:
        def load_model(self, vllm_config, model_config, prefix=""):
            return load(prefix)

    module.BaseModelLoader = BaseModelLoader
    return module


class WeightsTest(unittest.TestCase):
    def setUp(self):
        self.addCleanup(sys.modules.pop, weights.MODULE, None)

    def test_weights_have_their_paths(self):
        named = {}
        known = modules.Modules(lambda values, category: named.setdefault(category, []).extend(values))
        model = llama()
        projection = model._modules["model"]._modules["layers"]._modules["0"]._modules["self_attn"]._modules["qkv_proj"]
        replaced = Weight()

        def load(prefix):
            projection._parameters["weight"] = replaced
            return model

        sys.modules[weights.MODULE] = vllm(load)
        weights.watch(known.look_at_moved)
        loader = sys.modules[weights.MODULE].BaseModelLoader()
        self.assertIs(loader.load_model(vllm_config=None, model_config=None), model)
        self.assertEqual([name for name, _ in named["parameter"]], [
            "model.embed_tokens.weight", "model.layers.0.self_attn.qkv_proj.weight",
            "model.layers.0.self_attn.qkv_proj.weight_scale", "model.layers.0.input_layernorm.weight"])
        self.assertIs(dict(named["parameter"])["model.layers.0.self_attn.qkv_proj.weight"], replaced)

    def test_a_failure_is_the_programs(self):
        seen = []

        def load(prefix):
            raise ValueError("no such file")

        sys.modules[weights.MODULE] = vllm(load)
        weights.watch(seen.append)
        with self.assertRaisesRegex(ValueError, "no such file"):
            sys.modules[weights.MODULE].BaseModelLoader().load_model(None, None)
        self.assertEqual(seen, [])

    def test_another_version_is_left_alone(self):
        sys.modules[weights.MODULE] = types.ModuleType(weights.MODULE)
        weights.watch(self.fail)
        self.assertEqual([name for name in vars(sys.modules[weights.MODULE]) if not name.startswith("__")], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
