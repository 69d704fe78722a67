"""Sweeps: an experiment with many values, on any executor, its results in a data set that survives a crash."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from typing import Any

from . import _flashloom
from ._jobs import Progress, showing, wait as wait_for_job
from ._task import Failure, Outcome, Task, WorkerError, count, run, task_of
from .dataset import DataSet
from .errors import Error
from .executors import ProcessExecutor, checked
from .experiment import Experiment, ProgressOption, _checked_seeds
from .result import Result
from .spaces import Point, Space, grid

__all__ = ["SweepError", "sweep"]

# Longest time that a result waits for others to be written with, in seconds.
_PATIENCE = 5.0
# Key that makes a run of a recording a replicate.
_REPLICATE = "workload.replicate"
# Parts of a result that no data set has: texts about it, and what its configuration has too.
_LEFT_OUT = ("schema", "config.", "provenance.")


class SweepError(Error):
    """A sweep that cannot go on. What has ended is in its data set, and the same call goes on from there."""


def sweep(
    experiment: Experiment,
    space: Space | Iterable[Point] | None = None,
    *,
    out: str | os.PathLike[str],
    executor: Executor | None = None,
    seeds: int | None = None,
    verify: bool = False,
    retry_failed: bool = False,
    in_flight: int = 256,
    batch: int = 32,
    progress: ProgressOption = None,
) -> DataSet:
    """Runs an experiment with every combination of some values, and keeps a row of each run in the folder `out`.

    `space`: values by key (`{"ftl.gc": ["greedy", "fifo"], "host.queue_depth": "1..4"}`), or points, such as those of
    `sample`; what the experiment itself varies if it is `None`. `seeds`: runs of each point (2 or more), from
    `run.seed` on; of a recording, replicates. `executor`: spawned processes, as many as processors, if it is `None`.
    `in_flight`: runs that it has at a time. `batch`: rows of a file; a row is written after 5 seconds at the latest.
    For `verify` and `progress` see `run`.

    Runs that the data set has are not repeated, so that the same call goes on after a crash; a run is known by its
    `id`, the hash of its effective configuration and the version. Runs that failed keep their error, and are repeated
    with `retry_failed`. A drive whose ageing takes long is aged by the first run that needs it, and its other runs wait
    for that, if there is a cache of aged drives (`FLASHLOOM_CACHE`).

    Raises `ConfigError` for keys or values that are wrong, or `seeds` of runs that draw nothing, `InputError` for
    inputs that cannot be had or an `out` that is no folder, `BusyError` if another process writes `out`, `SweepError`
    if the executor breaks, `WorkerError` if a worker lacks a module or an input.

    >>> sweep(experiment, {"ftl.gc": ["greedy", "fifo"]}, out="results").to_pandas()  # doctest: +SKIP
    """
    checked(executor)
    limits = count("in_flight", in_flight, 1 << 20), count("batch", batch, 1 << 20)
    data = DataSet.to_write(out)
    points = _points(experiment, space, _checked_seeds(seeds))
    tasks = _tasks(experiment, points, bool(verify))
    if seeds is not None:
        _check_drawn(tasks, seeds)
    of_seeds = ("run.seed",) if seeds is None else ("run.seed", _REPLICATE)
    varied = sorted({path for task in tasks for path in task.values if path not in of_seeds})
    with data.writing():
        known = data.statuses()
        failed = [task.id for task in tasks if known.get(task.id) == "failed"]
        if retry_failed and failed:
            data.compact(without=failed)
        done = known.keys() - set(failed if retry_failed else ())
        left = [task for task in tasks if task.id not in done]
        writer = _Writer(data, varied, limits[1])
        try:
            with showing(progress) as show:
                counter = _Counter(show, len(tasks), len(tasks) - len(left))
                _run_all(left, executor, limits[0], writer, counter)
        finally:
            writer.write()
        data.compact()
    return data


def _points(
    experiment: Experiment, space: Space | Iterable[Point] | None, seeds: int | None
) -> Sequence[Mapping[str, Any]]:
    if space is None:
        points: Sequence[Mapping[str, Any]] = experiment.combinations()
    elif isinstance(space, Mapping):
        points = grid(space)
    else:
        points = list(space)
        for point in points:
            if not isinstance(point, Mapping):
                raise TypeError(f"a point is a dict of values by key, not {point!r}")
    if seeds is None:
        return points
    if any("run.seed" in point for point in points):
        raise ValueError("`run.seed` is varied, and `seeds` are asked for: one of the two")
    first = experiment.run.seed
    return [
        {**point, "run.seed": first + at, **_replicate(experiment, point)} for point in points for at in range(seeds)
    ]


def _replicate(experiment: Experiment, point: Mapping[str, Any]) -> dict[str, Any]:
    """What makes the seeds of a recording its replicates, as `compare` does."""
    asked = point.get(_REPLICATE, experiment.workload.replicate)
    is_recording = point.get("workload.kind", experiment.workload.kind) == "trace"
    return {_REPLICATE: True} if is_recording and asked is None else {}


def _tasks(experiment: Experiment, points: Iterable[Mapping[str, Any]], verify: bool) -> list[Task]:
    """The runs, each once."""
    tasks = (task_of(experiment, point, verify=verify) for point in points)
    return list({task.id: task for task in tasks}.values())


def _check_drawn(tasks: Iterable[Task], seeds: int) -> None:
    """Refuses seeds of runs that would be equal, as `compare` does. Runs whose requests are the same are tried once."""
    tried = set()
    for task in tasks:
        if task.experiment is None:
            continue
        config = json.loads(task.config)
        buffer, mapping = config["buffer"].get("capacity"), config["ftl"]["mapping"]
        drawn = [config["workload"], config["run"]["timing"], buffer, mapping]
        if (requests := json.dumps(drawn, sort_keys=True)) not in tried:
            tried.add(requests)
            wait_for_job(task.experiment._load().check_seeds(seeds))


def figures(result: Result) -> dict[str, object]:
    """The columns of a result."""
    return {path: value for path, value in result.flat().items() if not path.startswith(_LEFT_OUT)}


class _Counter:
    """How many runs have ended."""

    def __init__(self, show: Any, all_runs: int, done: int) -> None:
        self._show, self._all, self._done, self._requests = show, all_runs, done, 0
        self.add(0, 0)

    def add(self, runs: int, requests: int) -> None:
        self._done += runs
        self._requests += requests
        if self._show is not None:
            share = self._done / self._all if self._all else 1.0
            self._show(Progress(share, self._requests, 0, self._done, self._all))


class _Writer:
    """Rows that wait to be written together."""

    def __init__(self, data: DataSet, varied: Sequence[str], batch: int) -> None:
        self._data, self._varied, self._batch = data, varied, batch
        self._rows: list[dict[str, Any]] = []
        self._since = 0.0

    def add(self, task: Task, outcome: Outcome) -> None:
        if not self._rows:
            self._since = time.monotonic()
        self._rows.append(_row(task, outcome))
        if len(self._rows) >= self._batch:
            self.write()

    def patience(self) -> float | None:
        """Seconds until the rows have to be written; `None` if there are none."""
        return max(0.0, self._since + _PATIENCE - time.monotonic()) if self._rows else None

    def write(self) -> None:
        if self._rows:
            self._data.append(self._rows, self._varied)
            self._rows = []


def _row(task: Task, outcome: Outcome) -> dict[str, Any]:
    failure = outcome.failure
    return {
        **(outcome.measured or {}),
        "id": task.id,
        "status": "failed" if failure else "ok",
        "error.type": failure and failure.type,
        "error.message": failure and failure.message,
        "error.traceback": failure and failure.traceback,
        "version": _flashloom.__version__,
        "seed": task.seed,
        **{path: value for path, value in task.values.items() if path != "run.seed"},
        "config": task.config,
    }


def _run_all(
    tasks: Sequence[Task], executor: Executor | None, in_flight: int, writer: _Writer, counter: _Counter
) -> None:
    for task in tasks:
        if task.failure:
            writer.add(task, Outcome(failure=task.failure))
            counter.add(1, 0)
    left = _Queue(task for task in tasks if not task.failure)
    if not left:
        return
    ours = ProcessExecutor() if executor is None else None
    runs = _Runs(ours if executor is None else executor, left, in_flight)
    try:
        while runs.submit():
            for task, outcome in runs.ended(writer.patience()):
                writer.add(task, outcome)
                counter.add(1, int((outcome.measured or {}).get("host.requests", 0)))
            if writer.patience() == 0.0:
                writer.write()
    except BaseException:
        runs.cancel()
        if ours:
            ours.terminate()
        raise
    if ours:
        ours.shutdown()


class _Queue:
    """Runs that wait: for a place, or for the run that ages their drive first."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._ready: deque[Task] = deque()
        self._waiting: dict[str, list[Task]] = {}
        self._agers: dict[str, str] = {}
        for task in tasks:
            drive = task.drive()
            if drive is None or os.path.exists(drive):
                self._ready.append(task)
            elif drive in self._waiting:
                self._waiting[drive].append(task)
            else:
                # The runs that hold up others come first.
                self._ready.appendleft(task)
                self._waiting[drive] = []
                self._agers[task.id] = drive

    def __bool__(self) -> bool:
        return bool(self._ready)

    def next(self) -> Task:
        return self._ready.popleft()

    def ended(self, task: Task) -> None:
        """Lets those go on that waited for a run."""
        if drive := self._agers.pop(task.id, None):
            self._ready.extend(self._waiting.pop(drive))


