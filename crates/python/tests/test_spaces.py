"""Spaces: grids, ranges, points drawn at random."""

from __future__ import annotations

import itertools

import pytest
from flashloom import Choice, Range, sample
from flashloom.spaces import Space, grid


def test_a_grid_has_every_combination_and_its_last_key_changes_fastest() -> None:
    points = grid({"host.scheduler": ["noop", "cfq"], "host": {"queue_depth": "1..3..2"}, "ftl.gc": Choice("fifo")})
    assert [tuple(point.values()) for point in points] == [
        ("noop", 1, "fifo"),
        ("noop", 3, "fifo"),
        ("cfq", 1, "fifo"),
        ("cfq", 3, "fifo"),
    ]


def test_a_text_lists_values_as_the_option_of_compare_does() -> None:
    assert [point["a.b"] for point in grid({"a.b": "1,4..6, x,0.5,true"})] == [1, 4, 5, 6, "x", 0.5, True]


def test_a_quantity_is_a_whole_multiple_of_its_unit() -> None:
    assert [point["a.b"] for point in grid({"a.b": Range("1MiB", "5MiB", step=2)})] == ["1MiB", "3MiB", "5MiB"]
    drawn = [str(point["a.b"]) for point in sample({"a.b": Range("1ms", "1000ms", log=True)}, 300, seed=4)]
    numbers = [int(value.removesuffix("ms")) for value in drawn]
    assert 1 <= min(numbers) < 3 and 500 < max(numbers) <= 1000
    assert 60 < sum(number <= 10 for number in numbers) < 140, "a decade has a third of them"


def test_more_points_begin_with_the_same_ones() -> None:
    space = {"a.b": Range(0.07, 0.28), "a.c": ["x", "y"], "a.d": Range(4, 64, step=4)}
    assert sample(space, 9, seed=2)[:5] == sample(space, 5, seed=2) != sample(space, 5, seed=3)
    assert all(int(point["a.d"]) % 4 == 0 for point in sample(space, 50))


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ({}, "at least one key"),
        ({"a.b": []}, "no values"),
        ({"a.b": 5}, "is a Range"),
        ({"a.b": "4..1"}, "is no range"),
        ({"a.b": "1..4..2"}, "is no range"),
        ({"a.b": Range(0.1, 0.2)}, "no end of values"),
        ({"a.b": Range(1, 64, log=True)}, "no end of values"),
        ({1: [2]}, "a key is a str"),
        ({"a.b": "1..100000000000"}, "more than 10,000"),
        ({"a.b": Range(1, 1 << 80)}, "more than 10,000"),
        ({"a.b": itertools.count()}, "more than 10,000"),
        ({"a.b": "1..1000", "a.c": "1..1000"}, "draw some with `sample`"),
    ],
)
def test_what_is_no_grid_is_refused(space: Space, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        grid(space)


@pytest.mark.parametrize(
    ("low", "high", "options", "message"),
    [
        (2, 1, {}, "go up"),
        (0, 8, {"log": True}, "above 0"),
        ("1MiB", "2KiB", {}, "same unit"),
        ("1MiB", 2, {}, "same unit"),
        ("MiB", "2MiB", {}, "whole number and the unit"),
        ("1.5MiB", "2MiB", {}, "whole number and the unit"),
        (1, 8, {"step": 0}, "from 1"),
        (0.1, 0.8, {"step": 2}, "has a step"),
        (float("nan"), 1, {}, "is an int, a float"),
        (True, 2, {}, "is an int, a float"),
    ],
)
def test_what_is_no_range_is_refused(low: object, high: object, options: dict[str, int], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        Range(low, high, **options)  # type: ignore[arg-type]
