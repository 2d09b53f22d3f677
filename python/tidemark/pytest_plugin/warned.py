"""Warnings of a test, on their way from its process to that of the session."""
import sys
import warnings


def describe(record):
    """A warnings.WarningMessage as plain values."""
    return {"text": str(record.message), "module": record.category.__module__, "category": record.category.__name__,
            "filename": record.filename, "lineno": record.lineno}


def restore(facts):
    """The warnings.WarningMessage. Its category is Warning if this process has not imported the test's."""
    category = getattr(sys.modules.get(facts["module"]), facts["category"], Warning)
    try:
        message = category(facts["text"])
    except Exception:  # a class of the user with other arguments
        category, message = Warning, Warning(facts["text"])
    return warnings.WarningMessage(message, category, facts["filename"], facts["lineno"])
