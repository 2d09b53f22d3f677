"""What goes to the process's own stderr, and functions that fail without the program's notice."""
import functools
import os

_told = []  # whether the sentence about modules without names was said


def tell(text):
    """A line on the process's own stderr: the program may have put something of its own into sys.stderr."""
    try:
        os.write(2, f"tidemark: {text}\n".encode(errors="backslashreplace"))
    except OSError:
        pass  # it is closed


def tell_nameless(error):
    """A class of the program's may do anything when it is asked for its names; the recording goes on."""
    if not _told:
        _told.append(True)
        tell(f"some modules have no names: {type(error).__name__}: {error}")


def named(function):
    """The pairs that a module gives, named_parameters() for one; none where it raises."""
    try:
        return list(function())
    except Exception as error:
        tell_nameless(error)
        return []


def quietly(function):
    """The program never sees what the function raises; one line says that some names are missing."""

    @functools.wraps(function)
    def call(*arguments, **named_arguments):
        try:
            return function(*arguments, **named_arguments)
        except Exception as error:
            tell_nameless(error)
            return None

    return call
