"""The flash translation layer: mapping, page allocation, garbage collection, chip placement."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from .declare import Policy
from .nand import Geometry


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


class PageWrite(Protocol):
    """A page that the layer above writes."""

    @property
    def lpn(self) -> int:
        """Logical page number."""

    @property
    def is_whole(self) -> bool:
        """True if all of its sectors are written; the others keep what they hold."""


class Flash(Protocol):
    """The flash array during one call, closed when it ends. Commands are checked at once, and carried out in order
    after the call.

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
