"""The example of each slot runs, verified, and does what its docstring says."""

from __future__ import annotations

from typing import Any

from policy_runs import example, figures, run


def test_a_mapping_keeps_every_page_and_collects() -> None:
    page_log = example("page_log").PageLog
    keys: dict[str, object] = {"workload__synthetic__requests": 12_000, "workload__synthetic__read_share": 0.2}
    keys |= {"workload__synthetic__footprint_size": None, "workload__synthetic__discard_share": 0.1}
    keys |= {"workload__synthetic__request_size": "8KiB"}
    result = run([page_log], ftl__mapping="page-log", run__precondition="fill", **keys)
    assert result["config"]["ftl"]["page-log"] == {"spare": 2}
    assert result["ftl"]["mapping"]["collections"] == result["ftl"]["block_erases"] > 10
    assert result["ftl"]["trimmed_pages"] > 10
    assert result["integrity"]["sectors_checked"] > 1000


def test_an_eviction_rate_leaves_room() -> None:
    watermarks = example("watermarks").Watermarks
    keys = {"workload__synthetic__read_share": 0.0, "workload__queue_depth": 1, "buffer__capacity": "1MiB"}
    single = run([], buffer__rate="single", **keys)["buffer"]["occupancy"]
    ours = run([watermarks], buffer__rate="watermarks", **keys)["buffer"]["occupancy"]
    assert ours["dirty_pages_mean"] < single["dirty_pages_mean"]


def test_an_allocation_places_every_page() -> None:
    least_written = example("least_written").LeastWritten
    result = run([least_written], ftl__allocation="least-written")
    assert result["ftl"]["allocation"]["moved"] > 0


def test_a_placement_spreads_logical_blocks() -> None:
    lightest = example("lightest_chip").LightestChip
    keys = {"ftl__mapping": "bast", "buffer__order": "block-lru", "ftl__bast__log_blocks": 4}
    result = run([lightest], ftl__placement="lightest-chip", **keys)
    assert result["ftl"]["placement"]["migrated_pages"] == 0
    assert figures(run([lightest], ftl__placement="lightest-chip", **keys)) == figures(result)


def test_a_workload_arrives_by_its_times() -> None:
    bursts = example("bursts").Bursts
    none = {key: None for key in ("requests", "read_share", "footprint_size")}
    keys: dict[str, object] = {f"workload__synthetic__{key}": value for key, value in none.items()}
    keys |= {"workload__queue_depth": None, "workload__kind": "bursts"}
    result = run([bursts], workload__bursts__bursts=5, **keys)
    assert result["host"]["requests"] == 5 * (16 + 1 + 8)
    assert result["host"]["duration_ns"] > 4 * 20_000_000
    cut = run([bursts], workload__requests=30, **keys)
    assert cut["host"]["requests"] == 30


def test_reads_of_worn_blocks_are_repeated_or_fail() -> None:
    worn = example("worn_pages").WornPages
    keys: dict[str, object] = {"device__reliability": "worn-pages", "run__precondition": "fill"}
    keys |= {"workload__synthetic__requests": 12_000, "workload__synthetic__footprint_size": None}
    keys |= {"workload__synthetic__read_share": 0.3}
    def at(rated: int) -> dict[str, Any]:
        return run([worn], **{"device__worn-pages__rated": rated}, **keys)

    result, new = at(1), at(1_000_000)
    nand = result["nand"]
    assert nand["reliability"]["retries"] > 100
    assert nand["retries"]["host"] > 0
    assert nand["unreadable_reads"]["host"] > 0
    assert new["nand"]["unreadable_reads"]["total"] == 0
    assert new["host"]["latency_ns"]["read"]["mean"] < result["host"]["latency_ns"]["read"]["mean"]
    assert figures(at(1)) == figures(result)
