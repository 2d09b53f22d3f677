"""Names the memory of transformers' caches of keys and values, which the program keeps from token to token.

A cache that autograd also keeps, as in a training run with `use_cache`, is left out: its tensors are activations.
"""
import functools
import inspect

from ..imports import when_imported
from ..telling import quietly

HELD = ("keys", "values", "_quantized_keys", "_quantized_values", "indexer_keys")  # by a layer of a cache
OLDER = (("keys", "key_cache"), ("values", "value_cache"))  # lists of a cache, before transformers 4.54
CHANGES = ("update", "early_initialization", "reorder_cache", "batch_repeat_interleave", "batch_select_indices")


def watch(report):
    """Changes the classes of transformers' caches, now or when they are imported.

    report: a function of pairs of a name and a tensor, and of their category.
    """
    when_imported({"transformers.cache_utils": functools.partial(_change, report)})


def _change(report, module):
    base = getattr(module, "Cache", None)
    for kind in list(vars(module).values()):
        if base is not None and isinstance(kind, type) and issubclass(kind, base):
            for name in CHANGES:
                function = vars(kind).get(name)
                if inspect.isfunction(function):
                    setattr(kind, name, _looked_at(report, function))


def _looked_at(report, function):
    from torch.compiler import is_compiling

    @functools.wraps(function)
    def call(cache, *arguments, **named):
        result = function(cache, *arguments, **named)
        if not is_compiling():
            place = arguments[2] if function.__name__ == "update" and len(arguments) > 2 else None
            _look(report, cache, named.get("layer_idx", place))
        return result

    return call


@quietly
def _look(report, cache, layer):
    """Names the tensors of a layer of the cache; of all layers if the number is unknown."""
    found = [(f"cache.layers.{i}.{name}", value) for i, name, value in _held(cache, layer)
             if value is not None and not getattr(value, "requires_grad", False)]
    if found:
        report(found, "kv_cache")


def _held(cache, layer):
    """Yields the number of a layer, the name of what it holds, and that."""
    layers = getattr(cache, "layers", None)
    lists = [] if layers is not None else [(name, getattr(cache, key, None)) for name, key in OLDER]
    n = len(layers) if layers is not None else max((len(held) for _, held in lists if isinstance(held, list)), default=0)
    for i in [layer] if isinstance(layer, int) and 0 <= layer < n else range(n):
        if layers is not None:
            yield from ((i, name, getattr(layers[i], name, None)) for name in HELD)
        else:
            yield from ((i, name, held[i]) for name, held in lists if isinstance(held, list) and i < len(held))
