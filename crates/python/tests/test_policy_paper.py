"""The figure of a paper, shortened: it is measured, and drawn to the same bytes each time."""

from __future__ import annotations

from pathlib import Path

from policy_runs import example


def test_the_figure_of_the_paper_is_drawn_alike_each_time(tmp_path: Path) -> None:
    paper = example("paper")
    drawn = []
    for name in ("first.svg", "second.svg"):
        measured = paper.measure(runtime="100ms", seeds=2)
        assert len(measured) == len(paper.WORKLOADS) * len(paper.SCHEDULERS) * len(paper.FIGURES)
        assert all(mean > 0 and half >= 0 for mean, half in measured.values())
        paper.draw(measured, tmp_path / name)
        drawn.append((tmp_path / name).read_bytes())
    assert drawn[0] == drawn[1] and b"p99 latency" in drawn[0]


def test_patient_requests_wait_for_those_that_a_task_waits_for() -> None:
    """Background writes go last, in order of address, or after their patience."""
    patient = example("paper").Patient(patience_ns=1000, max_wait_ns=1000, batch=2)
    patient.begin(None)

    class Waiting:
        def __init__(self, id: int, is_sync: bool, sectors: int, lba: int) -> None:
            self.id, self.is_sync, self.sectors, self.lba = id, is_sync, sectors, lba

    rows = [(0, False, 8, 500), (1, False, 8, 100), (2, False, 8, 0), (3, True, 16, 0), (4, True, 8, 0)]
    queue = {row[0]: Waiting(*row) for row in rows}
    for request in queue.values():
        patient.insert(0, request)
    assert [patient.dispatch(1, queue) for _ in range(5)] == [4, 3, 1, 0, 2]
    for request in queue.values():
        patient.insert(10, request)
    assert [patient.dispatch(1010, queue) for _ in range(5)] == [1, 0, 2, 3, 4]
    assert patient.forced == 2
