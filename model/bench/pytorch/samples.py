"""Statistics of timing samples taken in rounds: medians, quartiles, ratios and their spread.

A series is a list of rounds, a round the list of one process's samples in ms. Pure functions: no
torch, no files.
"""

from __future__ import annotations

import dataclasses
import random
from typing import Sequence

Series = Sequence[Sequence[float]]

N_RESAMPLES = 2000
SEED = 1  # the same samples give the same interval


def quantile(values: Sequence[float], fraction: float) -> float:
    """The quantile between the two nearest values, in proportion; fraction 0.5 is the median."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no samples")
    at = fraction * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def median(values: Sequence[float]) -> float:
    """The value in the middle, or between the two in the middle."""
    return quantile(values, 0.5)


def flat(series: Series) -> list[float]:
    """All samples of all rounds."""
    return [sample for one_round in series for sample in one_round]


def added(left: Series, right: Series) -> list[list[float]]:
    """Two phases of the same steps, added step by step."""
    return [[a + b for a, b in zip(x, y, strict=True)] for x, y in zip(left, right, strict=True)]


def ratio_of_medians(numerator: Series, denominator: Series) -> float:
    """Median of all samples over median of all samples."""
    return median(flat(numerator)) / median(flat(denominator))


def _resampled(source: random.Random, values: Sequence) -> list:
    return source.choices(values, k=len(values))


def bootstrap_interval(numerator: Series, denominator: Series) -> tuple[float, float]:
    """The middle 95 % of the ratio of medians when rounds, and samples in them, are drawn again.

    Rounds are drawn as pairs: what disturbed one side of a round may have disturbed the other.
    """
    source = random.Random(SEED)
    pairs = list(zip(numerator, denominator, strict=True))
    ratios = []
    for _ in range(N_RESAMPLES):
        drawn = _resampled(source, pairs)
        ratios.append(
            ratio_of_medians(
                [_resampled(source, above) for above, _ in drawn],
                [_resampled(source, below) for _, below in drawn],
            )
        )
    return quantile(ratios, 0.025), quantile(ratios, 0.975)


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One phase of one side over the same phase of another."""

    numerator: Series
    denominator: Series
    ratio: float  # of the medians of all samples
    interval: tuple[float, float]  # 95 %, by bootstrap over rounds
    round_range: tuple[float, float]  # smallest and largest ratio of medians within a round


def compare(numerator: Series, denominator: Series) -> Comparison:
    """All there is to say about two series with the same number of rounds."""
    ratios = [median(a) / median(b) for a, b in zip(numerator, denominator, strict=True)]
    return Comparison(
        numerator=numerator,
        denominator=denominator,
        ratio=ratio_of_medians(numerator, denominator),
        interval=bootstrap_interval(numerator, denominator),
        round_range=(min(ratios), max(ratios)),
    )
