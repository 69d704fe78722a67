"""Policies in Python give the figures of the built-in ones that they are written after, on random workloads."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_runs import example, experiment, figures, run

SCHEDULERS = example("schedulers")

workloads = st.fixed_dictionaries(
    {
        "run__seed": st.integers(1, 1 << 32),
        "workload__synthetic__pattern": st.sampled_from(["random", "zipf", "sequential"]),
        "workload__synthetic__read_share": st.sampled_from([0.0, 0.3, 0.5, 0.9]),
        "workload__synthetic__footprint_size": st.sampled_from(["1MiB", "8MiB", "32MiB"]),
        "workload__synthetic__request_size": st.sampled_from(["512B", "4KiB", "24KiB"]),
        "workload__queue_depth": st.sampled_from([1, 16, 64]),
        "host__queue_depth": st.sampled_from([1, 4, 31]),
        "host__merging": st.booleans(),
    }
)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(workloads)
def test_noop_is_noop(keys: dict[str, object]) -> None:
    ours = run([], host__scheduler="noop", **keys)
    assert figures(run([SCHEDULERS.Noop], host__scheduler="py-noop", **keys)) == figures(ours)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(workloads, st.integers(1, 20), st.integers(1, 3), st.booleans(), st.sampled_from(["1ms", "20ms", "500ms"]))
def test_deadline_is_deadline(keys: dict[str, object], batch: int, starved: int, front: bool, expire: str) -> None:
    def of(name: str) -> dict[str, object]:
        merges = {f"host__{name}__front_merges": front} if keys["host__merging"] else {}
        own = {"fifo_batch": batch, "writes_starved": starved, "read_expire": expire, "write_expire": expire}
        return {**keys, **merges, **{f"host__{name}__{key}": value for key, value in own.items()}}

    ours = run([], host__scheduler="deadline", **of("deadline"))
    theirs = run([SCHEDULERS.Deadline], host__scheduler="py-deadline", **of("py-deadline"))
    assert figures(theirs) == figures(ours)


def test_requests_merge_at_both_sides_and_join() -> None:
    keys: dict[str, object] = {"workload__synthetic__footprint_size": "256KiB", "workload__queue_depth": 64}
    result = run([SCHEDULERS.Deadline], host__scheduler="py-deadline", **keys)
    assert result["host"]["scheduler"]["merged"] > 50


@settings(max_examples=8, deadline=None, derandomize=True)
@given(workloads, st.sampled_from(["fill", "steady"]), st.sampled_from(["timed", "counting"]))
def test_greedy_is_greedy(keys: dict[str, object], precondition: str, timing: str) -> None:
    keys = {**keys, "run__precondition": precondition, "run__timing": timing}
    keys = {**keys, "workload__synthetic__footprint_size": "64MiB", "workload__synthetic__requests": 3000}
    ours = run([], ftl__gc="greedy", **keys)
    theirs = run([example("greedy").Greedy], ftl__gc="py-greedy", **keys)
    assert figures(theirs) == figures(ours)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(workloads, st.sampled_from(["single", "cave", "linear-threshold"]))
def test_page_lru_is_page_lru(keys: dict[str, object], rate: str) -> None:
    keys = {**keys, "buffer__rate": rate}
    ours = run([], buffer__order="page-lru", **keys)
    theirs = run([example("page_lru").PageLru], buffer__order="py-page-lru", **keys)
    assert figures(theirs) == figures(ours)


@pytest.mark.parametrize("jobs", [1, 2])
def test_runs_of_a_comparison_have_instances_of_their_own(jobs: int) -> None:
    classes = [SCHEDULERS.Noop, SCHEDULERS.Deadline]
    vary = {"host.scheduler": ["noop", "py-noop", "deadline", "py-deadline"], "run.seed": [1, 2]}
    runs = experiment(classes).compare(vary=vary, jobs=jobs).to_dict()["runs"]
    by = {(each["vary"]["host.scheduler"], each["vary"]["run.seed"]): figures(each["result"]) for each in runs}
    for seed in (1, 2):
        assert by["py-noop", seed] == by["noop", seed]
        assert by["py-deadline", seed] == by["deadline", seed]
