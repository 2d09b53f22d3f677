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
from .overloads import KEY, NOTED, ROWS, SEEN, tensors

_KINDS = (torch.Tensor, torch.nn.Parameter)


def replace(engine, sites):
    """Replaces the kernels of all operators, and returns what keeps them replaced."""
    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns of each kernel that is replaced
        plans = list(overloads.plans())
        for plan in engine.replace(plans, sites) if engine.is_native else plans:
            make = _maker(plan)
            if make is not None:
                library.m.impl(plan.full, KEY, _of_card(make(engine, plan, original(plan), sites)), True)
    if KEY != "CUDA":
        _read_large_numbers()
    return library


def _read_large_numbers():
    """Where a kernel in Python cannot return a number above 2^63 (PyTorch 2.8), an element of uint64 is read as int64."""
    item = torch.Tensor.item

    def of_tensor(tensor):
        if tensor.dtype is not torch.uint64:
            return item(tensor)
        return item(tensor.view(torch.int64)) % 2**64

    torch.Tensor.item = of_tensor


def _maker(plan):
    """The function that makes a kernel; None: it is not replaced."""
    if plan.role == ROWS:
        return None if plan.writes else rows.kernel
    by_name = {"_local_scalar_dense": reads.item, "equal": reads.equal, "copy_": copies.kernel}.get(plan.name)
    if by_name is not None:
        return by_name
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
    """At BackendSelect, operators of the CPU are let through, and those that a compiler looks at, which make nothing: while a
    fake tensor runs one for its shape alone, its mode is off and the key Meta is on."""
    if KEY == "CUDA":
        return kernel
    modes, mode_of = [torch._C._TorchDispatchModeKey.FAKE, torch._C._TorchDispatchModeKey.FUNCTIONAL], torch._C._get_dispatch_mode

    def of_card(keys, *args, **kwargs):
        if keys.has(torch._C.DispatchKey.CUDA) and not keys.has(torch._C.DispatchKey.Meta) and not any(map(mode_of, modes)):
            return kernel(keys, *args, **kwargs)
        return kernel.call(keys, *args, **kwargs)

    return of_card


def noted(engine, plan, call, sites):
    """The kernel of an operator that computes something. One that writes to its arguments is noted with what they were
    before: its kernel may call others that write there, too."""
    look = sites.rows.look

    def kernel(keys, *args, **kwargs):
        if is_off():
            return call(keys, *args, **kwargs)
        if engine.promised:
            engine.keep_promises(tensors(args, *kwargs.values()))
        node = engine.begin(plan, args, kwargs) if plan.writes and _is_to_note(engine, plan, args, kwargs) else None
        out = call(keys, *args, **kwargs)
        if sites.rows.is_watching:
            look(out)
        if node is None and not plan.writes and _is_to_note(engine, plan, args, kwargs, out):
            node = engine.begin(plan, args, kwargs)
        if node is not None:
            engine.end(node, args, kwargs, out)
        else:
            _leave(engine, plan, args, kwargs, out)
        return out

    kernel.call = call
    return kernel


def seen(engine, plan, call, sites):
    """The kernel of an operator whose results are unknown: only their shapes count. Operators that it calls may have noted
    a part of what it does, such as zeros that it then writes over."""
    look = sites.rows.look

    def kernel(keys, *args, **kwargs):
        if engine.promised:
            engine.keep_promises(tensors(args, *kwargs.values()))
        out = call(keys, *args, **kwargs)
        if not is_off():
            if sites.rows.is_watching:
                look(out)
            for tensor in tensors(*plan.written(args, kwargs), out):
                if tensor.is_cuda and tensor.layout is torch.strided:
                    engine.written(tensor)
        return out

    kernel.call = call
    return kernel


def _is_to_note(engine, plan, args, kwargs, out=None):
    """Whether the call is noted: each that makes something small, and large floats where it is worth it."""
    if out is None:
        out = next(plan.written(args, kwargs), None)
    if type(out) in _KINDS and out.numel() > SMALL and out.dtype.is_floating_point:
        return _is_worth(engine, plan, args, out)
    return not (plan.is_sum_of_rows and _is_gradient_of_bias(engine, args, out))


def _is_worth(engine, plan, args, out):
    """Whether a large result of floats is noted: where something is known of what goes in, such as fills, and for vectors,
    whose products decide where an optimizer such as LBFGS goes on."""
    if plan.is_product:
        return False
    if plan.is_whole or out.dim() == 1 and (plan.is_pointwise or plan.name == "cat"):
        return True
    given = [t for t in tensors(args[:2]) if t.is_cuda and (t is not out or plan.name.endswith("_"))]
    return not given or any(engine.is_known(t) for t in given)


def _leave(engine, plan, args, kwargs, out):
    """The fast way out of a large unknown result, which may have a range."""
    engine.counts["left"] += 1
    kind = draws.DRAWS.get(plan.name)
    if kind is not None and type(out) in _KINDS:
        engine.hint(out, kind)
    else:
        for tensor in tensors(out, *plan.written(args, kwargs)):
            if tensor.is_cuda and tensor.layout is torch.strided:
                engine.forget(tensor)


def _is_gradient_of_bias(engine, args, out):
    """Sums of rows of large unknown floats are as unknown as those."""
    first = args[0]
    return first.numel() > SMALL and first.dtype.is_floating_point and out.dtype.is_floating_point and not engine.is_known(first)