class _Runs:
    """Runs that an executor has."""

    def __init__(self, executor: Executor | None, queue: _Queue, in_flight: int) -> None:
        assert executor is not None, "there is one"
        self._executor, self._queue, self._in_flight = executor, queue, in_flight
        self._running: dict[Future[Outcome], Task] = {}

    def submit(self) -> bool:
        """Hands over what there is room for; false if there is nothing left to wait for."""
        # A serial executor has each run done as it is handed over: its row is to be written before the next.
        while self._queue and len(self._running) < self._in_flight and not any(one.done() for one in self._running):
            task = self._queue.next()
            try:
                self._running[self._executor.submit(run, task.packed(figures))] = task
            except RuntimeError as error:
                raise SweepError(f"the executor takes no runs: {error}") from error
        return bool(self._running)

    def ended(self, seconds: float | None) -> list[tuple[Task, Outcome]]:
        """Waits for runs that end, at most some seconds."""
        done, _ = wait(self._running, seconds, FIRST_COMPLETED)
        ended = []
        for future in done:
            task = self._running.pop(future)
            self._queue.ended(task)
            ended.append((task, _outcome(future)))
        return ended

    def cancel(self) -> None:
        for future in self._running:
            future.cancel()


def _outcome(future: Future[Outcome]) -> Outcome:
    """What came of a run; what the executor says in its place is kept as its error."""
    try:
        return future.result()
    except WorkerError:
        raise
    except BrokenExecutor as error:
        raise SweepError(f"the executor is broken, its workers have ended: {error}") from error
    except Exception as error:
        return Outcome(failure=Failure.of(error))
