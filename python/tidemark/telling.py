"""Messages on the process's own stderr, and functions whose failures the program does not see."""
import functools
import os

_told = []  # whether the sentence about modules without names was printed


def tell(text):
    """Prints a line on the process's own stderr: the program may have replaced sys.stderr."""
    try:
        os.write(2, f"tidemark: {text}\n".encode(errors="backslashreplace"))
    except OSError:
        pass  # it is closed


def tell_nameless(error):
    """Reports a class that failed to return its names, because it may do anything; the recording
    continues."""
    if not _told:
        _told.append(True)
        tell(f"some modules have no names: {type(error).__name__}: {error}")


def named(function):
    """The pairs that a module returns, for example from named_parameters(); none if it raises."""
    try:
        return list(function())
    except Exception as error:
        tell_nameless(error)
        return []


def quietly(function):
    """The program never sees what the function raises; one line reports that some names are missing."""

    @functools.wraps(function)
    def call(*arguments, **named_arguments):
        try:
            return function(*arguments, **named_arguments)
        except Exception as error:
            tell_nameless(error)
            return None

    return call
