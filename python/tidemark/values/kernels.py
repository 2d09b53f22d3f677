"""Replaces the kernels of PyTorch's operators at the dispatch key CUDA.

A replaced kernel calls the real one, and notes the call. At that key it sees the operator in every thread, below autograd,
autocast, the program's modes, subclasses, functionalization, vmap and torch.compile, and costs nothing where it is not
asked. PyTorch below 2.9 does not give its kernels away: there the operators are replaced at BackendSelect, which operators
of the CPU pass, too, and go on from there.
"""
import warnings

import torch

from . import copies, draws, overloads, reads, rows
from .engine import is_off
from .nodes import SMALL
from .overloads import NOTED, ROWS, SEEN, tensors

KEY = "CUDA" if hasattr(torch.library, "get_kernel") else "BackendSelect"
_KINDS = (torch.Tensor, torch.nn.Parameter)


def replace(engine, sites):
    """Replaces the kernels of all operators, and returns what keeps them replaced."""
    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns of each kernel that is replaced
        for plan in overloads.plans():
            make = _maker(plan, engine)
            if make is not None:
                library.m.impl(plan.full, KEY, _of_card(make(engine, plan, original(plan), sites)), True)
    return library


def _maker(plan, engine):
    """The function that makes a kernel; None: the engine in C++ has it, or it is not replaced."""
    if plan.role == ROWS:
        return None if plan.writes else rows.kernel
    by_name = {"_local_scalar_dense": reads.item, "equal": reads.equal, "copy_": copies.kernel}.get(plan.name)
    if by_name is not None:
        return by_name
    if engine.is_native:
        return None
    return noted if plan.role == NOTED else seen if plan.role == SEEN else None


def original(plan):
    """Calls the kernel that the operator had: call(keys, *args, **kwargs)."""
    if KEY == "CUDA":
        call = torch.library.get_kernel(plan.full, KEY).call_boxed
    else:
        after, redispatch = torch._C._dispatch_keyset_full_after(torch._C.DispatchKey.BackendSelect), plan.func.redispatch

        def call(keys, *args, **kwargs):
            return redispatch(keys & after, *args, **kwargs)

    if len(plan.tensor_places) < 2:
        return call

    def call_with_numbers(keys, *args, **kwargs):
        return call(keys, *plan.with_numbers(args), **kwargs)

    return call_with_numbers


def _of_card(kernel):
    """At BackendSelect, operators of the CPU are let through."""
    if KEY == "CUDA":
        return kernel

    def of_card(keys, *args, **kwargs):
        if keys.has(torch._C.DispatchKey.CUDA):
            return kernel(keys, *args, **kwargs)
        return kernel.call(keys, *args, **kwargs)

    return of_card


def noted(engine, plan, call, sites):
    """The kernel of an operator that computes something."""
    look = sites.rows.look

    def kernel(keys, *args, **kwargs):
        out = call(keys, *args, **kwargs)
        if is_off():
            return out
        if sites.rows.is_watching:
            look(out)
        if type(out) in _KINDS and out.numel() > SMALL and out.dtype.is_floating_point:
            if not _is_worth(engine, plan, args, out):
                _leave(engine, plan, out)
                return out
        elif plan.is_sum_of_rows and _is_gradient_of_bias(engine, args, out):
            return out
        engine.note(plan, plan.with_numbers(args), kwargs, out)
        return out

    kernel.call = call
    return kernel


def seen(engine, plan, call, sites):
    """The kernel of an operator whose results are unknown: only their shapes count."""
    look = sites.rows.look

    def kernel(keys, *args, **kwargs):
        out = call(keys, *args, **kwargs)
        if sites.rows.is_watching and not is_off():
            look(out)
        return out

    kernel.call = call
    return kernel


def _is_worth(engine, plan, args, out):
    """Whether a large result of floats is noted: where something is known of what goes in, and for vectors, whose products
    decide where an optimizer such as LBFGS goes on."""
    if plan.is_product:
        return False
    if plan.is_random and plan.is_whole:
        return True
    if out.dim() == 1 and (plan.is_pointwise or plan.name == "cat"):
        return True
    return any(engine.is_known(t) for t in tensors(args[:2]) if t is not out and t.is_cuda)


def _leave(engine, plan, out):
    """The fast way out of a large unknown result."""
    engine.counts["left"] += 1
    kind = draws.DRAWS.get(plan.name)
    if kind is not None:
        engine.hint(out, kind)
    elif plan.writes and engine.find(out) is not None:
        engine.forget(out)


def _is_gradient_of_bias(engine, args, out):
    """Sums of rows of large unknown floats are as unknown as those."""
    first = args[0]
    return first.numel() > SMALL and first.dtype.is_floating_point and out.dtype.is_floating_point and not engine.is_known(first)
