"""Read reliability that falls with wear, as the limit of a code that corrects errors is neared."""

from __future__ import annotations

import random

from flashloom.policy import PageCondition, Param, Reliability, ReliabilitySetup, Statistic, Unreadable


class WornPages(Reliability):
    """Each retry succeeds by chance, and less often the more a block is worn.

    A new block needs none. A block at its rated erases needs a further retry in half of the cases.
    """

    name = "worn-pages"
    source = "a plain rule: geometric retries"
    rated = Param(3000, min=1, help="Erases at which half of the reads need another retry.")
    most = Param(8, min=0, max=100, help="Retries after which a page is given up.")
    retries = Statistic(0, help="Retries of all reads.")

    def begin(self, setup: ReliabilitySetup) -> None:
        self.random = random.Random(setup.seed)

    def read(self, page: PageCondition) -> int | Unreadable:
        again = min(1.0, page.erases / (2 * self.rated))
        needed = 0
        while self.random.random() < again:
            if needed == self.most:
                self.retries += needed
                return Unreadable(needed)
            needed += 1
        self.retries += needed
        return needed
