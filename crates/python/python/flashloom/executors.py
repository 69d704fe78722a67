"""Executors for sweeps, studies and fits, in the interface of `concurrent.futures`: this thread, processes, Ray.

Any other executor does as well: `dask.distributed.Client.get_executor()`, `mpi4py.futures.MPIPoolExecutor`, or a
`ThreadPoolExecutor`, for a run leaves Python to other threads.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing.connection import Connection
from typing import Any, ParamSpec, TypeVar

from .tables import library

__all__ = ["ProcessExecutor", "RayExecutor", "SerialExecutor"]

P = ParamSpec("P")
T = TypeVar("T")

# How often the thread of a RayExecutor looks for new calls, in seconds.
_LOOK = 0.05
# Pipes that stay open: calls go on if nobody has their executor any more.
_ALIVE: set[Connection] = set()


def checked(executor: Executor | None) -> Executor | None:
    """An executor as it was given. Raises `TypeError` if it is none, and `ValueError` for processes that are forked."""
    if isinstance(executor, type) or executor is not None and not hasattr(executor, "submit"):
        raise TypeError(f"executor is an object of concurrent.futures.Executor, not {executor!r}")
    context = getattr(executor, "_mp_context", None)
    if context is not None and context.get_start_method() == "fork":
        raise ValueError('forked processes lose their threads: ProcessPoolExecutor(mp_context=get_context("spawn"))')
    return executor


class SerialExecutor(Executor):
    """Each call at once, in the thread that submits it."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Calls the function, and returns its future, which is done."""
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class ProcessExecutor(ProcessPoolExecutor):
    """Processes of this machine, as many as processors unless `workers` says how many.

    They are spawned, never forked: threads do not survive a fork. They end with this process, even if that is killed. A
    script that makes one needs `if __name__ == "__main__":`, as with every spawned process.
    """

    def __init__(self, workers: int | None = None) -> None:
        context = multiprocessing.get_context("spawn")
        # Nobody writes: that the other end is closed is the news.
        reader, self._alive = context.Pipe(duplex=False)
        _ALIVE.add(self._alive)
        super().__init__(os.cpu_count() if workers is None else workers, context, _end_with_parent, (reader,))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more calls; those that wait are cancelled or carried out."""
        super().shutdown(wait, cancel_futures=cancel_futures)
        if wait:
            self._let_go()

    def terminate(self) -> None:
        """Ends the processes at once, with the calls that they are in."""
        self._let_go()
        self.shutdown(wait=False, cancel_futures=True)

    def _let_go(self) -> None:
        _ALIVE.discard(self._alive)
        self._alive.close()


def _end_with_parent(reader: Connection) -> None:
    """Ends this process as soon as the other end of a pipe is closed."""

    def wait() -> None:
        try:
            reader.poll(None)
        finally:
            os._exit(1)

    threading.Thread(target=wait, name="flashloom-parent", daemon=True).start()


class RayExecutor(Executor):
    """Tasks of Ray, at most `in_flight` at a time; the others wait here, and can be cancelled.

    `options` are those of `ray.remote`: `num_cpus`, `resources`, `runtime_env`, `max_retries`. Ray is started on this
    machine unless `ray.init` was called. Raises `MissingLibraryError` without Ray.

    >>> with RayExecutor(in_flight=64, num_cpus=1) as executor:  # doctest: +SKIP
    ...     flashloom.sweep(experiment, space, out="results", executor=executor)
    """

    def __init__(self, in_flight: int = 256, **options: Any) -> None:
        if isinstance(in_flight, bool) or not isinstance(in_flight, int) or in_flight < 1:
            raise ValueError(f"in_flight is a whole number from 1, not {in_flight!r}")
        self._ray = library("ray", "ray")
        if not self._ray.is_initialized():
            self._ray.init(include_dashboard=False, log_to_driver=False)
        self._remote = self._ray.remote(**(options or {"num_cpus": 1}))(_call)
        self._in_flight = in_flight
        self._calls: queue.SimpleQueue[tuple[Future[Any], tuple[Any, ...]]] = queue.SimpleQueue()
        self._running: dict[Any, Future[Any]] = {}
        self._lock = threading.Lock()
        self._is_shut = False
        self._thread = threading.Thread(target=self._work, name="flashloom-ray", daemon=True)
        self._thread.start()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Has Ray call the function. Raises `RuntimeError` after `shutdown`."""
        future: Future[T] = Future()
        with self._lock:
            if self._is_shut:
                raise RuntimeError("this executor is shut down")
            self._calls.put((future, (fn, args, kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more calls; those that wait are cancelled or carried out. Ray itself goes on."""
        with self._lock:
            self._is_shut = True
            while cancel_futures and not self._calls.empty():
                self._calls.get()[0].cancel()
        if wait:
            self._thread.join()

    def terminate(self) -> None:
        """Ends the calls that Ray is in, and cancels those that wait."""
        self.shutdown(wait=False, cancel_futures=True)
        for reference in list(self._running):
            self._ray.cancel(reference, force=True)

    def _work(self) -> None:
        """Hands calls to Ray and takes what they return, until there are no more."""
        while True:
            self._hand_over()
            if self._running:
                self._take()
            elif self._is_shut and self._calls.empty():
                return

    def _hand_over(self) -> None:
        """Calls while there is room; with nothing to do, waits for one."""
        while len(self._running) < self._in_flight:
            try:
                future, call = self._calls.get(not self._running, _LOOK)
            except queue.Empty:
                return
            if not future.set_running_or_notify_cancel():
                continue
            try:
                self._running[self._remote.remote(*call)] = future
            except Exception as error:
                future.set_exception(error)

    def _take(self) -> None:
        """What has come within a moment."""
        ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=_LOOK)
        for reference in ready:
            future = self._running.pop(reference)
            try:
                future.set_result(self._ray.get(reference))
            except Exception as error:
                future.set_exception(_cause(error))


def _call(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What Ray carries out."""
    return fn(*args, **kwargs)


def _cause(error: Exception) -> BaseException:
    """The exception of a call, out of what Ray wraps it in."""
    cause = getattr(error, "cause", None)
    return cause if isinstance(cause, BaseException) else error
