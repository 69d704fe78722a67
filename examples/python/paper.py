"""The figure of a paper: a new scheduler on four workloads, with intervals over seeds.

    python examples/python/paper.py figure.svg

``Patient`` sends the shortest request that a task waits for, and is patient with the others: it keeps background writes
back until nothing else waits, or until the oldest of them has waited for too long; then it sends a batch. The figure
shows the 99th percentile of latency and the requests a second under noop, deadline and Patient, on the four
personalities of Filebench over a modelled file system (docs/filebench.md). Bars are means over the seeds, whiskers
their 95 % intervals (Student's t), as ``compare`` works them out.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import flashloom
from flashloom.policy import MS, Param, Queue, QueuedRequest, Scheduler, SchedulerSetup, Statistic


class Patient(Scheduler):
    """Waited-for requests first, the shortest before the others; background writes in batches.

    A request that a task waits for goes first, the shortest of them, unless one has waited for max_wait. All others
    are kept until nothing else waits or the oldest of them has waited for patience; then up to a batch of them goes, in
    order of address.
    """

    name = "patient"
    source = "shortest job first, and the plugging of writers in Linux"
    max_wait_ns = Param(50 * MS, unit="ns", help="Time after which a request that a task waits for goes first.")
    patience_ns = Param(200 * MS, unit="ns", help="Time after which background writes go first.")
    batch = Param(16, min=1, max=1024, help="Background writes that go together.")
    forced = Statistic(0, help="Batches that began because the oldest write had waited for too long.")

    def begin(self, setup: SchedulerSetup) -> None:
        # Ids with the time of arrival; a dict keeps the order in which they came.
        self.waited_for: dict[int, int] = {}
        self.background: dict[int, int] = {}
        self.batched: list[int] = []

    def insert(self, now: int, request: QueuedRequest) -> int:
        (self.waited_for if request.is_sync else self.background)[request.id] = now
        return now + (self.max_wait_ns if request.is_sync else self.patience_ns)

    def dispatch(self, now: int, queue: Queue) -> int:
        if not self.batched and self.background:
            is_late = now - next(iter(self.background.values())) >= self.patience_ns
            if is_late or not self.waited_for:
                self.forced += is_late
                oldest = list(self.background)[: self.batch]
                self.batched = sorted(oldest, key=lambda id: queue[id].lba, reverse=True)
        if self.batched:
            id = self.batched.pop()
            del self.background[id]
            return id
        id = next(iter(self.waited_for))
        if now - self.waited_for[id] < self.max_wait_ns:
            id = min(self.waited_for, key=lambda id: queue[id].sectors)
        del self.waited_for[id]
        return id


WORKLOADS = ("fileserver", "varmail", "webserver", "oltp")
SCHEDULERS = ("noop", "deadline", "patient")
FIGURES = {"host.latency_ns.all.p99": ("p99 latency (ms)", 1e-6), "host.iops": ("requests a second", 1.0)}


def measure(runtime: str = "5s", seeds: int = 5) -> dict[tuple[str, str, str], tuple[float, float]]:
    """Mean and half width of the interval of each figure, by workload, scheduler and figure."""
    experiment = flashloom.Experiment.from_dict(
        {
            "workload": {"kind": "filebench", "filebench": {"runtime": runtime, "cache_size": "32MiB"}},
            "host.queue_depth": 8,
            "device.preset": "mlc-16g",
            "device.blocks": 256,
            "run": {"precondition": "fill", "fill": 0.8},
        },
        policies=[Patient],
    )
    experiment.workload.filebench.files = 2000
    measured = {}
    for workload in WORKLOADS:
        own = {"oltp": {"files": 10, "file_size": "64MiB", "log_size": "64MiB"}}.get(workload, {})
        one = experiment.copy()
        one.workload = {"filebench": {"personality": workload, **own}}
        comparison = one.compare(vary={"host.scheduler": list(SCHEDULERS)}, seeds=seeds)
        for repeated in comparison.to_dict()["repeated"]:
            for figure in FIGURES:
                value = repeated["figures"][figure]
                key = (workload, repeated["vary"]["host.scheduler"], figure)
                measured[key] = (value["mean"], value["half_width"])
    return measured


def draw(measured: dict[tuple[str, str, str], tuple[float, float]], path: Path) -> None:
    """Draws the bars with their intervals; the same figures give the same bytes."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "flashloom", "svg.fonttype": "none"})
    from matplotlib import pyplot

    canvas, axes = pyplot.subplots(1, len(FIGURES), figsize=(10, 3.6), layout="constrained")
    for axis, (figure, (label, factor)) in zip(axes, FIGURES.items(), strict=True):
        for at, scheduler in enumerate(SCHEDULERS):
            values = [measured[workload, scheduler, figure] for workload in WORKLOADS]
            places = [index + 0.27 * (at - 1) for index in range(len(WORKLOADS))]
            means, halves = ([factor * part[side] for part in values] for side in (0, 1))
            axis.bar(places, means, 0.25, yerr=halves, capsize=3, label=scheduler)
        axis.set_xticks(range(len(WORKLOADS)), WORKLOADS)
        axis.set_ylabel(label)
        axis.set_ylim(bottom=0)
    axes[0].legend()
    canvas.savefig(path, format="svg", metadata={"Date": None})
    pyplot.close(canvas)


def main(arguments: Sequence[str]) -> None:
    """Measures, prints a table, and draws."""
    measured = measure()
    for (workload, scheduler, figure), (mean, half) in measured.items():
        label, factor = FIGURES[figure]
        print(f"{workload:10} {scheduler:9} {label:18} {factor * mean:10.1f} +- {factor * half:.1f}")
    draw(measured, Path(arguments[0] if arguments else "figure.svg"))


if __name__ == "__main__":
    main(sys.argv[1:])
