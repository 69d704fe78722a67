"""Policies in Python: a class for each slot of the stack, with parameters that are checked and explained.

A policy is a class derived from that of its slot. It has a name, parameters, and the slot's methods; its docstring is
what ``explain`` shows:

>>> from flashloom.policy import MS, Param, Queue, Scheduler, Statistic
>>> class Shortest(Scheduler):
...     '''The shortest request first.
...
...     A request that has waited for max_wait goes before all others.
...     '''
...     name = "shortest"
...     max_wait_ns = Param(50 * MS, unit="ns", help="Maximum time that a request waits while shorter ones go first.")
...     overdue = Statistic(0, help="Requests that had waited for too long.")
...     def insert(self, now, request):
...         return now + self.max_wait_ns
...     def dispatch(self, now, queue):
...         if not queue:
...             return None
...         oldest = next(iter(queue))
...         if oldest.deadline_ns is not None and oldest.deadline_ns <= now:
...             self.overdue += 1
...             return oldest.id
...         return min(queue, key=lambda request: request.sectors).id
>>> Shortest(max_wait_ns=MS).max_wait_ns
1000000

Every run makes an instance of its own, with the parameters of its configuration, and calls ``begin`` first. What a
method is given is valid during the call only; requests are copies, and may be kept. Times are nanoseconds; ids of
requests, pages, blocks, planes and chips are whole numbers from 0.

A policy must be deterministic: what it draws at random comes from ``random.Random(setup.seed)``, and it neither reads a
clock nor iterates over a set of strings.
"""

from __future__ import annotations

from .buffer import EvictionRate, Occupancy, Order, OrderSetup, RateSetup
from .declare import Param, Policy, PolicyError, Statistic
from .declare import _describe as _describe
from .ftl import (
    Allocation,
    AllocationSetup,
    Collection,
    CollectionSetup,
    Flash,
    Mapping,
    MappingSetup,
    PageWrite,
    Placement,
    PlacementSetup,
)
from .host import (
    NotBefore,
    Queue,
    QueuedRequest,
    Request,
    Scheduler,
    SchedulerSetup,
    Workload,
    WorkloadSetup,
)
from .nand import Geometry, PageCondition, Reliability, ReliabilitySetup, Unreadable

__all__ = [
    "GIB",
    "KIB",
    "MIB",
    "MS",
    "S",
    "US",
    "Allocation",
    "AllocationSetup",
    "Collection",
    "CollectionSetup",
    "EvictionRate",
    "Flash",
    "Geometry",
    "Mapping",
    "MappingSetup",
    "NotBefore",
    "Occupancy",
    "Order",
    "OrderSetup",
    "PageCondition",
    "PageWrite",
    "Param",
    "Placement",
    "PlacementSetup",
    "Policy",
    "PolicyError",
    "Queue",
    "QueuedRequest",
    "RateSetup",
    "Reliability",
    "ReliabilitySetup",
    "Request",
    "Scheduler",
    "SchedulerSetup",
    "Statistic",
    "Unreadable",
    "Workload",
    "WorkloadSetup",
]

US = 1_000
"""Nanoseconds in a microsecond."""
MS = 1_000 * US
"""Nanoseconds in a millisecond."""
S = 1_000 * MS
"""Nanoseconds in a second."""
KIB = 1 << 10
"""Bytes in a kibibyte."""
MIB = 1 << 20
"""Bytes in a mebibyte."""
GIB = 1 << 30
"""Bytes in a gibibyte."""
