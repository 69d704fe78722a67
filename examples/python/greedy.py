"""Greedy garbage collection, as ``crates/ftl/src/collection/greedy.rs``."""

from __future__ import annotations

from flashloom.policy import Collection, CollectionSetup


class Greedy(Collection):
    """The block with the fewest valid pages.

    Ties go to the block that reached that number of valid pages first.
    """

    name = "py-greedy"
    source = "Hu et al., SYSTOR 2009"

    def begin(self, setup: CollectionSetup) -> None:
        self.geometry = setup.geometry
        # The candidates of each plane by their number of valid pages; a dict keeps the order in which they reached it.
        self.lists: list[list[dict[int, None]]] = [
            [{} for _ in range(setup.geometry.pages + 1)] for _ in range(setup.geometry.total_planes)
        ]
        self.valid: dict[int, int] = {}

    def closed(self, block: int, valid: int) -> None:
        self.lists[self.geometry.plane_of(block)][valid][block] = None
        self.valid[block] = valid

    def invalidated(self, block: int, valid: int) -> None:
        self.withdraw(block)
        self.closed(block, valid)

    def victim(self, plane: int) -> int:
        victim = next(block for blocks in self.lists[plane] for block in blocks)
        self.withdraw(victim)
        return victim

    def withdraw(self, block: int) -> None:
        del self.lists[self.geometry.plane_of(block)][self.valid.pop(block)][block]
