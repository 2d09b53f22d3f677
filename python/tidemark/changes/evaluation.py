"""No graph in evaluation: forward passes in eval mode that keep one are run without."""
from . import lines, observe, paste
from .offload import calls_forward
from .row import Row, first_model, unsuitable_models

_TEXT = '''import functools

def without_graph_in_evaluation(model):
    forward = model.forward

    @functools.wraps(forward)
    def run(*args, **kwargs):
        with torch.set_grad_enabled(model.training and torch.is_grad_enabled()):
            return forward(*args, **kwargs)

    return run

{model}.forward = without_graph_in_evaluation({model})'''


def refusal(now, applied):
    reason = unsuitable_models(now, applied) or calls_forward(now)
    if reason is None and now.seen.evaluation_reaches_backward:
        reason = "a backward pass uses the results of an evaluation"
    if reason is None and not applied and now.seen.n_steps > 0 and now.seen.n_evaluations == 0:
        reason = "no forward pass in eval mode keeps a graph"
    return reason


def can(now):
    return {"": first_model(now)} if now.seen.n_evaluations > 0 else {}


def apply(now, made, roots, argument):
    for root in roots:
        lines.run(_TEXT, observe.original, model=root)
        paste.done_to_model(now, made, root, "no_grad_eval", "", f"forward passes of {type(root).__name__} in eval mode", _TEXT)


ROW = Row("no_grad_eval", refusal, can, apply)
