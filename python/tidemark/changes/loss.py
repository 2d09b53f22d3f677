"""The cross-entropy over many classes: in checkpointed chunks of the logits, or of the head and the loss together."""
import inspect
import sys

from . import lines, observe, places
from .row import Row, all_models, is_sharded, parallel_kind, unsuitable_models

MANY = 8192  # classes from which a chunk is worth its calls

_CHUNKED = '''import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

def in_chunks(entropy, n=8):
    def cross_entropy(logits, target, weight=None, size_average=None, ignore_index=-100, reduce=None,
                      reduction="mean", label_smoothing=0.0):
        is_plain = weight is None and size_average is None and reduce is None and not label_smoothing
        is_plain = is_plain and reduction != "none" and logits.dim() == 2 and target.dim() == 1
        if not is_plain or logits.shape[1] < 8192 or not (logits.requires_grad and torch.is_grad_enabled()):
            return entropy(logits, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing)

        def part(logits, target):
            return entropy(logits.float(), target, reduction="sum", ignore_index=ignore_index)

        pairs = zip(logits.chunk(n), target.chunk(n))
        total = sum(checkpoint(part, *pair, use_reentrant=False) for pair in pairs)
        return total / (target != ignore_index).sum() if reduction == "mean" else total

    return cross_entropy

F.cross_entropy = in_chunks(F.cross_entropy)'''

_LINEAR = '''import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

def head_and_loss(x, head, target, n=8, ignore_index=-100, reduction="mean"):
    def part(x, target):
        logits = head(x)
        return F.cross_entropy(logits.float(), target, reduction="sum", ignore_index=ignore_index)

    pairs = zip(x.chunk(n), target.chunk(n))
    total = sum(checkpoint(part, *pair, use_reentrant=False) for pair in pairs)
    return total / (target != ignore_index).sum() if reduction == "mean" else total'''
_UNDER_AUTOCAST = '''        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = head(x)'''
_CALL = "\n\n# loss = head_and_loss(x, {model}.HEAD, target), x (N, features), instead of F.cross_entropy({model}.HEAD(x), target)"


class Loss:
    """The calls of cross_entropy at one place."""

    def __init__(self):
        self.bytes = self.classes = 0
        self.why_not = None  # it is not plain
        self.file = ""
        self.name = None  # variable of the file that is cross_entropy itself


def watch(torch, now):
    functional = torch.nn.functional
    own = functional.cross_entropy
    order = list(inspect.signature(own).parameters)
    chunked = None

    def make(entropy):
        def cross_entropy(input, target, *arguments, **named):
            nonlocal chunked
            if observe.is_compiling(torch) or not isinstance(input, torch.Tensor):
                return entropy(input, target, *arguments, **named)
            options = dict(zip(order[2:], arguments), **named)
            loss = _note(torch, now, input, target, options)
            if loss is None or loss.why_not or now.wants("chunked_loss") is None or _is_lazy(input):
                return entropy(input, target, *arguments, **named)
            if chunked is None:
                chunked = _make_chunked(functional, entropy)
            if "chunked_loss" not in now.did:
                text = _CHUNKED + (f"\n{loss.name} = F.cross_entropy" if loss.name else "")
                now.note_done("chunked_loss", "", "the loss in 8 chunks", text, _place(loss))
            return chunked(input, target, *arguments, **named)

        return cross_entropy

    observe.replace(functional, "cross_entropy", make)


def _is_lazy(logits):
    lazy = sys.modules.get(__package__ + ".lazy")
    return lazy is not None and isinstance(logits, lazy.Lazy)


def _make_chunked(functional, entropy):
    """Executes the printed lines, which replace PyTorch's own function, and returns theirs."""
    present = functional.cross_entropy
    functional.cross_entropy = entropy
    try:
        lines.run(_CHUNKED, observe.original)
        return functional.cross_entropy
    finally:
        functional.cross_entropy = present


def _place(loss):
    """After the imports of the file that computes the loss."""
    return places.shown(loss.file, places.imports_end(loss.file)) if loss.file else ""


