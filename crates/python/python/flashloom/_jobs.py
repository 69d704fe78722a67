"""Waiting for jobs: progress is shown, and Ctrl-C ends them."""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from . import _flashloom

__all__ = ["Progress", "file_name", "showing", "wait"]


@atexit.register
def _end_runs(process: int = os.getpid()) -> None:
    """Ends all runs: Python must not end under a thread that is in a policy. A forked process has none of them."""
    if os.getpid() == process:
        _flashloom.end_runs()


# How often Python looks at a job, in seconds: so long Ctrl-C takes at most.
_LOOK = 0.02
# How often progress is shown, in seconds.
_SHOW = 0.1


@dataclass(frozen=True)
class Progress:
    """How far runs have come."""

    share: float
    """Share of the expected work, from 0 to 1."""
    requests: int
    """Requests that have arrived, in all runs."""
    pages: int
    """Pages written to age drives."""
    runs: int
    """Runs that have ended."""
    all_runs: int
    """Runs there are."""

    def __str__(self) -> str:
        aged = f", {self.pages:,} pages to age drives" if self.pages else ""
        return f"{self.runs} of {self.all_runs} runs done, {self.requests:,} requests{aged}"


class _Plain:
    """A line on standard error, for want of tqdm."""

    def __call__(self, progress: Progress) -> None:
        sys.stderr.write(f"\r{progress.share:4.0%}  {progress}")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\n")


class _Bar:
    """A bar of tqdm, or of what has its interface."""

    def __init__(self, bar: Any, is_ours: bool) -> None:
        self._bar, self._is_ours, self._last = bar, is_ours, 0.0

    def __call__(self, progress: Progress) -> None:
        total = self._bar.total or 1.0
        self._bar.update(max(0.0, progress.share * total - self._last))
        self._last = max(self._last, progress.share * total)
        self._bar.set_postfix_str(str(progress), refresh=False)

    def close(self) -> None:
        if self._is_ours:
            self._bar.close()


def _shown(progress: Any) -> Callable[[Progress], object] | None:
    """What to call with the progress."""
    if progress is None or progress is False:
        return None
    if progress is True:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return _Plain()
        progress = tqdm
    if isinstance(progress, type) and hasattr(progress, "update"):
        layout = "{l_bar}{bar}| [{elapsed}<{remaining}] {postfix}"
        return _Bar(progress(total=1.0, bar_format=layout), True)
    if hasattr(progress, "update") and hasattr(progress, "total"):
        return _Bar(progress, False)
    if callable(progress):
        return cast(Callable[[Progress], object], progress)
    raise TypeError(f"progress is None, True, a callable or a tqdm, not {type(progress).__name__}")


@contextmanager
def showing(progress: object) -> Iterator[Callable[[Progress], object] | None]:
    """What to call with the progress, for as long as it is shown."""
    show = _shown(progress)
    try:
        yield show
    finally:
        if isinstance(show, (_Bar, _Plain)):
            show.close()


def wait(
    job: _flashloom.BackgroundJob, progress: object = None, meanwhile: Callable[[float], object] | None = None
) -> Any:
    """Waits for a job and returns its answer, or raises why there is none. `meanwhile` is called again and again, with
    the seconds that it may take.

    Whatever is raised meanwhile (`KeyboardInterrupt`, an exception of a callback) ends the job.
    """
    try:
        shown = -_SHOW
        with showing(progress) as show:
            while not job.wait(_LOOK if meanwhile is None else 0.0):
                if meanwhile is not None:
                    meanwhile(_LOOK)
                if show is not None and time.monotonic() - shown >= _SHOW:
                    show(_progress(job))
                    shown = time.monotonic()
            if show is not None:
                show(_progress(job))
        return job.result()
    except BaseException:
        job.interrupt()
        raise


def file_name(path: str | os.PathLike[str]) -> str:
    """The name of a file as a job takes it. Raises `TypeError` for bytes, and `ValueError` if it is not Unicode."""
    name = os.fspath(path)
    if not isinstance(name, str):
        raise TypeError(f"the path of a file is a str or a Path, not {type(name).__name__}")
    if any(0xD800 <= ord(character) <= 0xDFFF for character in name):
        raise ValueError(f"{name!r} is no name in UTF-8")
    return name


def _progress(job: _flashloom.BackgroundJob) -> Progress:
    done, expected, requests, pages, runs, all_runs = job.progress()
    return Progress(done / expected if expected else 0.0, requests, pages, runs, all_runs)
