"""What a policy in Python costs: requests a second of the simulator, beside the built-in policy that it equals.

    python examples/python/cost.py

Runs of the two alternate, so that what else the machine does weighs on both, and the median of each counts. It is
processor time that is measured.
"""

from __future__ import annotations

import statistics
import time

import flashloom
from flashloom.policy import Policy
from greedy import Greedy
from page_lru import PageLru
from schedulers import Deadline, Noop

PAIRS: dict[str, list[tuple[str, type[Policy]]]] = {
    "host.scheduler": [("noop", Noop), ("deadline", Deadline)],
    "ftl.gc": [("greedy", Greedy)],
    "buffer.order": [("page-lru", PageLru)],
}
"""By slot, the built-in policies and the same ones in Python."""


def experiment(slot: str, name: str, policy: type[Policy], requests: int) -> flashloom.Experiment:
    """A small, busy drive: requests queue, the buffer is full, and collection never rests."""
    return flashloom.Experiment.from_dict(
        {
            "workload": {"queue_depth": 64, "synthetic": {"requests": requests, "pattern": "zipf", "read_share": 0.5}},
            "device": {"preset": "mlc-16g", "channels": 4, "ways": 1, "blocks": 64, "pages": 64},
            "device.over_provisioning": 0.15,
            "buffer.capacity": "4MiB",
        },
        set={slot: name},
        policies=[policy],
    )


def speed(one: flashloom.Experiment) -> float:
    """Requests that a second of processor time simulates, the filling of the drive included."""
    begin = time.process_time()
    requests: int = one.run().host.requests
    return requests / (time.process_time() - begin)


def medians(slot: str, built_in: str, policy: type[Policy], requests: int, rounds: int) -> tuple[float, float]:
    """Medians of the speeds with the built-in policy and with the one in Python."""
    pair = [experiment(slot, name, policy, requests) for name in (built_in, policy.name)]
    speeds = [[speed(one) for one in pair] for _ in range(rounds)]
    ours, theirs = (statistics.median(column) for column in zip(*speeds, strict=True))
    return ours, theirs


def main(requests: int = 200_000, rounds: int = 7) -> None:
    """Measures, and prints a table."""
    print("| policy | built in, requests a second | in Python | us a request in Python |")
    print("|---|---|---|---|")
    for slot, pairs in PAIRS.items():
        for built_in, policy in pairs:
            ours, theirs = medians(slot, built_in, policy, requests, rounds)
            print(f"| {built_in} | {ours:,.0f} | {theirs:,.0f} | {1e6 / theirs - 1e6 / ours:.1f} |")


if __name__ == "__main__":
    main()
