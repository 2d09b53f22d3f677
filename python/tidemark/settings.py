"""The settings of `tidemark run` in the environment, which a program may have emptied since."""
import functools
import os


def get(name, otherwise=None):
    """The variable's value now, or else the one with which the process was started."""
    return os.environ.get(name) or _at_start().get(name, otherwise)


@functools.lru_cache(None)
def _at_start():
    try:
        with open("/proc/self/environ", errors="surrogateescape") as file:
            return dict(line.partition("=")[::2] for line in file.read().split("\0"))
    except OSError:
        return {}
