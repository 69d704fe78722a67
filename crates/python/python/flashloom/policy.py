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

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, TypeVar, overload

from .errors import Error

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
    "PageWrite",
    "Param",
    "Placement",
    "PlacementSetup",
    "Policy",
    "PolicyError",
    "Queue",
    "QueuedRequest",
    "RateSetup",
    "Request",
    "Scheduler",
    "SchedulerSetup",
    "Statistic",
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

Unit = Literal["count", "ns", "bytes", "bytes/s", "ratio"]
Op = Literal["read", "write", "discard", "flush"]
Need = Literal["task-ids", "write-buffer", "page-mapping", "single-chip", "translation-pages", "fixed-homes"]
T = TypeVar("T", int, float, bool, str)
N = TypeVar("N", int, float)

_LARGEST = 1 << 62
_UNITS = ("count", "ns", "bytes", "bytes/s", "ratio")
_SUFFIXES = {"ns": "_ns", "bytes": "_bytes", "bytes/s": "_bytes_per_s"}


class PolicyError(Error):
    """A policy that is not sound, or that gave a wrong answer.

    Attributes:
        policy: name of the policy.
        method: the method that gave the answer, or the attribute that is wrong.
        found: what was found.
        expected: what was expected.
    """

    def __init__(self, policy: str, method: str, found: str, expected: str) -> None:
        super().__init__(policy, method, found, expected)
        self.policy = policy
        self.method = method
        self.found = found
        self.expected = expected

    def __str__(self) -> str:
        return f"`{self.method}` of policy `{self.policy}`: found {self.found}; expected {self.expected}"


