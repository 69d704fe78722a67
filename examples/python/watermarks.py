"""An eviction batch size with two watermarks."""

from __future__ import annotations

from flashloom.policy import EvictionRate, Occupancy, Param, RateSetup


class Watermarks(EvictionRate):
    """Evicts from a high watermark down to a low one.

    Above the high watermark a victim for every die is evicted at a time, until the buffer is below the low one. A page
    that waits is always enough of a reason.
    """

    name = "watermarks"
    source = "the watermarks of any page cache"
    high = Param(0.9, min=0.0, max=1.0, help="Share of the buffer above which evictions begin.")
    low = Param(0.6, min=0.0, max=1.0, help="Share of the buffer at which they end.")

    def begin(self, setup: RateSetup) -> None:
        self.dies = setup.dies
        self.evicts = False

    def victims(self, occupancy: Occupancy) -> int:
        if occupancy.waiting > occupancy.evicting:
            return 1
        if occupancy.occupied >= self.high * occupancy.pages:
            self.evicts = True
        elif occupancy.occupied <= self.low * occupancy.pages:
            self.evicts = False
        return max(0, self.dies - occupancy.leaving) if self.evicts else 0
