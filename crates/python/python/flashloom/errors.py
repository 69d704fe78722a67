"""Exceptions of the package: each is a subclass of `Error`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import _flashloom

__all__ = [
    "CheckError",
    "ClosedError",
    "ConfigError",
    "DriveError",
    "EngineError",
    "Error",
    "ExpectationError",
    "InputError",
    "InterruptedRun",
    "MissingLibraryError",
    "Problem",
    "ProblemError",
    "UnknownKeyError",
    "UnusedKeyWarning",
]


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong in a configuration or an input file.

    `str` of it is what the program prints: the line, with the place underlined.
    """

    file: str
    """The file as it was named; `set` or `vary` for values given in Python."""
    line: int | None
    """Line, from 1; `None` for a file as a whole, or a binary one."""
    column: int | None
    """Column in characters, from 1."""
    found: str
    """What was found."""
    expected: str
    """What was expected; may be empty."""
    help: str | None
    """What to do, if that is known: the nearest valid name, for example."""
    text: str
    """All of it, as the program prints it."""

    def __str__(self) -> str:
        return self.text


def _visible(text: str) -> str:
    """A text as it may be shown: controls, marks of direction and what cannot be seen by their numbers."""
    return _flashloom.visible(text.encode("utf-8", "backslashreplace").decode("utf-8"))


class Error(Exception):
    """Base of every exception of this package. In its `str`, whatever came from a file can be seen."""

    def __str__(self) -> str:
        return _visible(super().__str__())


class ProblemError(Error):
    """Problems of something that a user wrote, found in one pass. `str` of it is what the program prints."""

    problems: tuple[Problem, ...]
    """Every problem, with its place."""

    def __init__(
        self,
        text: str,
        problems: Sequence[tuple[str, int | None, int | None, str, str, str | None, str]] = (),
    ) -> None:
        super().__init__(text, problems)
        self.problems = tuple(Problem(*parts) for parts in problems)

    def __str__(self) -> str:
        return _visible(str(self.args[0]))


class ConfigError(ProblemError):
    """A configuration that is wrong: a key, a value, or values that do not go together."""


class UnknownKeyError(ConfigError, AttributeError):
    """A name that is no key of its section."""


class UnusedKeyWarning(UserWarning):
    """A key that was written and has no effect on the runs."""


class InputError(ProblemError):
    """An input file that is wrong: a recording, a job file, a saved drive."""


class CheckError(Error):
    """Accounts of a run that do not add up, a check of a verified run that failed, or a drive that never got steady."""


class ExpectationError(Error):
    """Expectations of an experiment that do not hold. `comparison` has the runs, and every expectation."""

    def __init__(self, message: str, comparison: object = None) -> None:
        super().__init__(message, comparison)
        self.comparison = comparison

    def __str__(self) -> str:
        return _visible(str(self.args[0]))


class EngineError(Error):
    """A call that an engine or a live drive cannot follow: a time that has passed, a request beyond the drive, two
    threads at once in an engine."""


class DriveError(Error):
    """A command that a live drive has failed. `status` says why, in the words of a `Completion`."""

    status: str
    """`end_of_life`: the life of the drive ended while it was inside; `read_only`: it had ended before; `unreadable`:
    the flash array could not read a page."""

    def __init__(self, status: str) -> None:
        super().__init__(status)
        self.status = status

    def __str__(self) -> str:
        return f"the drive has failed the command: {self.status}"


class ClosedError(Error):
    """A stream, an engine or a live drive that is closed, or a stream that was not read to its end."""


class InterruptedRun(Error):
    """A run that was ended before its time."""


class MissingLibraryError(Error, ImportError):
    """A library that is not installed, and that what was asked for needs."""