class Param(Generic[T]):
    """A parameter of a policy: an attribute of its class, whose value in an instance is that of the configuration.

    Its key in a configuration is the attribute's name without the unit: ``max_wait_ns`` is written ``max_wait = "5ms"``.

    Args:
        default: value where a configuration does not set it. Its type is the parameter's: int, float, bool or str.
        unit: "count" (the default of an int), "ns", "bytes", "bytes/s", or "ratio" (the default of a float).
        min: least value, inclusive; 0 if it is not given.
        max: greatest value, inclusive; 2**62 if it is not given.
        choices: the valid values of a str; any text if there are none.
        help: one line of help.
        tradeoff: one sentence on what a larger or smaller value costs and brings.

    Raises:
        TypeError: a default or bound of another type.
        ValueError: a default outside its range, or a unit that does not go with it.
    """

    def __init__(
        self,
        default: T,
        *,
        unit: Unit | None = None,
        min: T | None = None,  # noqa: A002
        max: T | None = None,  # noqa: A002
        choices: Sequence[str] = (),
        help: str = "",  # noqa: A002
        tradeoff: str = "",
    ) -> None:
        if not isinstance(default, (bool, int, float, str)):
            raise TypeError(f"a parameter's default is an int, a float, a bool or a str, not {default!r}")
        self.default: T = default
        self.unit: str = unit or ("ratio" if isinstance(default, float) else "count")
        self.choices = tuple(choices)
        self.help = help
        self.tradeoff = tradeoff
        self.min: Any = 0 if min is None else min
        self.max: Any = _LARGEST if max is None else max
        self.name = ""
        self._check_unit()
        self.check(default)

    def _check_unit(self) -> None:
        if self.unit not in _UNITS:
            raise ValueError(f"the unit of a parameter is one of {', '.join(_UNITS)}, not {self.unit!r}")
        if isinstance(self.default, float) != (self.unit == "ratio") and not isinstance(self.default, (bool, str)):
            raise ValueError(f"a default of {self.default!r} does not go with the unit {self.unit!r}")
        if self.choices and not isinstance(self.default, str):
            raise ValueError("only a str has choices")
        if isinstance(self.default, (bool, str)):
            return
        for bound in (self.min, self.max):
            if isinstance(bound, bool) or not isinstance(bound, (int, float)) or math.isnan(bound):
                raise TypeError(f"a bound of a parameter is a number, not {bound!r}")
            if self.unit != "ratio" and not (isinstance(bound, int) and 0 <= bound <= _LARGEST):
                raise ValueError(f"a bound of a whole number is an int from 0 to 2**62, not {bound!r}")
        if self.min > self.max:
            raise ValueError(f"the range from {self.min} to {self.max} is empty")

    def check(self, value: object) -> T:
        """Returns a value that the parameter takes.

        Raises:
            TypeError: a value of another type.
            ValueError: a value outside the range, or none of the choices.
        """
        name = self.name or "a parameter"
        kind = type(self.default)
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            raise TypeError(f"{name} is of type {kind.__name__}, not {value!r}")
        if kind is str and self.choices and value not in self.choices:
            raise ValueError(f"{name} is one of {', '.join(self.choices)}, not {value!r}")
        if isinstance(value, (int, float)) and kind is not bool and not self.min <= value <= self.max:
            raise ValueError(f"{name} is from {self.min} to {self.max}, not {value!r}")
        return value  # type: ignore[return-value]

    @property
    def key(self) -> str:
        """The key in a configuration."""
        return self.name.removesuffix(_SUFFIXES.get(self.unit, ""))

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Param[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Param[T] | T:
        return self if instance is None else self.default


class Statistic(Generic[N]):
    """A figure that a policy counts, reported in the result: an attribute of its class, a number in an instance.

    Args:
        start: the value at the start of a run; an int, or a float for a ratio.
        unit: "count", "ns", "bytes" or "ratio".
        help: one line of help.
    """

    def __init__(self, start: N, *, unit: Unit | None = None, help: str = "") -> None:  # noqa: A002
        if isinstance(start, bool) or not isinstance(start, (int, float)):
            raise TypeError(f"a statistic is a number, not {start!r}")
        self.start: N = start
        self.unit: str = unit or ("ratio" if isinstance(start, float) else "count")
        if self.unit not in ("count", "ns", "bytes", "ratio"):
            raise ValueError(f"the unit of a statistic is one of count, ns, bytes, ratio, not {self.unit!r}")
        self.help = help
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Statistic[N]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> N: ...
    def __get__(self, instance: object | None, owner: type) -> Statistic[N] | N:
        return self if instance is None else self.start

    if TYPE_CHECKING:
        # At run time an instance's own attribute hides this one, which is the faster way.
        def __set__(self, instance: object, value: N) -> None: ...


class Policy(ABC):
    """A policy of any slot: derive from the class of the slot instead.

    Attributes:
        name: the name in a configuration: lower-case letters, digits, ``-`` and ``_``.
        source: the paper and section that it follows.
        example: keys and values that make a working configuration, as ``--set`` takes them, separated by blanks.
        instead: circumstances in which another policy is the better choice.
        needs: properties that the rest of the stack must have; a configuration without them is refused.
        offers: properties that other policies may need and this one has.
    """

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    example: ClassVar[str] = ""
    instead: ClassVar[str] = ""
    needs: ClassVar[Sequence[Need]] = ()
    offers: ClassVar[Sequence[Need]] = ()
    _slot: ClassVar[str] = ""

    def __init__(self, **values: object) -> None:
        params = {param.name: param for param in _declared(type(self), Param)}
        for name, value in values.items():
            if name not in params:
                raise TypeError(f"no parameter of `{type(self).name}` is named `{name}`")
            vars(self)[name] = params[name].check(value)


def _declared(cls: type, kind: type[Any]) -> list[Any]:
    """The parameters or statistics of a class, those of its bases first, in the order in which they are written."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        for name, value in vars(base).items():
            if isinstance(value, kind):
                found[name] = value
            else:
                found.pop(name, None)
    return list(found.values())


def _describe(cls: type[Policy]) -> dict[str, Any]:
    """Everything that the package reads of a policy's class, as plain values."""
    own = cls.__name__
    for field in ("name", "source", "example", "instead"):
        if not isinstance(getattr(cls, field), str):
            raise PolicyError(own, field, repr(getattr(cls, field)), "a str")
    for field in ("needs", "offers"):
        if not isinstance(getattr(cls, field), (tuple, list)):
            raise PolicyError(own, field, repr(getattr(cls, field)), "a tuple of names")
    if not cls.name:
        raise PolicyError(own, "name", "no name", 'one, such as `name = "mine"`')
    if missing := sorted(getattr(cls, "__abstractmethods__", ())):
        raise PolicyError(cls.name or cls.__name__, missing[0], "no such method", "one, as its slot asks")
    text = inspect.cleandoc(cls.__dict__.get("__doc__") or "")
    summary, _, details = text.partition("\n\n")
    slot = next(base for base in cls.__mro__ if "_slot" in vars(base))
    flags = [name for name, value in vars(slot).items() if isinstance(value, bool)]
    for flag in flags:
        if not isinstance(getattr(cls, flag), bool):
            raise PolicyError(cls.name, flag, repr(getattr(cls, flag)), "True or False")
    defines = {name for name, value in vars(slot).items() if callable(value)}
    return {
        "name": cls.name,
        "slot": cls._slot,
        "summary": " ".join(summary.split()).removesuffix("."),
        "details": " ".join(details.split()),
        "source": cls.source,
        "example": cls.example,
        "instead": cls.instead,
        "needs": list(cls.needs),
        "offers": list(cls.offers),
        "params": _declared(cls, Param),
        "statistics": _declared(cls, Statistic),
        "flags": [flag for flag in flags if getattr(cls, flag)],
        "overrides": {name for name in defines if getattr(cls, name) is not vars(slot)[name]},
    }


@dataclass(frozen=True)
class Geometry:
    """The flash array. Numbering is dense and nested: channel, way, die, plane, block, page.

    Attributes:
        channels: channels, each a bus of its own.
        ways: chips on each channel.
        dies: dies in each chip.
        planes: planes in each die.
        blocks: erase blocks in each plane.
        pages: pages in each block, programmed in order.
        page_bytes: data bytes in a page.
    """

    channels: int
    ways: int
    dies: int
    planes: int
    blocks: int
    pages: int
    page_bytes: int

    @property
    def total_planes(self) -> int:
        """Planes in the drive."""
        return self.channels * self.ways * self.dies * self.planes

    @property
    def total_blocks(self) -> int:
        """Erase blocks in the drive."""
        return self.total_planes * self.blocks

    def plane_of(self, block: int) -> int:
        """The plane that a block is in."""
        return block // self.blocks

    def blocks_of(self, plane: int) -> range:
        """The blocks of a plane."""
        return range(plane * self.blocks, (plane + 1) * self.blocks)


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

    op: Op
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
    def op(self) -> Op:
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
class OrderSetup:
    """Facts of the write buffer.

    Attributes:
        pages: capacity of the buffer, in pages.
        pages_per_block: pages of a logical block, the same as of an erase block.
    """

    pages: int
    pages_per_block: int


class Order(Policy):
    """A replacement policy of the write buffer, ``buffer.order``: which page or block is evicted next.

    Pages are named by their logical page number (lpn). Clean pages, and the methods after ``removed`` but for
    ``victim``, are there only if ``keeps_reads`` is true.

    Attributes:
        keeps_reads: the buffer caches pages that the host reads, as clean pages.
        pads_blocks: each victim is padded to a whole logical block with the pages that the buffer lacks; all pages of a
            victim are then in one logical block, in ascending order.
    """

    _slot: ClassVar[str] = "order"
    keeps_reads: ClassVar[bool] = False
    pads_blocks: ClassVar[bool] = False

    def begin(self, setup: OrderSetup) -> None:
        """Prepares for a run."""

    @abstractmethod
    def inserted(self, lpn: int) -> None:
        """A dirty page entered the buffer."""

    @abstractmethod
    def touched(self, lpn: int) -> None:
        """A dirty page in the buffer was written again."""

    def read(self, lpn: int) -> None:
        """A page in the buffer was read."""

    @abstractmethod
    def removed(self, lpn: int) -> None:
        """A page left out of turn. A clean page that is written is also removed, and then inserted as a dirty one."""

    @abstractmethod
    def victim(self) -> int | Sequence[int]:
        """Removes the next victim and returns it: a dirty page, or the pages of a block in the order in which they are
        to be written. Called only while there is a dirty page."""

    def filled(self, lpn: int) -> None:
        """A clean page entered the buffer, because the host read it."""

    def clean_victim(self) -> int | None:
        """Removes the clean page to drop next and returns it; None if a dirty page is to be evicted before."""

    def clean_room(self) -> int:
        """Number of clean pages that ``clean_victim`` would return one after another. Without this method: all."""
        return 0


class Occupancy(Protocol):
    """How full the write buffer is, in pages but for ``leaving``."""

    @property
    def pages(self) -> int:
        """Capacity of the buffer."""

    @property
    def occupied(self) -> int:
        """Pages that cannot be dropped without a program."""

    @property
    def evicting(self) -> int:
        """Pages sent to flash and not programmed yet; their slots will be free."""

    @property
    def leaving(self) -> int:
        """Victims that are being programmed: pages or blocks."""

    @property
    def waiting(self) -> int:
        """Pages of requests that wait for a slot, beyond those that would find one now."""


@dataclass(frozen=True)
class RateSetup:
    """Facts of the drive.

    Attributes:
        dies: dies of the drive.
        superpage: pages that a die programs at once, if the FTL writes whole superpages; else 1.
    """

    dies: int
    superpage: int


class EvictionRate(Policy):
    """An eviction batch size, ``buffer.rate``: the number of victims that the write buffer evicts at a time.

    Attributes:
        waits_for_all: a write that found the buffer full waits until all evicted pages are programmed.
    """

    _slot: ClassVar[str] = "rate"
    waits_for_all: ClassVar[bool] = False

    def begin(self, setup: RateSetup) -> None:
        """Prepares for a run."""

    @abstractmethod
    def victims(self, occupancy: Occupancy) -> int:
        """Returns the number of victims to evict now. Called again after each eviction, until it returns 0. While pages
        wait and none is being evicted it must return 1 or more."""


@dataclass(frozen=True)
class CollectionSetup:
    """Facts of the flash array.

    Attributes:
        geometry: planes and blocks as garbage collection sees them.
        seed: seed for what the policy draws at random.
    """

    geometry: Geometry
    seed: int


class Collection(Policy):
    """A garbage collection policy, ``ftl.gc``: which full block of a plane is collected next."""

    _slot: ClassVar[str] = "collection"

    def begin(self, setup: CollectionSetup) -> None:
        """Prepares for a run."""

    def written(self, pages: int) -> None:
        """The host writes that many pages: the clock of policies that go by age."""

    @abstractmethod
    def closed(self, block: int, valid: int) -> None:
        """A block is full and has that many valid pages: it becomes a candidate."""

    @abstractmethod
    def invalidated(self, block: int, valid: int) -> None:
        """A page of a candidate became invalid; that many are valid still."""

    @abstractmethod
    def victim(self, plane: int) -> int:
        """Removes the next victim from the plane's candidates and returns it: a block with an invalid page. Called only
        while there is one."""

    @abstractmethod
    def withdraw(self, block: int) -> None:
        """A candidate is taken for another reason, such as wear levelling, and is one no more."""


@dataclass(frozen=True)
class AllocationSetup:
    """Facts of the flash array.

    Attributes:
        geometry: planes and blocks as the allocation sees them: with superblocks a die has one plane.
        superpage: consecutive pages of a block that are programmed at once; a stripe fills them before it goes on.
        logical_pages: pages that the host sees.
    """

    geometry: Geometry
    superpage: int
    logical_pages: int


class Allocation(Policy):
    """A page allocation, ``ftl.allocation``: which plane a page is written to."""

    _slot: ClassVar[str] = "allocation"

    def begin(self, setup: AllocationSetup) -> None:
        """Prepares for a run."""

    @abstractmethod
    def place(self, lpns: Sequence[int], copies: int) -> Sequence[int]:
        """Returns the plane of each of the pages that are written together, in their order. A plane that has no room is
        passed over for the next. ``copies`` are the pages copied by garbage collection so far."""


@dataclass(frozen=True)
class PlacementSetup:
    """Facts of the drive.

    Attributes:
        chips: groups of chips with an FTL of their own.
    """

    chips: int


class Placement(Policy):
    """A chip placement, ``ftl.placement``: which chip a logical block goes to, where every chip has an FTL of its own.

    Attributes:
        moves: a logical block may be sent away from its home; its pages there are moved.
    """

    _slot: ClassVar[str] = "placement"
    moves: ClassVar[bool] = False

    def begin(self, setup: PlacementSetup) -> None:
        """Prepares for a run."""

    @abstractmethod
    def place(self, block: int, home: int | None) -> int:
        """Returns the chip for the pages of a logical block that are written together; ``home`` is where its pages are,
        if it has any. A chip that is full is passed over for the next."""


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


class PageWrite(Protocol):
    """A page that the layer above writes."""

    @property
    def lpn(self) -> int:
        """Logical page number."""

    @property
    def is_whole(self) -> bool:
        """True if all of its sectors are written; the others keep what they hold."""


class Flash(Protocol):
    """The flash array during one call, closed when it ends. Commands are checked at once, and carried out in order when the call ends.

    A block is erased as a whole and programmed page by page, from the first on; the page that is programmed next is
    ``programmed(block)``. What a page of the array holds is known: a program of a page of the host, or a copy of one,
    makes the older copies of it invalid.
    """

    def programmed(self, block: int) -> int:
        """Number of pages of a block that are programmed."""

    def program(self, block: int, write: PageWrite) -> int:
        """Programs a page of the host to the next page of a block, and returns its physical page number. Where only
        some of its sectors are written, the others are read from its older copy before."""

    def copy(self, ppn: int, block: int) -> int:
        """Copies a valid page to the next page of a block, and returns its new physical page number."""

    def pad(self, block: int) -> int:
        """Programs a page that nobody reads, because one above it is needed; returns its physical page number."""

    def erase(self, block: int) -> None:
        """Erases a block, which must hold no valid page."""

    def valid_pages(self, block: int) -> list[int]:
        """The physical pages of a block that hold valid copies, in ascending order."""

    def lpn_of(self, ppn: int) -> int | None:
        """The logical page of which a physical page holds the valid copy; None if it is invalid or erased."""


@dataclass(frozen=True)
class MappingSetup:
    """Facts of the drive.

    Attributes:
        geometry: the flash array.
        logical_pages: pages that the host sees.
        bad_blocks: blocks that must not be used.
    """

    geometry: Geometry
    logical_pages: int
    bad_blocks: frozenset[int]


class Mapping(Policy):
    """A mapping of logical to physical pages, ``ftl.mapping``, with garbage collection of its own.

    Blocks must not fail in use: a configuration where they can is refused.
    """

    _slot: ClassVar[str] = "mapping"

    def begin(self, setup: MappingSetup) -> None:
        """Prepares for a run."""

    @abstractmethod
    def write(self, flash: Flash, writes: Sequence[PageWrite]) -> None:
        """Writes pages that the layer above writes together: each must be programmed before the call ends."""

    @abstractmethod
    def lookup(self, lpn: int) -> int | None:
        """The physical page that holds a logical page; None if none does, because it was never written or was
        trimmed."""

    @abstractmethod
    def trim(self, flash: Flash, lpn: int) -> None:
        """Forgets a logical page."""

    def idle(self, flash: Flash) -> bool:
        """One step of work that need not be done now, while the drive is idle; False if nothing is left to do."""
        return False
