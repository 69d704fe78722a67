"""A fit whose simulations are made by an executor: questions go to workers, each with the same fit of its own.

```text
fit        asks: which load, on which drive, with which seed; a search goes on as answers come
executor   calls `simulate` with the fit and a question
worker     loads the fit once and ages a drive once, answers, and keeps both for the next question
```
"""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from dataclasses import dataclass
from functools import partial
from typing import Any

from . import _flashloom
from ._jobs import wait
from ._task import WorkerError, _library_hash
from .errors import Error
from .inputs import Input, input_of, located

__all__ = ["Asked", "FitError", "load", "run", "run_on", "simulate"]

# Fits that a worker keeps: of more at a time, each would be loaded for every question.
_KEPT = 2
# How long a fit that was given up is waited for at most, in seconds: so long it may have its journal.
_PATIENCE = 5.0


class FitError(Error):
    """A fit that cannot go on. What was simulated is in its journal, and the same call goes on from there."""


@dataclass(frozen=True)
class Asked:
    """What a fit is loaded from."""

    inputs: list[str]
    start: str
    """A preset or a file, if there is no experiment."""
    experiment: tuple[str, str, str] | None
    sets: dict[str, str]
    """Options by their keys."""
    rest: tuple[list[str], str, int, int, int, int]
    """Parameters, rule of what is held out, requests, slices, restarts, seed."""


def load(asked: Asked) -> _flashloom.LoadedFit:
    """Reads and checks what a fit needs."""
    sets = list(asked.sets.values())
    job = _flashloom.load_fit(asked.inputs, asked.start, asked.experiment, sets, *asked.rest, _library_hash())
    loaded: _flashloom.LoadedFit = wait(job)
    return loaded


def run(fit: _flashloom.LoadedFit, journal: str | None, jobs: int, progress: object) -> tuple[str, str]:
    """Runs a fit in threads: the result as JSON, and the file of the drive."""
    return _ended(fit.run(journal, jobs), progress)


def run_on(
    fit: _flashloom.LoadedFit,
    asked: Asked,
    executor: Executor,
    journal: str | None,
    in_flight: int,
    progress: object,
) -> tuple[str, str]:
    """Runs a fit with simulations made by an executor: the result as JSON, and the file of the drive.

    Raises `FitError` if the executor breaks or takes no calls, and what a worker raises.
    """
    packed = _packed(fit, asked)
    job, questions = fit.run_elsewhere(journal, in_flight)
    running: set[Future[Any]] = set()
    failures: list[BaseException] = []

    def ended(number: int, future: Future[Any]) -> None:
        running.discard(future)
        try:
            questions.answer(number, *future.result())
        except BaseException as error:  # In a thread of the executor, which would only log it.
            failures.append(error)

    def hand_over(seconds: float) -> None:
        """Waits for a question, at most some seconds, and submits it."""
        if failures:
            raise _told(failures[0])
        if (question := questions.take(seconds)) is None:
            return
        number, text = question
        try:
            future = executor.submit(simulate, packed, text)
        except RuntimeError as error:
            raise FitError(f"the executor takes no simulations: {error}") from error
        running.add(future)
        future.add_done_callback(partial(ended, number))

    try:
        return _ended(job, progress, hand_over, questions.close)
    finally:
        for future in list(running):
            future.cancel()
        _LOADED.pop(packed, None)


def _ended(
    job: _flashloom.BackgroundJob,
    progress: object,
    meanwhile: Callable[[float], object] | None = None,
    give_up: Callable[[], object] = lambda: None,
) -> tuple[str, str]:
    """The answer of a fit. What is raised meanwhile gives it up: the next one may open its journal."""
    try:
        result: tuple[str, str] = wait(job, progress, meanwhile)
        return result
    except BaseException:
        give_up()
        job.wait(_PATIENCE)
        raise


def _told(error: BaseException) -> BaseException:
    """What is raised for a simulation that failed: the exception itself, unless it is about the executor."""
    if isinstance(error, BrokenExecutor):
        told = FitError(f"the executor is broken, its workers have ended: {error}")
    elif isinstance(error, CancelledError):
        told = FitError("the executor has cancelled a simulation")
    else:
        return error
    told.__cause__ = error
    return told


@dataclass(frozen=True)
class _Packed:
    """A fit on its way to a worker: inputs by their contents."""

    asked: Asked
    inputs: list[Input]
    state: Input | None
    """The saved drive that it begins with."""
    fingerprint: str


def _packed(fit: _flashloom.LoadedFit, asked: Asked) -> bytes:
    """A fit as bytes for `simulate`."""
    name, text, folder = fit.start()
    state = fit.saved_drive()
    inputs = [input_of(path, "") for path in asked.inputs]
    kept = None if state is None else input_of(os.fspath(state), "")
    # A worker elsewhere has no file of the start.
    asked = Asked([], "", (name, text, os.path.abspath(folder)), asked.sets, asked.rest)
    return pickle.dumps(_Packed(asked, inputs, kept, fit.fingerprint()))


_LOCK = threading.Lock()
_LOADED: dict[bytes, _flashloom.LoadedFit] = {}
"""Fits that this process answers for, the last ones."""


def simulate(packed: bytes, question: str) -> tuple[str, int, int]:
    """Answers a question of a fit: the answer, and the requests and pages that it took.

    Raises `WorkerError` if this machine cannot answer any, and why a simulation failed.
    """
    job = _loaded(packed).simulate(question)
    answer: str = wait(job)
    _, _, requests, pages, _, _ = job.progress()
    return answer, requests, pages


def _loaded(packed: bytes) -> _flashloom.LoadedFit:
    with _LOCK:
        if (known := _LOADED.get(packed)) is not None:
            return known
        fit = _unpacked(packed)
        while len(_LOADED) >= _KEPT:
            del _LOADED[next(iter(_LOADED))]
        _LOADED[packed] = fit
        return fit


def _unpacked(packed: bytes) -> _flashloom.LoadedFit:
    try:
        sent: _Packed = pickle.loads(packed)
        sets = dict(sent.asked.sets)
        if sent.state is not None:
            sets["run.state"] = f'run.state="{located(sent.state)}"'
        inputs = [located(wanted) for wanted in sent.inputs]
        fit = load(Asked(inputs, "", sent.asked.experiment, sets, sent.asked.rest))
    except Exception as error:
        raise WorkerError(f"a worker is not fit for these simulations: {type(error).__name__}: {error}") from error
    if fit.fingerprint() != sent.fingerprint:
        raise WorkerError(
            "a worker is not fit for these simulations: it has another build of flashloom, or another file of a preset"
        )
    return fit
