"""Tuning: the same trials however often a study is killed; what fails is told to it."""

from __future__ import annotations

import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

import flashloom
import pytest
from flashloom import Choice, Objective, Range, tune
from flashloom.executors import ProcessExecutor

from sweep_runs import Fifo, experiment, killed

optuna = pytest.importorskip("optuna")
pytest.importorskip("cloudpickle")

SPACE: dict[str, object] = {
    "host.scheduler": ["noop", "deadline"],
    "buffer.capacity": Range("64KiB", "1024KiB", step=64),
    "device.over_provisioning": Range(0.1, 0.3),
    "host.queue_depth": Range(1, 64, log=True),
}
TAIL = "host.latency_ns.all.p99_9"
KILLED = """
import sys
from flashloom import tune
from sweep_runs import experiment
from test_tune import SPACE, TAIL
tune(experiment(), SPACE, [TAIL, "ftl.block_erases"], study=sys.argv[1], trials=16, seeds=2)
"""


def told(study: Any) -> list[tuple[Any, ...]]:
    """What has become of the trials that ended by themselves."""
    ended = [one for one in study.trials if one.state.name != "FAIL" or "flashloom.error" in one.user_attrs]
    return [(one.params, one.values, one.state.name, one.user_attrs["flashloom.values"]) for one in ended]


def test_several_objectives_give_a_front(tmp_path: Path) -> None:
    study = tune(experiment(), SPACE, [TAIL, Objective("host.iops", "maximize")], study=tmp_path / "s.db", trials=8)
    assert len(study.trials) == 8 and [one.name for one in study.directions] == ["MINIMIZE", "MAXIMIZE"]
    best = [one.values for one in study.best_trials]
    assert best and not any(a[0] < b[0] and a[1] > b[1] for a in best for b in best)
    values = study.best_trials[0].user_attrs["flashloom.values"]
    assert list(values) == list(SPACE)
    again = experiment(set=values).run()
    assert [again[TAIL], again["host.iops"]] == study.best_trials[0].values


def test_a_killed_study_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    path = tmp_path / "killed.db"
    killed(KILLED, partial(_has_trials, path, 7), path)
    goals = [TAIL, "ftl.block_erases"]
    resumed = tune(experiment(), SPACE, goals, study=path, trials=16, seeds=2)
    whole = tune(experiment(), SPACE, goals, study=tmp_path / "whole.db", trials=16, seeds=2)
    assert told(resumed) == told(whole) and len(told(whole)) == 16
    assert len(tune(experiment(), SPACE, goals, study=path, trials=16, seeds=2).trials) == len(resumed.trials)


def _has_trials(path: Path, count: int) -> bool:
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as base:
            found: int = base.execute("select count(*) from trials").fetchone()[0]
    except sqlite3.OperationalError:
        return False
    return found >= count


def test_another_seed_and_another_sampler_try_other_values(tmp_path: Path) -> None:
    def first(name: str, **options: Any) -> Any:
        study = tune(experiment(), SPACE, TAIL, study=tmp_path / name, trials=1, **options)
        return study.trials[0].params

    assert first("a") == first("b", seed=0) != first("c", seed=1)
    assert first("d", sampler="random") == first("e", sampler=optuna.samplers.RandomSampler)
    assert set(first("f", sampler="nsga2")) == set(SPACE)


def test_a_trial_that_fails_is_told_with_its_error(tmp_path: Path) -> None:
    # Not all of these are whole pages of 8 KiB.
    space = {"buffer.capacity": Choice("12KiB", "64KiB"), "host.queue_depth": [1, 8]}
    study = tune(experiment(), space, TAIL, study=tmp_path / "s.db", trials=10, sampler="random")
    failed = [one for one in study.trials if one.state.name == "FAIL"]
    assert 0 < len(failed) < 10 == len(study.trials)
    assert all(one.params["buffer.capacity"] == "12KiB" for one in failed)
    assert "a multiple of the page size" in failed[0].user_attrs["flashloom.error"]

    def raising(result: flashloom.Result) -> float:
        raise ArithmeticError("no good one")

    study = tune(experiment(), {"host.queue_depth": [1]}, raising, study=tmp_path / "r.db", trials=2)
    assert [one.user_attrs["flashloom.error"] for one in study.trials] == ["ArithmeticError: no good one"] * 2
    absent = "host.latency_ns.flush.p99"
    study = tune(experiment(), {"host.queue_depth": [1]}, absent, study=tmp_path / "n.db", trials=1)
    assert "has no field `flush.p99`" in study.trials[0].user_attrs["flashloom.error"]


