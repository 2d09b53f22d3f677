"""The optimizer in the backward pass: each parameter is updated, and its gradient freed, as soon as the gradient is complete."""
import types

from . import lines, observe, paste, session
from .row import Row, first_optimizer, holders, is_sharded, optimizer_reason, parallel_kind, unsuitable_models

_TEXT = '''import inspect
import types

def step_in_backward(optimizer):
    known = inspect.signature(type(optimizer).__init__).parameters
    own = {}
    for group in optimizer.param_groups:
        options = {key: value for key, value in group.items() if key in known and key != "params"}
        for p in group["params"]:
            if p.requires_grad:
                own[p] = type(optimizer)([p], **options), group

    def step_and_free(p):
        one, group = own[p]
        one.param_groups[0].update((key, value) for key, value in group.items() if key != "params")
        one.step()
        one.zero_grad()

    for p in own:
        p.register_post_accumulate_grad_hook(step_and_free)
    optimizer.step = types.MethodType(lambda self, *args, **kwargs: None, optimizer)
    optimizer.zero_grad = lambda *args, **kwargs: None

step_in_backward({optimizer})'''


def refusal(now, applied):
    import torch

    seen = now.seen
    reason = optimizer_reason(now) or unsuitable_models(now, applied)
    rules = [
        (not hasattr(torch.Tensor, "register_post_accumulate_grad_hook"), "this PyTorch has no hooks after gradients"),
        (bool(holders(now)), f"{' and '.join(sorted(holders(now)))} makes the steps"),
        (len(seen.optimizers) > 1, f"the program has {len(seen.optimizers)} optimizers"),
        (seen.clips, f"the program clips gradients ({seen.clips})"),
        (seen.scales, f"a GradScaler needs all gradients before the step ({seen.scales})"),
        (seen.closes, f"the optimizer calls a closure ({seen.closes})"),
        (seen.optimizers and seen.optimizers[0].kind == "LBFGS", "LBFGS needs all gradients"),
        (parallel_kind(now) == "DataParallel", "the model is wrapped by DataParallel"),
        (parallel_kind(now) or is_sharded(now), "gradients are reduced over ranks first"),
        (now.wants("micro_batch") is not None or seen.n_steps > 0 and seen.n_backwards > seen.n_steps + 1,
         "several backward passes make one step"),
        (seen.compiles, f"the model is compiled ({seen.compiles})"),
    ]
    return reason or next((why for holds, why in rules if holds), None)


def can(now):
    return {"": first_optimizer(now)}


def apply(now, made, roots, argument):
    from . import made as making
    from .. import steps

    optimizer = made.optimizer()
    now.is_inner = now.marks_steps = True
    try:
        lines.run(_TEXT, observe.original, optimizer=optimizer)
    finally:
        now.is_inner = False

    def step(self, *_, **__):
        recording = session.recorder()
        making.step_ended(now)
        if recording is not None:
            steps.mark_own(recording.marks, recording_end())

    optimizer.step = types.MethodType(step, optimizer)  # nothing else is done in it: the recording's step ends here
    paste.done_to_optimizer(now, made, "optimizer_in_backward", "", f"{made.kind} in the backward pass", _TEXT)


def recording_end():
    import sys

    return sys.modules[__package__.rpartition(".")[0] + ".recording"].end_now


ROW = Row("optimizer_in_backward", refusal, can, apply, is_after=True)
