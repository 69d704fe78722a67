"""A page allocation that keeps the planes level."""

from __future__ import annotations

from collections.abc import Sequence

from flashloom.policy import Allocation, AllocationSetup, Statistic


class LeastWritten(Allocation):
    """The plane that the fewest pages were written to, the first of equals.

    A page that is written again goes to another plane than before, if that one is not behind.
    """

    name = "least-written"
    source = "the example of the documentation"
    moved = Statistic(0, help="Pages that were written to another plane than the last time.")

    def begin(self, setup: AllocationSetup) -> None:
        self.written = [0] * setup.geometry.total_planes
        self.last: dict[int, int] = {}

    def place(self, lpns: Sequence[int], copies: int) -> list[int]:
        planes = []
        for lpn in lpns:
            plane = self.written.index(min(self.written))
            self.written[plane] += 1
            self.moved += self.last.get(lpn, plane) != plane
            self.last[lpn] = plane
            planes.append(plane)
        return planes
