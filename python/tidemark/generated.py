"""Announces the files of Triton's kernels to the virtual card, for the launch log."""
from . import card
from .imports import when_imported


def watch():
    """Does nothing without a launch log, which the card checks."""
    when_imported({"triton.knobs": _change})


def _change(knobs):
    chain = getattr(knobs.runtime, "kernel_load_end_hook", None)
    if hasattr(chain, "add"):  # Triton 3.5 and later
        chain.add(_loaded)


def _loaded(module, function, name, metadata_group, hash):
    # Triton shortens long names of files, but not the kernel's.
    path = next((path for file, path in (metadata_group or {}).items() if file.endswith(".cubin")), None)
    if path is not None and isinstance(function, int):
        card.announce_kernel(function, str(path))
