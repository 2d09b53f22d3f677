"""The shapes of the course's transformer and their options, named as in tidemark profile."""

from __future__ import annotations

import argparse
import dataclasses


@dataclasses.dataclass(frozen=True)
class Shape:
    """A model with its batch."""

    d_model: int
    layers: int
    heads: int
    d_ff: int
    vocab: int = 10000
    batch: int = 4
    context: int = 128
    rope_theta: float = 10000.0

    def n_parameters(self) -> int:
        """2 V C + L (4 C^2 + 3 C F + 2 C) + C, as in model/config.h."""
        width = self.d_model
        block = 4 * width * width + 3 * width * self.d_ff + 2 * width
        return 2 * self.vocab * width + self.layers * block + width


SIZES = {
    "small": Shape(d_model=768, layers=12, heads=12, d_ff=3072),
    "medium": Shape(d_model=1024, layers=24, heads=16, d_ff=4096),
    "large": Shape(d_model=1280, layers=36, heads=20, d_ff=5120),
    "xl": Shape(d_model=1600, layers=48, heads=25, d_ff=6400),
    "2.7B": Shape(d_model=2560, layers=32, heads=32, d_ff=10240),
    "10B": Shape(d_model=4608, layers=50, heads=36, d_ff=12288),
}

OPTIONS = ("d_model", "layers", "heads", "d_ff", "vocab", "batch", "context")


def count(text: str) -> int:
    """An argument that is a whole number, at least 1."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number from 1 up")
    return value


def count_or_none(text: str) -> int:
    """An argument that is a whole number, 0 too."""
    return 0 if text == "0" else count(text)


def add_shape_options(parser: argparse.ArgumentParser) -> None:
    """Adds --size and the options that change a preset."""
    group = parser.add_argument_group("shape, as in tidemark profile")
    group.add_argument("--size", choices=list(SIZES), default="small", help="default %(default)s")
    for name in OPTIONS:
        group.add_argument("--" + name.replace("_", "-"), type=count, metavar="N")


def shape_from(arguments: argparse.Namespace) -> Shape:
    """The preset with what the options change; ValueError where heads do not divide the width."""
    given = {name: getattr(arguments, name) for name in OPTIONS}
    changes = {name: value for name, value in given.items() if value is not None}
    shape = dataclasses.replace(SIZES[arguments.size], **changes)
    if shape.d_model % shape.heads != 0 or shape.d_model // shape.heads % 2 != 0:
        raise ValueError(
            f"--heads {shape.heads} must divide --d-model {shape.d_model} into even widths"
        )
    return shape


def shape_words(arguments: argparse.Namespace) -> list[str]:
    """The shape's options as they were given, for tidemark profile and pytorch_steps.py alike."""
    words = ["--size", arguments.size]
    for name in OPTIONS:
        value = getattr(arguments, name)
        if value is not None:
            words += ["--" + name.replace("_", "-"), str(value)]
    return words
