"""Reports the cache of keys and values that vLLM keeps on a card: PID.pool (programs/launch/left/left.h).

All figures are vLLM's own: the bytes of the pool, the tokens that it holds, the longest request, and how many such
requests fit together ("Maximum concurrency"). vLLM estimates the longest request that fits only if the pool is too small, or
if it chooses max_model_len (-1). Its engine may run in a process of its own, and its workers in others.
"""
import functools
import os
import re
import sys

from .. import settings
from ..imports import when_imported
from ..telling import quietly

# What vLLM raises: "To serve at least one request with the model's max seq len (65536), (8.0 GiB KV cache is needed, which is
# larger than the available KV cache memory (5.83 GiB). Based on the available memory, the estimated maximum model length is 47744."
_TOO_SMALL = re.compile(r"max seq len \((\d+)\),? \(([\d.]+) GiB KV cache is needed.*?available KV cache memory \(([\d.]+) GiB\)", re.S)
_ESTIMATE = re.compile(r"estimated maximum model length is (\d+)")
_GIB = 1 << 30


def watch():
    """Changes vLLM's modules, now or when they are imported."""
    when_imported({"vllm.v1.worker.gpu_worker": _change_worker,
                   "vllm.v1.core.kv_cache_planning": _change_check,
                   "vllm.v1.core.kv_cache_utils": _change_check})


def _change_worker(module):
    worker = getattr(module, "Worker", None)
    begin = getattr(worker, "initialize_from_config", None)
    if begin is None:
        return

    @functools.wraps(begin)
    def call(self, kv_cache_config, *arguments, **named):
        result = begin(self, kv_cache_config, *arguments, **named)
        _report_pool(self, kv_cache_config)
        return result

    worker.initialize_from_config = call


def _change_check(module):
    """The function that refuses a pool in which one request does not fit; its name differs between versions."""
    for name in ("_check_enough_kv_cache_memory", "check_enough_kv_cache_memory"):
        check = getattr(module, name, None)
        if getattr(check, "__module__", None) == module.__name__:
            setattr(module, name, _watched(check))
            return


def _watched(check):
    @functools.wraps(check)
    def call(*arguments, **named):
        try:
            return check(*arguments, **named)
        except ValueError as error:
            _report_refusal(str(error))
            raise

    return call


@quietly
def _report_pool(worker, kv_cache_config):
    from vllm.v1.core import kv_cache_utils

    vllm_config = worker.vllm_config
    model = vllm_config.model_config
    n_tokens, n_requests = _capacity(kv_cache_utils, vllm_config, kv_cache_config)
    is_fitted = getattr(model, "original_max_model_len", None) == -1
    _write(bytes_of(kv_cache_config.kv_cache_tensors), n_tokens, model.max_model_len, -1, -1, round(100 * n_requests), int(is_fitted), _card())


def bytes_of(tensors):
    """As of version 0.32, the tensors of all layers are parts of one allocation, and each has the size of the whole."""
    sizes = [tensor.size for tensor in tensors]
    is_shared = bool(sizes) and hasattr(tensors[0], "layer_stride")
    return max(sizes) if is_shared else sum(sizes)


def _capacity(kv_cache_utils, vllm_config, kv_cache_config):
    """The figures that vLLM prints as "GPU KV cache size" and "Maximum concurrency"."""
    plan = kv_cache_utils.generate_scheduler_kv_cache_config([kv_cache_config])
    capacity = getattr(kv_cache_utils, "get_kv_cache_capacity", None)
    if capacity is not None:
        n_tokens, n_requests = capacity(vllm_config, plan)
        return int(n_tokens), n_requests
    n_requests = kv_cache_utils.get_max_concurrency_for_kv_cache_config(vllm_config, plan)
    return int(n_requests * vllm_config.model_config.max_model_len), n_requests


def _card():
    """The card of this worker; -1 if PyTorch uses none."""
    torch = sys.modules.get("torch")
    return torch.cuda.current_device() if torch is not None and torch.cuda.is_initialized() else -1


@quietly
def _report_refusal(text):
    found, estimate = _TOO_SMALL.search(text), _ESTIMATE.search(text)
    if found is not None:
        n_asked, needed, left = found.groups()
        _write(int(float(left) * _GIB), -1, int(estimate.group(1)) if estimate else -1, int(n_asked), int(float(needed) * _GIB), -1, 0, -1)


def _write(*numbers):
    path = os.path.join(settings.get("TIDEMARK_RUN_FOLDER"), f"{os.getpid()}.pool")
    with open(path, "a") as file:
        file.write("\t".join(["vLLM", *map(str, numbers)]) + "\n")