def _note(torch, now, logits, target, options):
    """Notes a call whose logits have many classes. None: it has few."""
    classes = logits.shape[1] if logits.dim() > 1 else 0
    if classes < MANY or not (logits.requires_grad and torch.is_grad_enabled()):
        return None
    frame = places.own_frame()
    place = "a library" if frame is None else places.shown(frame.f_code.co_filename, frame.f_lineno)
    loss = now.seen.losses.get(place)
    if loss is None:
        loss = now.seen.losses[place] = Loss()
        if frame is not None:
            loss.file = frame.f_code.co_filename
            wanted = torch.nn.functional.cross_entropy
            loss.name = next((name for name, value in list(frame.f_globals.items()) if value is wanted), None)
    loss.bytes = max(loss.bytes, logits.numel() * logits.element_size())
    loss.classes = max(loss.classes, classes)
    loss.why_not = loss.why_not or _why_not(logits, target, options)
    return loss


def _why_not(logits, target, options):
    if options.get("weight") is not None:
        return "has weights of classes"
    if options.get("label_smoothing"):
        return "smooths its labels"
    if options.get("reduction", "mean") == "none":
        return "is not reduced"
    if options.get("size_average") is not None or options.get("reduce") is not None:
        return "is reduced by deprecated options"
    return "is not of logits (N, classes)" if logits.dim() != 2 or target.dim() != 1 else None


def largest(now):
    """The place and the Loss with the largest logits; (None, None) without one."""
    return max(now.seen.losses.items(), key=lambda item: item[1].bytes, default=(None, None))


def _loss_reason(now):
    place, loss = largest(now)
    if loss is None:
        return f"no call of F.cross_entropy over {MANY:,} classes or more" if now.seen.n_steps > 0 else None
    return f"the loss {loss.why_not} ({place})" if loss.why_not else None


def chunked_refusal(now, applied):
    if now.wants("linear_loss") is not None and now.wants("chunked_loss") is not None:
        return "linear_loss is applied"
    return f"the model is compiled ({now.seen.compiles})" if now.seen.compiles else _loss_reason(now)


def can(now):
    place, loss = largest(now)
    return {} if loss is None or loss.why_not else {"": f"{loss.bytes} {place}"}


def _heads(root):
    import torch

    return [(path, m) for path, m in root.named_modules() if isinstance(m, torch.nn.Linear) and m.out_features >= MANY]


def linear_refusal(now, applied):
    reason = unsuitable_models(now, applied)
    if reason is None and not any(_heads(root) for root in all_models(now)):
        reason = f"no linear layer makes {MANY:,} classes or more"
    if reason is None and (parallel_kind(now) or is_sharded(now) or now.wants("fully_shard") is not None):
        reason = "the head would be used outside of the module that synchronises its gradients"
    _, loss = largest(now)
    if reason is None and loss is not None and not any(
            head.out_features == loss.classes for root in all_models(now) for _, head in _heads(root)):
        reason = "the logits of the loss are not those of a linear layer"
    return reason or _loss_reason(now)


def linear_text(is_autocast):
    return _LINEAR.replace("        logits = head(x)", _UNDER_AUTOCAST) if is_autocast else _LINEAR


def _apply_linear(now, made, roots, argument):
    for root in roots:
        for path, head in _heads(root):
            _make_lazy(now, made, root, path, head)


def _make_lazy(now, made, root, path, head):
    import torch

    from . import lazy

    forward = head.forward
    place = places.before(made.place) if made.place is not None else ""
    variable = made.name_of(root)

    def run(x):
        if not (torch.is_grad_enabled() and head.training) or observe.is_compiling(torch):
            return forward(x)
        is_autocast = torch.is_autocast_enabled("cuda")
        text = linear_text(is_autocast)
        made_by = lines.run(text, observe.original)["head_and_loss"]
        if "linear_loss" not in now.did:
            call = _CALL.replace("HEAD", path)
            now.note_done("linear_loss", "", f"{path} and the loss in 8 chunks", lines.filled(text + call, model=variable), place)
        return lazy.make(x, head, forward, made_by)

    head.forward = run


CHUNKED = Row("chunked_loss", chunked_refusal, can)
LINEAR = Row("linear_loss", linear_refusal, can, _apply_linear)
