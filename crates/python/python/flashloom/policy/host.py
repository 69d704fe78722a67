"""The host: workloads, and the I/O scheduler of its block layer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from .declare import Policy

if TYPE_CHECKING:
    _Op = Literal["read", "write", "discard", "flush"]


@dataclass(frozen=True)
class Request:
    """A request of the workload, before the host's block layer has queued it.

    Attributes:
        op: "read", "write", "discard" or "flush".
        lba: first 512-byte sector; 0 for a flush.
        sectors: length, at least 1; 0 for a flush.
        arrival_ns: arrival time from the start of the workload; it never decreases.
        task: id of the issuing task.
        sync: a task waits for it; every read is.
        fua: a write that must be durable when it completes.
        preflush: a write that the device precedes with a flush.
    """

    op: _Op
    lba: int
    sectors: int
    arrival_ns: int = 0
    task: int = 0
    sync: bool = False
    fua: bool = False
    preflush: bool = False

    @property
    def end(self) -> int:
        """The sector after the last."""
        return self.lba + self.sectors


class QueuedRequest(Protocol):
    """A request in the block layer as it is at the time of the call; merging makes it longer."""

    @property
    def id(self) -> int:
        """Its id; it may be used again once the request has completed."""

    @property
    def op(self) -> _Op:
        """Operation, never a flush: those bypass the scheduler."""

    @property
    def lba(self) -> int:
        """First 512-byte sector."""

    @property
    def sectors(self) -> int:
        """Length in sectors."""

    @property
    def end(self) -> int:
        """The sector after the last."""

    @property
    def task(self) -> int:
        """Task of the first original request in it."""

    @property
    def is_read(self) -> bool:
        """True for a read; a discard counts as a write."""

    @property
    def is_sync(self) -> bool:
        """True if a task waits for it."""

    @property
    def deadline_ns(self) -> int | None:
        """The deadline that ``insert`` returned; None for none."""


class Queue(Protocol):
    """The requests that wait in the scheduler, in order of arrival. Closed when the call that was given it ends."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[QueuedRequest]: ...
    def __contains__(self, id: object) -> bool: ...  # noqa: A002
    def __getitem__(self, id: int) -> QueuedRequest: ...  # noqa: A002


@dataclass(frozen=True)
class NotBefore:
    """An answer of ``Scheduler.dispatch``: nothing before that time, unless a request is submitted or completed."""

    time_ns: int


@dataclass(frozen=True)
class SchedulerSetup:
    """Facts of the block layer.

    Attributes:
        capacity_sectors: capacity of the device, in sectors.
        requests: size of the request pool; all ids are below it.
    """

    capacity_sectors: int
    requests: int


class Scheduler(Policy):
    """An I/O scheduler, ``host.scheduler``: the order in which queued requests go to the device.

    The block layer merges, counts and enforces the limits. Without the methods after ``dispatch`` a new request is
    merged at the back of a queued one only.
    """

    _slot: ClassVar[str] = "scheduler"

    def begin(self, setup: SchedulerSetup) -> None:
        """Prepares for a run."""

    def insert(self, now: int, request: QueuedRequest) -> int | None:
        """A request was queued. Returns the deadline of its dispatch, in nanoseconds of the run; None for none."""

    @abstractmethod
    def dispatch(self, now: int, queue: Queue) -> int | NotBefore | None:
        """Returns the id of the request to send now, which leaves the queue; None to wait for the next request or
        completion."""

    def completed(self, now: int, request: QueuedRequest) -> None:
        """A request that was dispatched has completed or failed."""

    def allows_merge(self, queue: Queue, id: int, incoming: Request) -> bool:  # noqa: A002
        """True if a new request may be merged into an adjacent queued one."""
        return True

    def front_merge_candidate(self, queue: Queue, incoming: Request) -> int | None:
        """Returns the first request, in the scheduler's order, that begins where a new one ends."""

    def former(self, queue: Queue, id: int) -> int | None:  # noqa: A002
        """The previous request in the scheduler's order: joined with this one if they have become adjacent."""

    def latter(self, queue: Queue, id: int) -> int | None:  # noqa: A002
        """The next request in the scheduler's order: joined with this one if they have become adjacent."""

    def moved(self, queue: Queue, id: int) -> None:  # noqa: A002
        """A front merge has moved the beginning of a queued request."""

    def absorb(self, queue: Queue, kept: int, gone: int) -> None:
        """The request ``gone`` is about to be joined to ``kept``, and leaves the queue. If its deadline is the earlier
        one, ``kept`` takes it over. Must be there beside ``former`` or ``latter``."""


@dataclass(frozen=True)
class WorkloadSetup:
    """Facts of the run.

    Attributes:
        capacity_sectors: capacity of the drive, in sectors.
        seed: seed for what the workload draws at random.
        path: ``workload.path``, if it is given.
    """

    capacity_sectors: int
    seed: int
    path: str | None


class Workload(Policy):
    """A workload, ``workload.kind``: where the requests come from. ``workload.replay`` and the keys beside it apply.

    Attributes:
        has_task_ids: requests carry task ids.
        has_times: requests have arrival times, so that they arrive by these unless ``workload.replay`` says otherwise.
    """

    _slot: ClassVar[str] = "workload"
    has_task_ids: ClassVar[bool] = False
    has_times: ClassVar[bool] = False

    @abstractmethod
    def requests(self, setup: WorkloadSetup) -> Iterable[Request]:
        """Returns the requests of a run, in order of arrival. Every call returns the same ones; a generator reads them
        as the run goes."""
