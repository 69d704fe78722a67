"""The flash array: its shape, and how reliably it reads."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol

from .declare import Policy


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
class ReliabilitySetup:
    """Facts of the flash array.

    Attributes:
        geometry: the flash array.
        seed: seed for what the policy draws at random.
    """

    geometry: Geometry
    seed: int


class PageCondition(Protocol):
    """Condition of a page at the time when it is read."""

    @property
    def ppn(self) -> int:
        """The physical page."""

    @property
    def block(self) -> int:
        """Its block."""

    @property
    def page(self) -> int:
        """Its index in the block."""

    @property
    def erases(self) -> int:
        """Wear: erases of the block since it was new."""

    @property
    def age_ns(self) -> int:
        """Age of the data in simulated time; 0 in counting mode, where no time passes."""

    @property
    def reads(self) -> int:
        """Reads of the block since its last erase, without this one."""


@dataclass(frozen=True)
class Unreadable:
    """An answer of ``Reliability.read``: the page cannot be read, which is known after a number of retries."""

    retries: int = 0


class Reliability(Policy):
    """Read reliability, ``device.reliability``: how often a read is repeated, and whether it fails."""

    _slot: ClassVar[str] = "reliability"

    def begin(self, setup: ReliabilitySetup) -> None:
        """Prepares for a run."""

    @abstractmethod
    def read(self, page: PageCondition) -> int | Unreadable:
        """Returns the number of retries after which a page is read, at most 65,535, or ``Unreadable``. Each adds the
        array time of one read. Called once for each read: when a die begins it, and for a read of data that is copied
        when the copy is decided on."""
