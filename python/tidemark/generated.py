"""Tells the virtual card where Triton keeps the texts of the kernels that it loads, for the launch log."""
from . import card
from .imports import when_imported


def watch():
    """Nothing where no launch log is written, as the card itself decides."""
    when_imported({"triton.knobs": _change})


def _change(knobs):
    chain = getattr(knobs.runtime, "kernel_load_end_hook", None)
    if hasattr(chain, "add"):  # Triton 3.5 and later
        chain.add(_loaded)


def _loaded(module, function, name, metadata_group, hash):
    path = (metadata_group or {}).get(f"{name}.cubin")
    if path is not None and isinstance(function, int):
        card.announce_kernel(function, str(path))
