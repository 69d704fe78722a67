"""Distributions of latency."""

from __future__ import annotations

import array
import math
from bisect import bisect_left
from itertools import accumulate

__all__ = ["Histogram"]


class Histogram:
    """A whole distribution of latencies in nanoseconds, by bucket.

    Buckets are no wider than a thousandth of their values; only those that hold anything are kept. `lowest`,
    `highest` and `counts` are `array.array`s of 64-bit integers: `numpy.asarray(histogram.counts)` copies nothing.

    >>> reads = result.histogram("read")  # doctest: +SKIP
    >>> reads.percentile(99.9)  # doctest: +SKIP
    1646591
    """

    lowest: array.array[int]
    """Lowest latency of each bucket, in nanoseconds."""
    highest: array.array[int]
    """Highest latency of each bucket, in nanoseconds."""
    counts: array.array[int]
    """Latencies in each bucket."""
    count: int
    """Number of latencies."""
    mean: float
    """Exact mean in nanoseconds; 0 if there are none."""
    stddev: float
    """Standard deviation in nanoseconds; 0 if there are none."""
    min: int
    """Exact minimum in nanoseconds; 0 if there are none."""
    max: int
    """Exact maximum in nanoseconds; 0 if there are none."""

    def __init__(
        self, buckets: list[bytes], count: int, mean: float, stddev: float, minimum: int, maximum: int
    ) -> None:
        self.lowest, self.highest, self.counts = (array.array("Q", part) for part in buckets)
        self.count, self.mean, self.stddev, self.min, self.max = count, mean, stddev, minimum, maximum
        self._up_to = array.array("Q", accumulate(self.counts))

    def percentile(self, percent: float) -> int:
        """The latency in nanoseconds that `percent` (0 to 100) of all do not exceed; 0 if there are none.

        Raises `ValueError` for a number outside that range, and `TypeError` for what is no number.
        """
        percent = float(percent)
        if not 0.0 <= percent <= 100.0:
            raise ValueError(f"a percentile is from 0 to 100, not {percent}")
        if self.count == 0:
            return 0
        wanted = max(math.ceil(percent / 100.0 * self.count), 1)
        bucket = min(bisect_left(self._up_to, wanted), len(self.counts) - 1)
        return min(self.lowest[bucket] if percent == 0.0 else self.highest[bucket], self.max)

    def edges(self) -> array.array[int]:
        """Edges of the buckets in nanoseconds, one more than there are counts: each is the lowest latency of a bucket,
        the last is the first beyond."""
        return array.array("Q", [*self.lowest, self.highest[-1] + 1] if self.lowest else [])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Histogram) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        """Number of buckets that hold anything."""
        return len(self.counts)

    def __repr__(self) -> str:
        return f"<flashloom.Histogram of {self.count:,} latencies: p50 {self.percentile(50):,} ns, max {self.max:,} ns>"
