"""The changes that exist, in the order in which they are applied.

A row has a name, what follows its colon ("class", "number" or nothing), and functions of the session:
    refusal(now, applied)    why it is not possible in this program; None if it is. `applied`: it was made in this
                             run, so what it does itself is no reason
    can(now)                 argument -> detail, of what is possible
    apply(now, made, roots, argument)   changes new models or an optimizer. Missing: a function of PyTorch looks
                             the change up when it is called
    is_after                 it is applied to the made optimizer, otherwise before it gets its parameters
"""
from . import (
    bucket_view, checkpoint, compiled, evaluation, fused, in_backward, library_checkpoint, loaders, loss, offload, precision,
    sharding, states, zeros
)

ROWS = [
    checkpoint.ALL, checkpoint.HALF, checkpoint.SELECTIVE, library_checkpoint.ROW, loss.LINEAR, loss.CHUNKED, offload.ROW,
    precision.AUTOCAST, precision.BF16, evaluation.ROW, compiled.ROW, sharding.ROW, states.ADAFACTOR, states.ADAMW8BIT,
    fused.FUSED, fused.NO_FOREACH, in_backward.ROW, zeros.ROW, loaders.ROW, bucket_view.ROW
]


def find(name):
    return next((row for row in ROWS if row.name == name), None)


def order(name):
    return next((i for i, row in enumerate(ROWS) if row.name == name), len(ROWS))


def misnamed(name, argument):
    """Why a change of a list cannot be meant; None if it can."""
    row = find(name)
    if row is None:
        return "no change has this name"
    if row.takes is None and argument:
        return f"it takes nothing after a colon ({argument})"
    if row.takes is not None and not argument:
        return f"it needs a {row.takes} after a colon"
    if row.takes == "number" and not (argument.isdigit() and int(argument) > 1):
        return f"{argument} is no number from 2"
    return None


def apply(now, made, roots, is_made):
    """Applies what is asked for to the models of an optimizer before it is made, or to the made optimizer."""
    for name, argument in list(now.wanted):
        row = find(name)
        if row is None or row.apply is None or row.is_after != is_made or name in now.refused:
            continue
        reason = row.refusal(now, False)
        if reason is not None:
            now.refuse(name, reason)
            continue
        try:
            row.apply(now, made, roots, argument)
        except Exception as error:
            now.refuse(name, f"{type(error).__name__}: {error}")
