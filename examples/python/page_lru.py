"""Page-level LRU, as ``crates/buffer/src/order/page_lru.rs``."""

from __future__ import annotations

from collections import OrderedDict

from flashloom.policy import Order, OrderSetup


class PageLru(Order):
    """Evicts the page that was written longest ago.

    A write moves a page to the young end, a read does not.
    """

    name = "py-page-lru"
    source = "CAVE, section 5.1 (page-level LRU)"

    def begin(self, setup: OrderSetup) -> None:
        self.pages: OrderedDict[int, None] = OrderedDict()

    def inserted(self, lpn: int) -> None:
        self.pages[lpn] = None

    def touched(self, lpn: int) -> None:
        self.pages.move_to_end(lpn)

    def removed(self, lpn: int) -> None:
        del self.pages[lpn]

    def victim(self) -> int:
        return self.pages.popitem(last=False)[0]
