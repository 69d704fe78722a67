"""A workload of bursts: a database that writes its journal, and reads between."""

from __future__ import annotations

import random
from collections.abc import Iterator

from flashloom.policy import MS, US, Param, Request, Workload, WorkloadSetup


class Bursts(Workload):
    """Bursts of sequential writes, each ended by a flush, and random reads between them."""

    name = "bursts"
    source = "the example of the documentation"
    has_task_ids = True
    has_times = True
    bursts = Param(20, min=1, max=1_000_000, help="Number of bursts.")
    writes = Param(16, min=1, max=10_000, help="Writes in a burst.")
    pause_ns = Param(20 * MS, unit="ns", help="Time from one burst to the next.")

    def requests(self, setup: WorkloadSetup) -> Iterator[Request]:
        draw = random.Random(setup.seed)
        journal, size = 0, 16
        area = setup.capacity_sectors // 2
        for burst in range(self.bursts):
            now = burst * self.pause_ns
            for _ in range(self.writes):
                yield Request("write", journal, size, arrival_ns=now, task=1, sync=True)
                journal = (journal + size) % (area - area % size)
            yield Request("flush", 0, 0, arrival_ns=now, task=1)
            for read in range(8):
                lba = area + draw.randrange(area - 8) // 8 * 8
                yield Request("read", lba, 8, arrival_ns=now + (read + 1) * 100 * US, task=2)
