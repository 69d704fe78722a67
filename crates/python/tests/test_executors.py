"""Executors: processes that end with their parent, Ray, Dask; the same 200 runs on each of them.

Dask and Ray are left out where they are not installed, and the 200 runs with them: `make test-python` has them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor
from pathlib import Path
from typing import Any

import flashloom
import pytest
from flashloom import DataSet, sweep
from flashloom.executors import ProcessExecutor, RayExecutor, SerialExecutor

from sweep_runs import Broken, Fifo, costs, experiment, figures, killed

POLICIES = ["noop", "deadline", "cfq", "py-fifo", "py-broken"]
SPACE: dict[str, object] = {"host.scheduler": POLICIES, "host.queue_depth": "1,4", "run.seed": "1..20"}
"""200 runs, 40 of them with a policy in Python, 40 with one that raises."""

KILLED = """
import sys
from flashloom import sweep
from test_executors import SPACE, executor_of
from sweep_runs import Broken, Fifo, experiment
if __name__ == "__main__":
    with executor_of(sys.argv[2]) as executor:
        sweep(experiment(policies=[Fifo, Broken]), SPACE, out=sys.argv[1], executor=executor, batch=1)
"""


def executor_of(name: str) -> Executor:
    """An executor with two workers."""
    if name == "ray":
        ray = pytest.importorskip("ray")
        if not ray.is_initialized():
            # On a busy machine its own processes take their time.
            os.environ.setdefault("RAY_raylet_start_wait_time_s", "240")
            ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        return RayExecutor(in_flight=8)
    if name == "dask":
        distributed = pytest.importorskip("distributed")
        cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
        executor: Executor = distributed.Client(cluster).get_executor()
        return executor
    return ProcessExecutor(2)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    """The data set of the 200 runs, made in this process."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("distributed")
    out = tmp_path_factory.mktemp("whole")
    return sweep(experiment(policies=[Fifo, Broken]), SPACE, out=out, executor=SerialExecutor())


def test_the_200_runs_are_what_they_are_meant_to_be(whole: DataSet) -> None:
    rows = whole.rows()
    assert len(rows) == 200 and len({row["id"] for row in rows}) == 200
    assert {row["host.scheduler"] for row in rows if row["status"] == "failed"} == {"py-broken"}
    assert {row["error.type"] for row in rows} == {None, "ArithmeticError"}


@pytest.mark.parametrize("name", ["processes", "dask", "ray"])
def test_200_runs_killed_in_the_middle_and_resumed_are_the_same_data_set(
    name: str, whole: DataSet, tmp_path: Path
) -> None:
    if name == "ray":
        pytest.importorskip("ray")
    out = tmp_path / "out"
    killed(KILLED, lambda: len(list(out.glob("part-*"))) >= 60, out, name)
    before = costs(DataSet(out))
    assert 60 <= len(before) < 200
    with executor_of(name) as executor:
        resumed = sweep(experiment(policies=[Fifo, Broken]), SPACE, out=out, executor=executor)
    assert len(resumed) == 200 and before.items() <= costs(resumed).items()
    assert figures(resumed) == figures(whole)


def test_a_serial_executor_answers_at_once() -> None:
    executor = SerialExecutor()
    assert executor.submit(divmod, 7, 2).result() == (3, 1)
    with pytest.raises(ZeroDivisionError):
        executor.submit(divmod, 7, 0).result()


def test_processes_are_spawned_and_end_with_a_killed_parent(tmp_path: Path) -> None:
    script = (
        "import os, sys, time\n"
        "from pathlib import Path\n"
        "from flashloom.executors import ProcessExecutor\n"
        "if __name__ == '__main__':\n"
        "    executor = ProcessExecutor(1)  # kept: one that nobody holds ends its worker\n"
        "    pid = executor.submit(os.getpid).result()\n"
        "    Path(sys.argv[1]).write_text(f'{pid} ')\n"
        "    time.sleep(100)\n"
    )
    note = tmp_path / "pid"
    file = tmp_path / "script.py"
    file.write_text(script)
    parent = subprocess.Popen([sys.executable, str(file), str(note)])
    limit = time.monotonic() + 60
    while not (note.exists() and note.read_text().endswith(" ")):
        assert time.monotonic() < limit and parent.poll() is None
        time.sleep(0.01)
    child = int(note.read_text())
    os.kill(child, 0)
    parent.kill()
    parent.wait()
    while _is_running(child):
        assert time.monotonic() < limit, "the worker has outlived its parent"
        time.sleep(0.01)


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_terminated_processes_leave_their_calls() -> None:
    executor = ProcessExecutor(1)
    assert executor.submit(abs, -1).result() == 1
    future = executor.submit(time.sleep, 100)
    began = time.monotonic()
    executor.terminate()
    with pytest.raises(Exception):  # noqa: B017 - broken, or cancelled
        future.result()
    assert time.monotonic() - began < 10


def test_ray_is_named_where_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(flashloom.MissingLibraryError, match=r"ray is not installed.*flashloom\[ray\]"):
        RayExecutor()


@pytest.fixture
def ray_executor() -> Iterator[RayExecutor]:
    executor = executor_of("ray")
    assert isinstance(executor, RayExecutor)
    yield executor
    executor.terminate()


def test_ray_returns_results_and_exceptions(ray_executor: RayExecutor) -> None:
    assert list(ray_executor.map(divmod, range(20), [3] * 20)) == [divmod(at, 3) for at in range(20)]
    with pytest.raises(ZeroDivisionError):
        ray_executor.submit(divmod, 7, 0).result()
    with pytest.raises(TypeError, match="pickle"):
        ray_executor.submit(print, sys._getframe()).result()


def test_ray_gets_some_calls_at_a_time_and_the_others_can_be_cancelled(ray_executor: RayExecutor) -> None:
    executor = RayExecutor(in_flight=1)
    futures = [executor.submit(time.sleep, 0.5) for _ in range(3)]
    while not futures[0].running():
        time.sleep(0.01)
    assert futures[2].cancel() and not futures[0].cancel()
    executor.shutdown()
    assert [one.cancelled() for one in futures] == [False, False, True]
    with pytest.raises(RuntimeError, match="shut down"):
        executor.submit(abs, 1)
    other = RayExecutor(in_flight=1)
    futures = [other.submit(time.sleep, 0.2) for _ in range(3)]
    other.shutdown(cancel_futures=True)
    with pytest.raises(CancelledError):
        futures[2].result()


@pytest.mark.parametrize("in_flight", [0, -1, 1.5, True, "many"])
def test_ray_needs_a_place_at_least(in_flight: Any) -> None:
    with pytest.raises(ValueError, match="in_flight"):
        RayExecutor(in_flight)
