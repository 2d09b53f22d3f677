"""Changes that `tidemark plan` tries: they are applied to a program that stays as it is.

TIDEMARK_CHANGES lists them: "checkpoint:Block,fused", or "observe" for none. start() is called when torch has
been imported, before the program's own modules. From then on the functions of observe.py note what the program
does, functions of PyTorch that a change replaces look up the present list at each call, and the structure of a
model changes when its optimizer is made (made.py): the model is then complete, and its parameters are known.

Each change is a row of table.py. It is applied by executing the very lines that are printed (lines.py).
"""
from . import session


def start(torch):
    """Installs everything. Called once, after the import of torch."""
    from . import loaders, loss, made, observe, sharding, states

    now = session.begin()
    observe.watch(torch, now.seen)
    loss.watch(torch, now)
    loaders.watch(now)
    sharding.watch_ddp(torch, now)
    states.watch(torch, now)
    made.watch(torch, now)


def report():
    """Writes the facts to the log. Called at the ends of steps, and at the program's end."""
    if session.now is not None:
        from . import facts

        facts.write(session.now)


def marks_steps():
    """Whether the steps of the recording are those that a change marks (in_backward.py)."""
    return session.now is not None and session.now.marks_steps
