"""Two schedulers of Linux 2.6.32, noop and deadline: as ``crates/host/src/scheduler/noop.rs`` and ``deadline.rs``."""

from __future__ import annotations

from bisect import bisect_left, insort

from flashloom.policy import MS, Param, Queue, QueuedRequest, Request, S, Scheduler, SchedulerSetup


class Noop(Scheduler):
    """First in, first out, with merging.

    A request that begins where a queued request ends is merged into it; one that has grown is joined with the one that
    was queued after it, if they are adjacent.
    """

    name = "py-noop"
    source = "Linux 2.6.32, block/noop-iosched.c"

    def begin(self, setup: SchedulerSetup) -> None:
        self.fifo: list[int] = []

    def insert(self, now: int, request: QueuedRequest) -> None:
        self.fifo.append(request.id)

    def former(self, queue: Queue, id: int) -> int | None:
        at = self.fifo.index(id)
        return self.fifo[at - 1] if at > 0 else None

    def latter(self, queue: Queue, id: int) -> int | None:
        at = self.fifo.index(id) + 1
        return self.fifo[at] if at < len(self.fifo) else None

    def absorb(self, queue: Queue, kept: int, gone: int) -> None:
        self.fifo.remove(gone)

    def dispatch(self, now: int, queue: Queue) -> int | None:
        return self.fifo.pop(0) if self.fifo else None


class Tree:
    """Requests of one direction by address; of two that begin at the same sector the one queued first goes first."""

    def __init__(self) -> None:
        self.keys: list[tuple[int, int]] = []
        self.ids: dict[tuple[int, int], int] = {}
        self.key_of: dict[int, tuple[int, int]] = {}
        self.serial = 0

    def insert(self, id: int, lba: int) -> None:
        self.serial += 1
        key = (lba, self.serial)
        insort(self.keys, key)
        self.ids[key], self.key_of[id] = id, key

    def remove(self, id: int) -> None:
        key = self.key_of.pop(id)
        del self.keys[bisect_left(self.keys, key)], self.ids[key]

    def neighbour(self, id: int, step: int) -> int | None:
        at = bisect_left(self.keys, self.key_of[id]) + step
        return self.ids[self.keys[at]] if 0 <= at < len(self.keys) else None

    def first_at(self, lba: int) -> int | None:
        at = bisect_left(self.keys, (lba, 0))
        return self.ids[self.keys[at]] if at < len(self.keys) and self.keys[at][0] == lba else None


class Deadline(Scheduler):
    """Sorted batches of one direction, reads first, bounded waiting.

    Requests are sorted by address in each direction and sent in batches. Reads go first, but writes are passed over a
    bounded number of times, and a batch begins with the oldest request once it has expired.
    """

    name = "py-deadline"
    source = "Linux 2.6.32, block/deadline-iosched.c"
    read_expire_ns = Param(500 * MS, unit="ns", max=3600 * S, help="Deadline of a read.")
    write_expire_ns = Param(5 * S, unit="ns", max=3600 * S, help="Deadline of a write.")
    fifo_batch = Param(16, min=1, max=65_536, help="Maximum number of requests in a batch.")
    writes_starved = Param(2, min=1, max=65_536, help="Read batches that are sent while writes wait.")
    front_merges = Param(True, help="A new request joins one that begins where it ends.")

    def begin(self, setup: SchedulerSetup) -> None:
        # Index 0 is for reads, 1 for writes. A dict keeps the order of arrival: it is the FIFO.
        self.fifos: list[dict[int, int]] = [{}, {}]
        self.trees = [Tree(), Tree()]
        self.next: list[int | None] = [None, None]
        self.batched = 0
        self.starved = 0

    def insert(self, now: int, request: QueuedRequest) -> int:
        way = 0 if request.is_read else 1
        deadline = now + (self.read_expire_ns if request.is_read else self.write_expire_ns)
        self.fifos[way][request.id] = deadline
        self.trees[way].insert(request.id, request.lba)
        return deadline

    def way_of(self, id: int) -> int:
        return 0 if id in self.fifos[0] else 1

    def front_merge_candidate(self, queue: Queue, incoming: Request) -> int | None:
        tree = self.trees[0 if incoming.op == "read" else 1]
        return tree.first_at(incoming.end) if self.front_merges else None

    def former(self, queue: Queue, id: int) -> int | None:
        return self.trees[self.way_of(id)].neighbour(id, -1)

    def latter(self, queue: Queue, id: int) -> int | None:
        return self.trees[self.way_of(id)].neighbour(id, 1)

    def moved(self, queue: Queue, id: int) -> None:
        tree = self.trees[self.way_of(id)]
        tree.remove(id)
        tree.insert(id, queue[id].lba)

    def absorb(self, queue: Queue, kept: int, gone: int) -> None:
        way = self.way_of(gone)
        fifo = self.fifos[way]
        if fifo[gone] < fifo[kept]:
            # The kept request takes the place of the other, so the FIFO is made anew.
            deadline = fifo[gone]
            entries = [(kept, deadline) if id == gone else (id, at) for id, at in fifo.items() if id != kept]
            self.fifos[way] = dict(entries)
        else:
            del fifo[gone]
        if self.next[way] == gone:
            self.next[way] = self.trees[way].neighbour(gone, 1)
        self.trees[way].remove(gone)

    def dispatch(self, now: int, queue: Queue) -> int | None:
        following = self.next[1] if self.next[1] is not None else self.next[0]
        id = following if following is not None and self.batched < self.fifo_batch else self.begin_batch(now)
        if id is None:
            return None
        way = self.way_of(id)
        self.batched += 1
        self.next = [None, None]
        self.next[way] = self.trees[way].neighbour(id, 1)
        self.trees[way].remove(id)
        del self.fifos[way][id]
        return id

    def begin_batch(self, now: int) -> int | None:
        reads, writes = bool(self.fifos[0]), bool(self.fifos[1])
        if reads and not (writes and self.starved >= self.writes_starved):
            self.starved += writes
            way = 0
        elif writes:
            self.starved = 0
            way = 1
        else:
            return None
        self.batched = 0
        eldest = next(iter(self.fifos[way]))
        following = self.next[way]
        return eldest if following is None or now > self.fifos[way][eldest] else following
