"""Gradients of a run that goes well do not overflow: torch.amp.GradScaler skips no step.

The operator that looks for infinities takes a list of gradients. Those that are known are looked at, and divided by the
scale; the others count as finite. What becomes of the scale is then computed like everything else.
"""
import torch

from .engine import Quiet, is_off
from .overloads import KEY, Plan, full_name

_NAME = "_amp_foreach_non_finite_check_and_unscale_"


def watch(engine, original):
    func = getattr(torch.ops.aten, _NAME).default
    plan = Plan(_NAME, func._schema, func)
    call = original(plan)

    def kernel(keys, gradients, found, inverse):
        call(keys, gradients, found, inverse)
        if not is_off() and found.is_cuda:
            _look(engine, plan, gradients, found, inverse)

    library = torch.library.Library("aten", "IMPL")
    library.m.impl(full_name(func._schema), KEY, kernel, True)
    return library


def _look(engine, plan, gradients, found, inverse):
    known = [g for g in gradients if engine.is_known(g)]
    with Quiet():
        flag, is_assumed = engine.read(found) if engine.is_known(found) else (torch.zeros(1, device="cpu"), False)
        flag = flag.clone()
        factor, is_factor_assumed = engine.read(inverse)
        read = [engine.read(g) for g in known]
        values = [value for value, _ in read]
        if factor is not None and all(v is not None for v in values) and values:
            values = [v.clone() for v in values]
            plan.func(values, flag, factor.clone())
            for gradient, value, (_, is_value_assumed) in zip(known, values, read):
                engine.put(gradient, value, is_factor_assumed or is_value_assumed)
        engine.put(found, flag.view(found.shape), is_assumed)
