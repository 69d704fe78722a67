"""A page-level mapping that writes every plane as a log, with greedy garbage collection."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from flashloom.policy import Flash, Mapping, MappingSetup, PageWrite, Param, Statistic


class PageLog(Mapping):
    """A page-level map; each plane is written as a log.

    Pages go to the planes in turn. A plane that is short of free blocks collects the one with the fewest valid pages
    before it is written: all of its valid pages are copied to the open block, and it is erased.
    """

    name = "page-log"
    source = "the page mapping of any textbook"
    spare = Param(2, min=2, max=16, help="Free blocks of a plane below which it is collected.")
    collections = Statistic(0, help="Blocks that were collected.")

    def begin(self, setup: MappingSetup) -> None:
        self.geometry = setup.geometry
        self.map: dict[int, int] = {}
        planes = range(setup.geometry.total_planes)
        good = [[b for b in setup.geometry.blocks_of(plane) if b not in setup.bad_blocks] for plane in planes]
        self.free = [deque(blocks) for blocks in good]
        self.open = [free.popleft() for free in self.free]
        self.full: list[list[int]] = [[] for _ in planes]
        self.turn = 0

    def write(self, flash: Flash, writes: Sequence[PageWrite]) -> None:
        for write in writes:
            plane = self.turn
            self.turn = (plane + 1) % len(self.open)
            self.make_room(flash, plane)
            self.map[write.lpn] = flash.program(self.open[plane], write)

    def make_room(self, flash: Flash, plane: int) -> None:
        """Sees to an open block with an erased page."""
        self.open_next(flash, plane)
        while len(self.free[plane]) < self.spare:
            victim = min(self.full[plane], key=lambda block: len(flash.valid_pages(block)))
            valid = flash.valid_pages(victim)
            if len(valid) == self.geometry.pages:
                return
            for ppn in valid:
                self.open_next(flash, plane)
                lpn = flash.lpn_of(ppn)
                assert lpn is not None, "a valid page is the copy of a logical page"
                self.map[lpn] = flash.copy(ppn, self.open[plane])
            flash.erase(victim)
            self.full[plane].remove(victim)
            self.free[plane].append(victim)
            self.collections += 1
            self.open_next(flash, plane)

    def open_next(self, flash: Flash, plane: int) -> None:
        """Opens the next free block if the open one is full."""
        if flash.programmed(self.open[plane]) == self.geometry.pages:
            self.full[plane].append(self.open[plane])
            self.open[plane] = self.free[plane].popleft()

    def lookup(self, lpn: int) -> int | None:
        return self.map.get(lpn)

    def trim(self, flash: Flash, lpn: int) -> None:
        self.map.pop(lpn, None)
