"""Saves files of safetensors into the scratch view (see docs/internals/scratch-view.md).

safetensors writes a file next to the requested one, and then renames it by a direct system call. The scratch
view sees only calls of the C library: the written file is in the view, and the rename does not find it. Here
the program's path is replaced by the path of the copy, so both steps use real names.
"""
import functools
import os
import sys

from . import settings
from .imports import when_imported


def keep_in_view():
    """Replaces the function of safetensors, if there is a scratch view."""
    if settings.get("TIDEMARK_SCRATCH") is not None:
        when_imported({"safetensors": _change})


def _change(package):
    save = package.serialize_file
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "safetensors" and getattr(module, "serialize_file", None) is save:
            module.serialize_file = _saver(save)


def _saver(save):
    @functools.wraps(save)
    def serialize_file(tensors, filename, *args, **kwargs):
        is_new = not os.path.lexists(filename)
        copy = _make_copy(filename)
        try:
            return save(tensors, copy, *args, **kwargs)
        except BaseException:
            if is_new and copy != filename:
                os.unlink(filename)
            raise

    return serialize_file


def _make_copy(filename):
    """The path of the file's copy; the file's own path if writes are not diverted, or it cannot be written."""
    try:
        with open(filename, "ab"):  # makes the copy
            pass
    except OSError:
        return filename
    copy = settings.get("TIDEMARK_SCRATCH") + "/files" + os.path.realpath(filename)
    return copy if os.path.lexists(copy) else filename
