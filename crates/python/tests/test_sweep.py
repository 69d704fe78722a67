"""Sweeps: the same data set whatever runs them, in whatever order, and however often they are killed."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, cast

import flashloom
import pytest
from flashloom import DataSet, Range, sample, sweep
from flashloom._task import Failure, Outcome, Task, WorkerError, run, task_of
from flashloom.executors import ProcessExecutor, SerialExecutor
from flashloom.policy import Queue
from flashloom.sweeps import _Queue

from conftest import ROOT
from sweep_runs import SPACE, Broken, Deadly, Fifo, Leaving, costs, experiment, figures, killed

pytest.importorskip("pyarrow")
pytest.importorskip("cloudpickle")

MANY = {**SPACE, "buffer.capacity": "256KiB,512KiB", "workload.synthetic.read_share": "0.1,0.5,0.9"}
KILLED = """
import sys
from pathlib import Path
from flashloom import sweep
from flashloom.executors import SerialExecutor
from sweep_runs import experiment
from test_sweep import MANY
if __name__ == "__main__":
    executor = SerialExecutor() if sys.argv[2] == "serial" else None
    sweep(experiment(), MANY, seeds=2, out=sys.argv[1], executor=executor, batch=1)
"""

serial = partial(sweep, executor=SerialExecutor())


def test_a_sweep_has_the_figures_of_a_comparison(tmp_path: Path) -> None:
    data = serial(experiment(), SPACE, seeds=2, out=tmp_path)
    rows = {(row["host.scheduler"], row["host.queue_depth"], row["seed"]): row for row in data.rows()}
    runs = experiment().compare(vary={"host.scheduler": ["noop", "deadline"], "host.queue_depth": [1, 8]}, seeds=2)
    assert len(rows) == len(runs) == len(data) == 8
    for one in runs:
        row = rows[one.vary["host.scheduler"], one.vary["host.queue_depth"], one.vary["run.seed"]]
        flat = {path: value for path, value in one.flat().items() if path.startswith(("host.", "ftl.", "buffer."))}
        assert flat and flat == {path: row[path] for path in flat}
    assert data.varied == ["host.queue_depth", "host.scheduler"] and data.failures() == []
    assert [path.name for path in tmp_path.glob("*.parquet")] == ["data.parquet"]


def test_what_an_experiment_varies_itself_is_swept(tmp_path: Path) -> None:
    data = serial(experiment(vary={"host.queue_depth": "1..3"}), out=tmp_path)
    assert sorted(row["host.queue_depth"] for row in data.rows()) == [1, 2, 3]


def test_a_data_set_depends_neither_on_the_order_nor_on_the_executor_nor_on_batches(tmp_path: Path) -> None:
    forwards = serial(experiment(), SPACE, seeds=2, out=tmp_path / "a")
    points = [{"run.seed": seed, **point} for seed in (2, 1) for point in reversed(list(_points()))]
    backwards = serial(experiment(), points, out=tmp_path / "b", batch=3)
    with ThreadPoolExecutor(2) as threads:
        threaded = sweep(experiment(), SPACE, seeds=2, out=tmp_path / "c", executor=threads, in_flight=3)
    processes = sweep(experiment(), SPACE, seeds=2, out=tmp_path / "d")
    for other in (backwards, threaded, processes):
        assert figures(other) == figures(forwards)
        assert other.to_arrow().schema == forwards.to_arrow().schema


def _points() -> list[dict[str, Any]]:
    return [{"host.queue_depth": depth, "host.scheduler": name} for name in ("noop", "deadline") for depth in (1, 8)]


def test_what_is_there_is_not_run_again_and_more_values_run_only_what_is_new(tmp_path: Path) -> None:
    before = costs(serial(experiment(), SPACE, out=tmp_path))
    assert costs(serial(experiment(), SPACE, out=tmp_path)) == before
    after = costs(serial(experiment(), {**SPACE, "host.queue_depth": "1,8,16"}, out=tmp_path))
    assert len(after) == 6 and before.items() <= after.items()
    # Another way to write a value is no other run.
    other = experiment(set={"workload.synthetic.request_size": "4096B"})
    assert costs(serial(other, SPACE, out=tmp_path)) == after


@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_a_killed_sweep_goes_on_with_nothing_lost_and_nothing_twice(tmp_path: Path, executor: str) -> None:
    out = tmp_path / "killed"
    killed(KILLED, lambda: len(list(out.glob("part-*"))) >= 5, out, executor)
    before = costs(DataSet(out))
    assert 5 <= len(before) < 48, "it was killed in the middle"
    resumed = serial(experiment(), MANY, seeds=2, out=out)
    whole = serial(experiment(), MANY, seeds=2, out=tmp_path / "whole")
    assert figures(resumed) == figures(whole) and len(resumed) == 48
    assert before.items() <= costs(resumed).items(), "a run that had ended was run again"


def test_a_crash_between_the_whole_file_and_the_removal_of_its_parts_doubles_nothing(tmp_path: Path) -> None:
    data = serial(experiment(), SPACE, out=tmp_path)
    before = figures(data)
    data.append(data.rows()[:2], data.varied)
    (tmp_path / f".part-{'0' * 16}.parquet.partial").write_bytes(b"half a file")
    (tmp_path / ".mine.partial").write_bytes(b"not of a sweep")
    assert len(data) == 4 and figures(data) == before
    assert figures(serial(experiment(), SPACE, out=tmp_path)) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", ".mine.partial", "data.parquet"]


def test_failures_are_kept_and_repeated_only_if_asked(tmp_path: Path) -> None:
    space = [{"host.scheduler": "py-broken"}, {"host.scheduler": "noop"}, {"buffer.capacity": "185KiB"}]
    runs = partial(serial, experiment(policies=[Broken]), space, out=tmp_path)
    data = runs()
    failures = {row["error.type"]: row for row in data.failures()}
    assert set(failures) == {"ArithmeticError", "ConfigError"} and len(data) == 3
    assert failures["ArithmeticError"]["error.message"] == "no request is the best one"
    assert "sweep_runs.py" in failures["ArithmeticError"]["error.traceback"]
    assert "a multiple of the page size" in failures["ConfigError"]["error.message"]
    assert failures["ConfigError"]["buffer.capacity"] == "185KiB"
    before = figures(data)
    stamp = (tmp_path / "data.parquet").stat().st_mtime_ns
    assert figures(runs()) == before and (tmp_path / "data.parquet").stat().st_mtime_ns == stamp
    assert figures(runs(retry_failed=True)) == before


def test_a_policy_that_leaves_python_is_a_run_that_failed(tmp_path: Path) -> None:
    data = serial(experiment(policies=[Leaving]), {"host.scheduler": ["py-leaving", "noop"]}, out=tmp_path)
    assert [row["error.type"] for row in data.failures()] == ["SystemExit"] and len(data) == 2


def test_policies_in_python_travel_with_their_code(tmp_path: Path) -> None:
    space = {"host.scheduler": ["py-fifo", "noop"], "host.merging": [False]}
    rows = sweep(experiment(policies=[Fifo]), space, out=tmp_path).rows()
    figure = {row["host.scheduler"]: row["host.latency_ns.all.p99_9"] for row in rows}
    assert figure["py-fifo"] == figure["noop"] > 0


def test_a_worker_that_dies_ends_the_sweep_and_what_has_ended_is_kept(tmp_path: Path) -> None:
    points = [{"host.scheduler": "noop"}, {"host.scheduler": "py-deadly"}]
    with ProcessExecutor(1) as executor, pytest.raises(flashloom.SweepError, match="its workers have ended"):
        sweep(experiment(policies=[Deadly]), points, out=tmp_path, executor=executor, in_flight=1)
    assert [row["host.scheduler"] for row in DataSet(tmp_path).rows()] == ["noop"]


def test_an_interrupt_keeps_what_has_ended(tmp_path: Path) -> None:
    seen: list[flashloom.Progress] = []

    def interrupt(progress: flashloom.Progress) -> None:
        seen.append(progress)
        if progress.runs == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        serial(experiment(), SPACE, out=tmp_path, progress=interrupt)
    assert len(DataSet(tmp_path)) == 2
    assert [(one.runs, one.all_runs, one.requests) for one in seen] == [(0, 4, 0), (1, 4, 2000), (2, 4, 4000)]
    serial(experiment(), SPACE, out=tmp_path, progress=seen.append)
    assert seen[-1].runs == 4 and seen[-1].share == 1.0


def test_runs_that_share_an_aged_drive_wait_for_the_first_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept"
    kept.touch()
    drives = {1: "new", 2: "new", 3: None, 4: "other", 5: "new", 6: str(kept)}
    monkeypatch.setattr(Task, "drive", lambda task: drives[task.seed])
    tasks = {seed: Task(str(seed), seed, {}, "", None, {}, False) for seed in drives}
    queue = _Queue(tasks.values())
    assert [queue.next().seed for _ in range(4)] == [4, 1, 3, 6] and not queue
    queue.ended(tasks[3])
    assert not queue
    queue.ended(tasks[1])
    assert [queue.next().seed for _ in range(2)] == [2, 5] and not queue


def test_an_aged_drive_is_kept_for_the_runs_that_have_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLASHLOOM_CACHE", str(tmp_path / "cache"))
    aged = experiment(set={"run.precondition": "steady", "run.fill": 0.5, "device.blocks": 4096, "device.channels": 4})
    space = {"host.queue_depth": [1, 8], "ftl.gc": ["greedy", "fifo"]}
    cached = sweep(aged, space, out=tmp_path / "cached")
    assert len(list((tmp_path / "cache").glob("*.state"))) == 2, "one drive for each collection policy"
    monkeypatch.setenv("FLASHLOOM_CACHE", "")
    assert figures(serial(aged, space, out=tmp_path / "fresh")) == figures(cached)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"space": {"host.scheduler": ["nope"]}}, flashloom.ConfigError),
        ({"space": {"host.nope": [1]}}, flashloom.ConfigError),
        ({"space": None}, flashloom.ConfigError),
        ({"space": []}, None),
        ({"space": [5]}, TypeError),
        ({"space": {"run.seed": [1, 2]}, "seeds": 2}, ValueError),
        ({"seeds": 0}, ValueError),
        ({"seeds": 1}, ValueError),
        ({"in_flight": 0}, ValueError),
        ({"batch": 1.5}, TypeError),
        ({"executor": SerialExecutor}, TypeError),
        ({"executor": 4}, TypeError),
        ({"executor": ProcessPoolExecutor(1, get_context("fork"))}, ValueError),
        ({"out": None}, TypeError),
    ],
)
def test_what_is_no_sweep_is_refused_before_a_run(
    options: dict[str, Any], expected: type[Exception] | None, tmp_path: Path
) -> None:
    call = partial(sweep, experiment(), **{"space": SPACE, "out": tmp_path, "executor": SerialExecutor(), **options})
    if expected is None:
        assert len(call()) == 0
        return
    with pytest.raises(expected):
        call()
    assert not list(tmp_path.glob("*.parquet"))


def test_seeds_of_runs_that_draw_nothing_are_refused(tmp_path: Path) -> None:
    writes = {"workload.synthetic.read_share": 0, "run.precondition": "fill"}
    equal = {**writes, "workload.synthetic.pattern": "sequential"}
    with pytest.raises(flashloom.ConfigError, match="3 seeds, and nothing is drawn: a sequential workload") as refused:
        serial(experiment(set=equal), SPACE, seeds=3, out=tmp_path)
    assert "leave `seeds` out" in str(refused.value) and "--seeds" not in str(refused.value)
    assert not list(tmp_path.glob("*.parquet"))
    mixed = {"workload.synthetic.pattern": ["random", "sequential"]}
    with pytest.raises(flashloom.ConfigError, match="a sequential workload"):
        serial(experiment(set=writes), mixed, seeds=2, out=tmp_path)
    assert len(serial(experiment(set=equal), {"run.precondition": ["steady"]}, seeds=2, out=tmp_path)) == 2
    assert len(serial(experiment(set=equal), SPACE, out=tmp_path / "one")) == 4, "one run of each says all"


def test_the_folder_of_a_data_set_is_one(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    for out in (file, file / "below"):
        with pytest.raises(flashloom.InputError, match="cannot be the folder of a data set"):
            serial(experiment(), SPACE, out=out)
    assert file.read_text() == "mine"
    for name, reason in (("typo", "no such folder"), ("notes.txt", "a file"), (".", "has no rows")):
        with pytest.raises(flashloom.InputError, match=f"is no data set: .*{reason}"):
            DataSet(tmp_path / name)
    data = DataSet.to_write(tmp_path / "begun")
    with data.writing():
        assert len(DataSet(tmp_path / "begun")) == 0, "a sweep has begun, and no run has ended"


def test_a_data_set_has_one_writer(tmp_path: Path) -> None:
    data = DataSet.to_write(tmp_path)
    with data.writing(), pytest.raises(flashloom.BusyError, match="another process"):
        serial(experiment(), SPACE, out=tmp_path)


def test_a_file_that_is_no_part_is_named(tmp_path: Path) -> None:
    (tmp_path / "part-1.parquet").write_bytes(b"no Parquet")
    with pytest.raises(flashloom.InputError, match="part-1.parquet: is no part of a data set"):
        serial(experiment(), SPACE, out=tmp_path)


def test_a_data_set_is_read_while_a_sweep_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = DataSet.to_write(tmp_path)
    for name in ("a", "b"):
        data.append([{"id": name, "status": "ok"}], [])
    reader, read = DataSet(tmp_path), DataSet._read

    def late(self: DataSet, path: Path, columns: list[str] | None = None) -> Any:
        monkeypatch.undo()
        data.compact()
        return read(self, path, columns)

    monkeypatch.setattr(DataSet, "_read", late)
    assert [row["id"] for row in reader.rows()] == ["a", "b"]
    (tmp_path / "link.parquet").symlink_to("nowhere")
    with pytest.raises(flashloom.InputError, match="cannot be read"):
        len(reader)


@pytest.mark.parametrize(("column", "message"), [("id", "is no text"), ("status", "not 'done'")])
def test_a_data_set_that_was_edited_says_what_is_wrong(tmp_path: Path, column: str, message: str) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = serial(experiment(), {"host.queue_depth": [1]}, out=tmp_path).to_arrow()
    place = table.column_names.index(column)
    edited = table.set_column(place, column, pyarrow.array([None if column == "id" else "done"], "string"))
    parquet.write_table(edited, tmp_path / "data.parquet")
    with pytest.raises(flashloom.InputError, match=message):
        DataSet(tmp_path).rows()
    parquet.write_table(table.replace_schema_metadata({"flashloom.varied": "{"}), tmp_path / "data.parquet")
    with pytest.raises(flashloom.InputError, match="no JSON"):
        len(DataSet(tmp_path))


def test_columns_of_several_kinds_become_numbers_or_texts(tmp_path: Path) -> None:
    data = DataSet.to_write(tmp_path)
    data.append([{"id": "b", "status": "ok", "x": 1, "y": 1, "z": None}], ["y"])
    data.append([{"id": "a", "status": "ok", "x": 0.5, "y": "1ms", "w": True}], ["y"])
    frame = data.to_arrow().to_pydict()
    expected = {"id": ["a", "b"], "y": ["1ms", "1"], "x": [0.5, 1.0], "w": [True, None], "z": [None, None]}
    assert {name: frame[name] for name in expected} == expected
    assert list(frame) == ["id", "status", "y", "w", "x", "z"]


def test_points_drawn_at_random_are_swept(tmp_path: Path) -> None:
    points = sample({"device.over_provisioning": Range(0.1, 0.3), "host.queue_depth": Range(1, 64, log=True)}, 5)
    assert len(serial(experiment(), points, out=tmp_path).to_pandas()) == 5


def test_a_worker_that_cannot_read_its_task_says_so() -> None:
    with pytest.raises(WorkerError, match="not fit for these runs"):
        run(b"no task")


def test_the_id_is_that_of_what_the_result_depends_on() -> None:
    written = experiment(set={"host.queue_depth": 31})
    ids = [
        task_of(experiment(), {}, verify=False).id,
        task_of(experiment(), {}, verify=True).id,
        task_of(experiment(), {"run.seed": 2}, verify=False).id,
        task_of(experiment(policies=[Fifo]), {}, verify=False).id,
    ]
    assert len(set(ids)) == 4
    assert task_of(written, {"host.scheduler": "noop"}, verify=False).id == ids[0], "its defaults, written out"


def test_the_examples_of_the_document_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("optuna")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs/sweeps.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        exec(compile(block, "docs/sweeps.md", "exec"), names)  # noqa: S102
    assert len(names["data"]) == 12 and len(names["points"]) == 50 and len(names["study"].trials) == 12


def made(step: int) -> type[Fifo]:
    class Made(Fifo):
        name = "py-made"

        def dispatch(self, now: int, queue: Queue) -> int | None:
            return super().dispatch(now, queue) if step else None

    return Made


def typed(step: int) -> type[Fifo]:
    """A class that was typed at a prompt: without a text."""
    names: dict[str, Any] = {"Fifo": Fifo, "__name__": "__main__"}
    text = "class Typed(Fifo):\n name = 'py-typed'\n def completed(self, now, request): self.last = {step}"
    exec(text.replace("{step}", str(step)), names)
    return cast(type[Fifo], names["Typed"])


@pytest.mark.parametrize("make", [made, typed])
def test_a_policy_is_known_by_what_it_does_even_without_a_text(make: Callable[[int], type[Fifo]]) -> None:
    def id_of(policy: type[Fifo]) -> str:
        return task_of(experiment(policies=[policy]), {}, verify=False).id

    assert id_of(make(1)) == id_of(make(1)) != id_of(make(2))
    changed = make(1)
    changed.patience = 3  # type: ignore[attr-defined]
    assert id_of(changed) != id_of(make(1))


def test_an_outcome_keeps_its_error_as_text() -> None:
    outcome = Outcome(failure=Failure.of(ValueError("why")))
    assert outcome.failure == Failure("ValueError", "why", "ValueError: why\n")
