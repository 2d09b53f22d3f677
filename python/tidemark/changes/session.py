"""What one process is asked to change, and what came of it."""
import sys

from .. import settings, telling

now = None  # the Session of this process


class Seen:
    """What the program does. Holds no tensor, and modules only weakly."""

    def __init__(self):
        self.modules = {}  # id -> weak reference, place of its construction
        self.optimizers = []  # a Made of each (made.py)
        self.n_steps = 0  # of the first optimizer
        self.n_backwards = 0
        self.losses = {}  # place -> Loss (loss.py)
        self.attention = {}  # place -> [calls, bytes of the largest square]
        self.masks = {}  # place -> bytes of the largest mask
        self.loaders = []  # Loader (loaders.py)
        self.n_evaluations = 0  # forward passes in eval mode with gradients on
        self.evaluation_reaches_backward = False
        self.clips = None  # the place, as in the following
        self.scales = None
        self.checkpoints = None
        self.captures = None
        self.compiles = None
        self.autocasts = None
        self.closes = None  # step() with a closure
        self.schedules = None  # a scheduler's step
        self.forward_place = None  # where the first model is called
        self.clears_by_model = None
        self.sums = None  # backward() of a loss that is summed
        self.keeps_zeros = None  # zero_grad(set_to_none=False)
        self.reduces = []  # places where DistributedDataParallel is made, and whether with bucket views


class Session:
    """The changes that are asked for, and the result of each."""

    def __init__(self, wanted):
        self.wanted = wanted  # [(name, argument or "")]
        self.seen = Seen()
        self.did = {}  # "checkpoint:Block" -> Done
        self.refused = {}  # name -> reason
        self.is_swapped = False  # an optimizer is made whose place another one takes
        self.is_inner = False  # an optimizer is made by a change
        self.marks_steps = False  # a change marks the steps of the recording
        self.set = None  # the list of this process as text, if one import makes many runs (many.py)

    def wants(self, name):
        """The argument of a change that is asked for and not refused; None if it is not asked for."""
        for known, argument in self.wanted:
            if known == name and name not in self.refused:
                return argument
        return None

    def refuse(self, name, reason):
        """Refuses a change that is asked for: nothing of it counts as applied."""
        if name in self.refused:
            return
        self.refused[name] = reason
        for key in [key for key in self.did if key.partition(":")[0] == name]:
            del self.did[key]
        telling.tell(f"{name} is not applied: {reason}")

    def note_done(self, name, argument, what, lines, place):
        key = f"{name}:{argument}" if argument else name
        done = self.did.setdefault(key, Done())
        done.what.append(what)
        done.lines.append((lines, place))


class Done:
    """An applied change: what was changed, and the lines that ran, each with their place."""

    def __init__(self):
        self.what = []
        self.lines = []


def parse(text):
    """The list of changes in TIDEMARK_CHANGES, without "observe"."""
    pairs = [item.strip().partition(":")[::2] for item in (text or "").split(",") if item.strip()]
    return [(name, argument) for name, argument in pairs if name != "observe"]


def begin():
    global now
    now = Session([])
    want(parse(settings.get("TIDEMARK_CHANGES")))
    return now


def want(wanted):
    """Sets the list of this process. A forked child has its own (many.py)."""
    from . import table

    now.wanted = sorted(wanted, key=lambda pair: table.order(pair[0]))
    for name, argument in wanted:
        reason = table.misnamed(name, argument)
        if reason is not None:
            now.refuse(name, reason)


def recorder():
    """The recording of this process; None before CUDA is initialised."""
    module = sys.modules.get(__package__.rpartition(".")[0] + ".recording")
    return getattr(module, "_recording", None)
