"""Where the lines of a change go, and the names of the program's variables in them."""
from . import lines, models, places


def done_to_model(now, made, root, name, argument, what, text, moves=True):
    """Notes a change of a model. `moves`: its lines may also go where the model is made; they ran where
    the optimizer is made."""
    after = _after_model(now, made, root) if moves else None
    if after is not None:
        place, variable = after
    else:
        place, variable = places.before(made.place) if made.place else "", made.name_of(root)
    now.note_done(name, argument, what, lines.filled(text, model=variable), place)


def _after_model(now, made, root):
    """The line that makes the model and its variable, if the optimizer is made in the same function and the
    variable still is the model."""
    place = models.place_of(now.seen, root)
    at = made.place
    if place is None or at is None or (place.file, place.function) != (at.file, at.function) or place.line >= at.line:
        return None
    variable, after = places.assigned(place), places.after(place)
    return (after, variable) if after is not None and variable is not None and variable == made.names.get(id(root)) else None


def done_to_optimizer(now, made, name, argument, what, text):
    """Notes a change of an optimizer that was just made."""
    after = places.after(made.place) if made.place is not None else None
    now.note_done(name, argument, what, lines.filled(text, optimizer=made.optimizer_name()), after or "")
