"""The command `tidemark-gpu`, and `python -m tidemark_gpu`: the program `tidemark`, found although another distribution may
own the command or the package of that name.
"""
import sys
from importlib import metadata


def main():
    import tidemark

    if not hasattr(tidemark, "_start"):
        sys.exit(f"tidemark-gpu: {not_ours(tidemark)}")
    from tidemark.__main__ import main as start

    start()


def not_ours(package):
    """Says which distribution the package `tidemark` is of."""
    folder = getattr(package, "__file__", None) or list(package.__path__)[0]
    names = set(metadata.packages_distributions().get("tidemark", [])) - {"tidemark-gpu"}
    others = ", ".join(f"{name} {metadata.version(name)}" for name in sorted(names))
    return (f"the package tidemark in {folder} is not that of tidemark-gpu, but of "
            f"{'the distribution ' + others if others else 'another program'}: install tidemark-gpu in an environment "
            "of its own, or uninstall the other and run pip install --force-reinstall tidemark-gpu")
