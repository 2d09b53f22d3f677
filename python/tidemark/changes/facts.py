"""Writes to the log what the program does, what can be changed in it, and what was changed."""
import sys

from .. import live, telling
from . import checkpoint, models, session, table
from .row import all_models, first_model

_library = []  # the functions of the preloaded library; None without one
_written = {}  # key -> the text in the log


def write(now):
    """Writes the facts that are new or differ. The program never sees a failure."""
    try:
        _write(now)
    except Exception as error:
        telling.tell(f"facts for `tidemark plan` are missing: {type(error).__name__}: {error}")


def _write(now):
    if not _library:
        _library.append(live.find())
    if _library[0] is None:
        return
    new = _facts(now)
    new.update((key, "") for key in _written if key not in new)  # no longer so
    for key, text in new.items():
        if _written.get(key) != text:
            _written[key] = text
            _library[0].describe("plan." + key, text)


def _refuse_recomputed(now):
    """Refuses checkpoints whose sizes differ when they are computed again: on a virtual card, sizes may depend on
    values that nothing computes."""
    if type(getattr(sys, "last_value", None)).__name__ == "CheckpointError":
        for name in sorted({key.partition(":")[0] for key in now.did if key.startswith("checkpoint")}):
            now.refuse(name, "sizes in the checkpointed modules depend on values that the card does not compute")


def _facts(now):
    facts = {}
    _refuse_recomputed(now)
    _add_program(now, facts)
    _add_possible(now, facts)
    for name, reason in now.refused.items():
        facts[f"cannot.{name}"] = reason
    for key, done in now.did.items():
        facts[f"did.{key}"] = "; ".join(_times(done.what))
        facts[f"lines.{key}"] = _lines(list(dict.fromkeys(done.lines)))
        facts[f"place.{key}"] = "; ".join(_counted([place for _, place in done.lines]))
        if _changes_numbers(now, key):
            facts[f"risk.{key}"] = "numbers"
    return {key: text for key, text in facts.items() if len(text) < 60000}


def _lines(parts):
    """The lines of a change. If they belong at several places, each part begins with a comment."""
    if len({place for _, place in parts}) < 2:
        return "\n".join(text for text, _ in parts)
    return "\n".join(f"# at {place}\n{text}" for text, place in parts)


def _times(texts):
    """Each text once, with the number of times if there are several."""
    return [text if texts.count(text) == 1 else f"{text}, {texts.count(text)} times" for text in _counted(texts)]


def _counted(texts):
    """Each text once, in order."""
    return list(dict.fromkeys(text for text in texts if text))


def _add_program(now, facts):
    seen = now.seen
    if now.set is not None:
        facts["set"] = now.set
    if all_models(now):
        facts["model"] = first_model(now)
    attention = max(seen.attention.items(), key=lambda item: item[1][1], default=None)
    if attention is not None:
        facts["attention"] = f"{attention[1][0]} {attention[0] or '?'} {attention[1][1]}"
    masks = max(seen.masks.items(), key=lambda item: item[1], default=None)
    if masks is not None:
        facts["masks"] = f"{masks[0] or '?'} {masks[1]}"
    if seen.n_evaluations > 0:
        facts["evaluates"] = str(seen.n_evaluations)


def _add_possible(now, facts):
    if not now.seen.optimizers and not now.seen.n_backwards:
        return
    for row in table.ROWS:
        applied = any(key.partition(":")[0] == row.name for key in now.did)
        reason = row.refusal(now, applied)
        if applied and reason is not None:
            now.refuse(row.name, reason)
        elif applied:
            continue
        elif reason is not None:
            facts[f"cannot.{row.name}"] = reason
        elif row.name not in now.refused:
            for argument, detail in row.can(now).items():
                facts[f"can.{row.name}:{argument}" if argument else f"can.{row.name}"] = detail or "yes"


def _changes_numbers(now, key):
    import torch

    name, _, kind = key.partition(":")
    if not name.startswith("checkpoint"):
        return False
    roots = all_models(now)
    if name == "checkpoint_library":
        return any(models.has_batch_norm(torch, root) for root in roots)
    return any(checkpoint.changes_numbers(torch, root, kind) for root in roots)


def forget():
    """A forked child writes a log of its own."""
    _library.clear()
    _written.clear()