def test_a_trial_is_pruned_between_its_seeds(tmp_path: Path) -> None:
    space = {"host.queue_depth": [1, 32]}
    pruner = optuna.pruners.ThresholdPruner(upper=0.0)
    study = tune(experiment(), space, TAIL, study=tmp_path / "s.db", trials=2, seeds=3, pruner=pruner)
    assert [one.state.name for one in study.trials] == ["PRUNED"] * 2
    assert [list(one.intermediate_values) for one in study.trials] == [[1]] * 2


def test_the_mean_over_the_seeds_counts(tmp_path: Path) -> None:
    study = tune(experiment(), {"host.queue_depth": [8]}, "host.iops", study=tmp_path / "s.db", trials=1, seeds=3)
    runs = [experiment(set={"host.queue_depth": 8, "run.seed": seed}).run().host.iops for seed in (1, 2, 3)]
    assert study.trials[0].values == [sum(runs) / 3]


def test_processes_run_trials_with_policies_and_functions_of_ones_own(tmp_path: Path) -> None:
    def tail(result: flashloom.Result) -> float:
        return float(result.histogram("write").percentile(99.95))

    space = {"host.scheduler": ["py-fifo", "noop"], "host.queue_depth": Range(1, 8)}
    mine = experiment(policies=[Fifo])
    with ProcessExecutor(2) as executor:
        study = tune(mine, space, tail, study=tmp_path / "s.db", trials=6, executor=executor, in_flight=2)
    assert [one.state.name for one in study.trials] == ["COMPLETE"] * 6 and study.best_value > 0


def test_a_study_of_something_else_is_refused(tmp_path: Path) -> None:
    begin = partial(tune, study=tmp_path / "s.db", trials=1)
    begin(experiment(), SPACE, TAIL)
    for other in (
        (experiment(set={"host.queue_depth": 2}), SPACE, TAIL),
        (experiment(), {**SPACE, "host.queue_depth": [1]}, TAIL),
        (experiment(), SPACE, "host.iops"),
        (experiment(), SPACE, Objective(TAIL, "maximize")),
        (experiment(), SPACE, [TAIL, "host.iops"]),
    ):
        with pytest.raises(flashloom.StudyError, match="of another experiment"):
            begin(*other)
    (tmp_path / "n.db").write_text("no study")
    with pytest.raises(flashloom.InputError, match="is no study"):
        tune(experiment(), SPACE, TAIL, study=tmp_path / "n.db", trials=1)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"space": {"host.nope": [1]}}, flashloom.ConfigError),
        ({"space": {"host.queue_depth": Range(0, 4)}}, flashloom.ConfigError),
        ({"space": {"host.scheduler": ["noop", "nope"]}}, flashloom.ConfigError),
        ({"space": {}}, ValueError),
        ({"objectives": []}, ValueError),
        ({"objectives": [5]}, TypeError),
        ({"objectives": ["host.iops", "host.nope"]}, flashloom.ConfigError),
        ({"study": "a?b.db"}, ValueError),
        ({"objectives": ["host.iops", TAIL], "pruner": object()}, ValueError),
        ({"trials": 0}, ValueError),
        ({"trials": None}, TypeError),
        ({"seeds": 1.5}, TypeError),
        ({"sampler": "best"}, ValueError),
    ],
)
def test_what_is_no_study_is_refused(options: dict[str, Any], expected: type[Exception], tmp_path: Path) -> None:
    call = {"space": SPACE, "objectives": TAIL, "study": tmp_path / "s.db", "trials": 1, **options}
    with pytest.raises(expected):
        tune(experiment(), **call)
    with pytest.raises(ValueError, match="direction"):
        Objective(TAIL, "up")
