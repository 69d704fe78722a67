"""Spaces: the values that a sweep or a study gives to keys, each named by its path.

>>> space = {
...     "ftl.gc": ["greedy", "cost-benefit"],               # these
...     "host.queue_depth": "1..4",                         # 1, 2, 3 and 4
...     "buffer.capacity": Range("1MiB", "64MiB", log=True),  # whole multiples of 1 MiB
...     "device.over_provisioning": Range(0.07, 0.28),
... }
>>> points = sample(space, 50, seed=1)
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product

from .experiment import _flattened

__all__ = ["Choice", "Point", "Range", "Space", "dimensions", "grid", "sample"]

Value = bool | int | float | str
Point = Mapping[str, Value]
"""Values by the paths of their keys: one run of a sweep."""

_QUANTITY = re.compile(r"\s*(\d[\d_]*)\s*([^\d\s.].*?)\s*")
# Most values of a range, and runs of a grid, as the program has it for a comparison.
_VALUES = 10_000
_RUNS = 100_000
_RANGE = re.compile(r"(\d+)\.\.(\d+)(?:\.\.(\d+))?")


@dataclass(frozen=True)
class Choice:
    """One of some values, without an order."""

    options: tuple[Value, ...]

    def __init__(self, *options: Value) -> None:
        if not options:
            raise ValueError("a choice has at least one value")
        object.__setattr__(self, "options", options)

    def values(self) -> Sequence[Value]:
        """Every value."""
        return self.options

    def draw(self, source: random.Random) -> Value:
        """A value at random."""
        return source.choice(self.options)


@dataclass(frozen=True)
class Range:
    """A number between two bounds, both included.

    Ints give whole numbers, floats shares, and texts whole multiples of the unit that both are written in:
    `Range("1MiB", "64MiB")`. `log` draws small ones as often as large ones; `step` is the distance of values from one
    another. Raises `ValueError` for bounds that go down, or differ in their unit.
    """

    low: int | float | str
    high: int | float | str
    step: int = 1
    log: bool = False
    bounds: tuple[int, int] | tuple[float, float] = field(init=False, repr=False, compare=False)
    """The bounds as numbers, in the unit."""
    unit: str = field(init=False, repr=False, compare=False)
    """The unit of a quantity; empty for a plain number."""

    def __post_init__(self) -> None:
        (low, unit), (high, other) = _number(self.low), _number(self.high)
        if unit != other:
            raise ValueError(f"both bounds of a range have the same unit, not `{self.low}` and `{self.high}`")
        if not low <= high or self.log and low <= 0:
            raise ValueError(f"{self} is no range: its bounds go up{', from above 0' if self.log else ''}")
        if isinstance(self.step, bool) or not isinstance(self.step, int) or self.step < 1:
            raise ValueError(f"the step of a range is a whole number from 1, not {self.step!r}")
        whole = isinstance(low, int) and isinstance(high, int)
        if self.step > 1 and (self.log or not whole):
            raise ValueError("only a range of whole numbers without `log` has a step")
        object.__setattr__(self, "bounds", (low, high) if whole else (float(low), float(high)))
        object.__setattr__(self, "unit", unit)

    @property
    def is_whole(self) -> bool:
        """True if the numbers are whole ones."""
        return isinstance(self.bounds[0], int)

    def value(self, number: int | float) -> Value:
        """The number as a configuration has it, with its unit."""
        return f"{number}{self.unit}" if self.unit else number

    def values(self) -> Sequence[Value]:
        """Every value of a range of whole numbers. Raises `ValueError` of another."""
        low, high = self.bounds
        if not isinstance(low, int) or not isinstance(high, int) or self.log:
            raise ValueError(f"{self} has no end of values for a grid: list them, or draw some with `sample`")
        return [self.value(number) for number in _counted(range(low, high + 1, self.step))]

    def draw(self, source: random.Random) -> Value:
        """A value at random."""
        low, high = self.bounds
        if self.log:
            drawn = math.exp(source.uniform(math.log(low), math.log(high)))
            return self.value(min(max(round(drawn) if self.is_whole else drawn, low), high))
        if isinstance(low, int) and isinstance(high, int):
            return self.value(source.randrange(low, high + 1, self.step))
        return self.value(source.uniform(low, high))


Dimension = Range | Choice
Space = Mapping[str, object]
"""By the path of each key, or nested: a `Range`, a `Choice`, a list of values, or a text as `--vary` takes it."""


def dimensions(space: Space) -> dict[str, Dimension]:
    """The dimension of each key. Raises `TypeError` or `ValueError` of what is none."""
    found = {path: _dimension(path, values) for path, values in _flattened(space)}
    if not found:
        raise ValueError("a space has at least one key")
    return found


def grid(space: Space) -> list[Point]:
    """Every combination of the values of a space; the last key changes fastest. Raises `ValueError` if there are more
    than 100,000, of which `sample` draws some."""
    axes = {path: axis.values() for path, axis in dimensions(space).items()}
    if (count := math.prod(map(len, axes.values()))) > _RUNS:
        raise ValueError(f"{count:,} combinations, more than {_RUNS:,}: draw some with `sample`")
    return [dict(zip(axes, values)) for values in product(*axes.values())]


def sample(space: Space, count: int, *, seed: int = 0) -> list[Point]:
    """Some points of a space, drawn evenly; more of them begin with the same ones.

    >>> sample({"host.queue_depth": Range(1, 256, log=True)}, 3, seed=1)
    [{'host.queue_depth': 2}, {'host.queue_depth': 110}, {'host.queue_depth': 69}]
    """
    axes = dimensions(space)
    source = random.Random(seed)
    return [{path: axis.draw(source) for path, axis in axes.items()} for _ in range(count)]


def _dimension(path: str, values: object) -> Dimension:
    if isinstance(values, (Range, Choice)):
        return values
    if isinstance(values, str):
        return Choice(*(value for part in values.split(",") for value in _listed(part.strip())))
    if not isinstance(values, Iterable) or isinstance(values, bytes):
        raise TypeError(f"`{path}` is a Range, a Choice, a list or a text such as \"1..4\", not {values!r}")
    options = list(islice(values, _VALUES + 1))
    if not options:
        raise ValueError(f"`{path}` has no values")
    if len(options) > _VALUES:
        raise ValueError(f"`{path}` has more than {_VALUES:,} values")
    return Choice(*options)


def _listed(text: str) -> Iterable[Value]:
    """The values that a part of a text stands for."""
    if found := _RANGE.fullmatch(text):
        low, high, step = int(found[1]), int(found[2]), int(found[3] or 1)
        if high < low or not step or (high - low) % step:
            raise ValueError(f"`{text}` is no range: it goes up, and its steps meet its end")
        return _counted(range(low, high + 1, step))
    if text in ("true", "false"):
        return [text == "true"]
    for kind in (int, float):
        try:
            return [kind(text)]
        except ValueError:
            pass
    return [text]


def _counted(numbers: range) -> range:
    # A range may have more numbers than `len` can say.
    if numbers and (count := (numbers[-1] - numbers[0]) // numbers.step + 1) > _VALUES:
        raise ValueError(f"from {numbers[0]} to {numbers[-1]} are {count:,} values, more than {_VALUES:,}")
    return numbers


def _number(bound: object) -> tuple[int | float, str]:
    """A bound, and its unit."""
    if isinstance(bound, str):
        if not (found := _QUANTITY.fullmatch(bound)):
            raise ValueError(f"a bound with a unit is a whole number and the unit, such as \"4KiB\", not \"{bound}\"")
        return int(found[1]), found[2]
    if isinstance(bound, bool) or not isinstance(bound, (int, float)) or not math.isfinite(bound):
        raise TypeError(f"a bound of a range is an int, a float or a text with a unit, not {bound!r}")
    return bound, ""
