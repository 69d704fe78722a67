"""What the tests of sweeps share: an experiment, its spaces, policies, and a script to be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flashloom import DataSet, Experiment
from flashloom.dataset import COST
from flashloom.policy import Queue, QueuedRequest, Scheduler, SchedulerSetup

from conftest import SMALL

SPACE: dict[str, object] = {"host.scheduler": ["noop", "deadline"], "host.queue_depth": "1,8"}
"""Four runs."""


class Fifo(Scheduler):
    """First in, first out."""

    name = "py-fifo"

    def begin(self, setup: SchedulerSetup) -> None:
        self.fifo: list[int] = []

    def insert(self, now: int, request: QueuedRequest) -> None:
        self.fifo.append(request.id)

    def dispatch(self, now: int, queue: Queue) -> int | None:
        return self.fifo.pop(0) if self.fifo else None


class Broken(Fifo):
    """A scheduler that raises."""

    name = "py-broken"

    def dispatch(self, now: int, queue: Queue) -> int | None:
        raise ArithmeticError("no request is the best one")


class Leaving(Fifo):
    """A scheduler that wants to leave Python."""

    name = "py-leaving"

    def dispatch(self, now: int, queue: Queue) -> int | None:
        raise SystemExit(4)


class Deadly(Fifo):
    """A scheduler that ends the process that it runs in."""

    name = "py-deadly"

    def dispatch(self, now: int, queue: Queue) -> int | None:
        os._exit(3)


def experiment(**options: Any) -> Experiment:
    return Experiment.from_dict(SMALL, **options)


def figures(data: DataSet) -> list[dict[str, Any]]:
    """Everything that has to be the same on every machine, at any time; the columns in their order."""
    table = data.to_arrow()
    rows: list[dict[str, Any]] = table.drop_columns([name for name in COST if name in table.column_names]).to_pylist()
    return rows


def costs(data: DataSet) -> dict[str, tuple[Any, ...]]:
    """What the runs cost, by id: no two runs cost the same."""
    return {row["id"]: tuple(row.get(name) for name in COST) for row in data.rows()}


def killed(script: str, is_time: Callable[[], bool], *arguments: str | Path) -> None:
    """Kills a script as soon as something holds."""
    child = subprocess.Popen([sys.executable, "-c", script, *map(str, arguments)], cwd=Path(__file__).parent)
    try:
        limit = time.monotonic() + 120
        while not is_time():
            assert child.poll() is None, "the script has ended too early"
            assert time.monotonic() < limit, "the script does not come to its middle"
            time.sleep(0.005)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
