"""The engine: a host and its drive, stepped request by request."""

from __future__ import annotations

from typing import NamedTuple

from . import _flashloom
from .result import Result

__all__ = ["Completion", "Engine"]


class Completion(NamedTuple):
    """A request that has ended."""

    id: int
    """What `submit` returned."""
    time_ns: int
    """When, in nanoseconds of simulated time."""
    status: str
    """`done`, or why it failed: `end_of_life`, `read_only`, `unreadable`."""


class Engine:
    """A host and its drive at a moment of simulated time: requests go in, time passes, completions come out.

    >>> engine = experiment.engine()  # doctest: +SKIP
    >>> for page in range(32):  # doctest: +SKIP
    ...     engine.submit("write", lba=16 * page, sectors=16)
    >>> engine.drain()[-1].time_ns  # doctest: +SKIP

    One thread at a time: a call while another thread is in one raises `EngineError`. `[workload]`, `run.drain` and
    `run.end_of_life` have no effect.
    """

    def __init__(self, inner: _flashloom.Engine) -> None:
        if not isinstance(inner, _flashloom.Engine):
            raise TypeError("an engine is made by `Experiment.engine`")
        self._inner = inner

    def submit(
        self,
        op: str,
        lba: int,
        sectors: int,
        *,
        task: int = 0,
        sync: bool = False,
        preflush: bool = False,
        fua: bool = False,
    ) -> int | None:
        """A request arrives now: `op` is `read`, `write`, `discard` or `flush` (or a trace's `R`, `W`, `D`, `F`), from
        sector `lba` on, in sectors of 512 bytes.

        Returns its id, or `None` if there is no room: submit it again after a completion. Raises `EngineError` for a
        request that does not fit the drive, `OverflowError` for a number that is negative or too large.
        """
        return self._inner.submit(op, lba, sectors, task, sync, preflush, fua)

    def step(self, until_ns: int | None = None) -> list[Completion]:
        """Lets time pass until a moment in nanoseconds, or without one until the next thing happens; returns what has
        ended, in order of time. Raises `EngineError` for a time that has passed."""
        return [Completion(*ended) for ended in self._inner.step(until_ns)]

    def drain(self) -> list[Completion]:
        """Lets time pass until no request is outstanding; returns what has ended."""
        completions = []
        while self.outstanding and self.next_event_ns is not None:
            completions += self.step()
        return completions

    @property
    def now_ns(self) -> int:
        """Simulated time, in nanoseconds."""
        return self._inner.now_ns()

    @property
    def next_event_ns(self) -> int | None:
        """When something will happen by itself; `None` while the engine waits for requests."""
        return self._inner.next_event_ns()

    @property
    def outstanding(self) -> int:
        """Requests that were accepted and have not ended."""
        return self._inner.outstanding()

    @property
    def capacity_sectors(self) -> int:
        """Sectors of 512 bytes that the drive offers."""
        return self._inner.capacity_sectors()

    @property
    def is_idle(self) -> bool:
        """True if no request is outstanding, and the drive is at nothing: no eviction, no collection."""
        return self._inner.is_idle()

    def result(self) -> Result:
        """Result so far, of an engine that is idle. Raises `EngineError` of another, and `CheckError` if its accounts
        do not add up."""
        return Result(self._inner.result())

    def close(self) -> None:
        """Frees the engine; later calls raise `ClosedError`."""
        self._inner.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
