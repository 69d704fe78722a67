"""The write buffer: replacement policy and eviction batch size."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from .declare import Policy


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
