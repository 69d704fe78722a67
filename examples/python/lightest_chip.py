"""A chip placement by what was written so far."""

from __future__ import annotations

from flashloom.policy import Placement, PlacementSetup


class LightestChip(Placement):
    """A new logical block goes to the chip with the fewest evictions so far, and stays there."""

    name = "lightest-chip"
    source = "the example of the documentation"
    needs = ("single-chip", "write-buffer")

    def begin(self, setup: PlacementSetup) -> None:
        self.evictions = [0] * setup.chips

    def place(self, block: int, home: int | None) -> int:
        chip = self.evictions.index(min(self.evictions)) if home is None else home
        self.evictions[chip] += 1
        return chip
