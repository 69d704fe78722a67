"""Wrong answers and exceptions of policies: an exception with its origin, never a crash or a result."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from policy_runs import example, run

from flashloom import ConfigError
from flashloom.policy import (
    MS,
    Allocation,
    Collection,
    EvictionRate,
    Flash,
    Mapping,
    NotBefore,
    Order,
    PageWrite,
    Param,
    Placement,
    Policy,
    PolicyError,
    Queue,
    QueuedRequest,
    Reliability,
    Request,
    Scheduler,
    Statistic,
    Unreadable,
    Workload,
    WorkloadSetup,
)


class Text:
    """An object whose representation cannot be had."""

    def __repr__(self) -> str:
        raise RuntimeError("no representation")


Answer = Callable[..., Any]

ODD: list[Any] = [7.0, math.nan, True, "3", -1, 1 << 70, [1], {"id": 1}, object(), Text(), b"1"]
"""Values that are no whole number of any id."""


def scheduler(**attributes: Any) -> type[Scheduler]:
    body = {"name": "wrong", "dispatch": lambda self, now, queue: next(iter(queue)).id}
    return type("Wrong", (Scheduler,), {**body, **attributes})


def order(**attributes: Any) -> type[Order]:
    return type("Wrong", (example("page_lru").PageLru,), {"name": "wrong", **attributes})


def clean_order(**attributes: Any) -> type[Order]:
    body = {"keeps_reads": True, "read": lambda self, lpn: None, "filled": lambda self, lpn: None}
    return order(**{**body, "clean_victim": lambda self: None, **attributes})


def rate(**attributes: Any) -> type[EvictionRate]:
    return type("Wrong", (EvictionRate,), {"name": "wrong", **attributes})


def collection(**attributes: Any) -> type[Collection]:
    return type("Wrong", (example("greedy").Greedy,), {"name": "wrong", **attributes})


def allocation(**attributes: Any) -> type[Allocation]:
    return type("Wrong", (Allocation,), {"name": "wrong", **attributes})


def placement(**attributes: Any) -> type[Placement]:
    return type("Wrong", (Placement,), {"name": "wrong", **attributes})


def reliability(**attributes: Any) -> type[Reliability]:
    return type("Wrong", (Reliability,), {"name": "wrong", **attributes})


def workload(**attributes: Any) -> type[Workload]:
    return type("Wrong", (Workload,), {"name": "wrong", **attributes})


def mapping(**attributes: Any) -> type[Mapping]:
    return type("Wrong", (example("page_log").PageLog,), {"name": "wrong", **attributes})


SYNTHETIC = ("requests", "read_share", "footprint_size")
STEADY: dict[str, object] = {
    "workload__synthetic__requests": 6000,
    "workload__synthetic__footprint_size": None,
    "run__precondition": "fill",
    "run__timing": "counting",
}
KEYS: dict[type[Policy], dict[str, object]] = {
    Scheduler: {"host__scheduler": "wrong"},
    Order: {"buffer__order": "wrong"},
    EvictionRate: {"buffer__rate": "wrong"},
    Collection: {"ftl__gc": "wrong", **STEADY},
    Allocation: {"ftl__allocation": "wrong"},
    Placement: {
        "ftl__placement": "wrong",
        "ftl__mapping": "bast",
        "buffer__order": "block-lru",
        "ftl__bast__log_blocks": 4,
    },
    Workload: {
        "workload__kind": "wrong",
        **{f"workload__synthetic__{key}": None for key in SYNTHETIC},
    },
    Mapping: {"ftl__mapping": "wrong"},
    Reliability: {"device__reliability": "wrong", "run__precondition": "fill"},
}


def run_wrong(policy: type[Policy], **keys: object) -> None:
    slot = next(base for base in policy.__mro__ if base in KEYS)
    run([policy], **{**KEYS[slot], **keys})


def returning(value: Any) -> Answer:
    return lambda *_: value


def cases() -> Iterable[tuple[str, type[Policy], str, str]]:
    """Name, policy, the method that is wrong, and a part of the message."""
    for value in ODD:
        kind = type(value).__name__
        yield f"dispatch {kind}", scheduler(dispatch=returning(value)), "dispatch", "the id of a request that waits"
        yield f"deadline {kind}", scheduler(insert=returning(value)), "insert", "a deadline in nanoseconds"
        yield f"victims {kind}", rate(victims=returning(value)), "victims", "a number of victims"
        yield f"gc {kind}", collection(victim=returning(value)), "victim", "a candidate of plane"
        yield f"plane {kind}", allocation(place=lambda *args, value=value: [value] * len(args[1])), "place", "planes"
        yield f"chip {kind}", placement(place=returning(value)), "place", "a chip from 0"
        yield f"retries {kind}", reliability(read=returning(value)), "read", "a number of retries"
        yield f"page {kind}", order(victim=returning([value])), "victim", "a dirty page"
        yield f"lookup {kind}", mapping(lookup=returning(value)), "lookup", "the physical page"
        yield f"request {kind}", workload(requests=returning([value])), "requests", "Request"
    yield "not queued", scheduler(dispatch=returning(99)), "dispatch", "a request that does not wait"
    yield "twice", twice(), "dispatch", "a request that does not wait"
    yield "past", scheduler(dispatch=lambda self, now, queue: NotBefore(now)), "dispatch", "a time after now"
    no_time: Any = math.nan
    yield "no time", scheduler(dispatch=returning(NotBefore(no_time))), "dispatch", "a time in nanoseconds"
    yield "stuck", scheduler(dispatch=returning(None)), "dispatch", "wait for ever"
    yield "listens", scheduler(completed=returning(3)), "completed", "no answer"
    yield "merge", scheduler(allows_merge=returning(1)), "allows_merge", "True or False"
    yield "front", scheduler(front_merge_candidate=returning(98)), "front_merge_candidate", "does not wait"
    yield "latter", scheduler(latter=returning(97), absorb=returning(None)), "latter", "does not wait"
    yield "no page", order(victim=returning([])), "victim", "no page"
    yield "page twice", order(victim=lambda self: [min(self.pages)] * 2), "victim", "a page twice"
    yield "unknown page", order(victim=returning(1 << 31)), "victim", "not in the buffer"
    yield "text of pages", order(victim=returning("12")), "victim", "a dirty page"
    yield "none", order(victim=returning(None)), "victim", "None"
    yield "padded", order(pads_blocks=True, victim=lambda self: list(self.pages)[::-1]), "victim", "ascending"
    yield "clean", clean_order(clean_victim=returning(None)), "clean_victim", "a clean page"
    yield "dirty", clean_order(clean_victim=lambda self: min(self.pages)), "clean_victim", "a dirty page"
    yield "room", clean_order(clean_room=returning(1 << 20)), "clean_room", "the clean pages"
    yield "never", rate(victims=returning(0)), "victims", "wait for ever"
    yield "open block", collection(victim=lambda self, plane: open_block(self, plane)), "victim", "open, free"
    yield "other plane", collection(victim=lambda self, plane: 64 * (1 - plane % 2)), "victim", "another plane"
    yield "no victim", collection(victim=returning(None)), "victim", "None"
    yield "listening gc", collection(closed=returning(0)), "closed", "no answer"
    yield "no place", allocation(place=returning([])), "place", "0 planes"
    yield "many places", allocation(place=returning([0] * 99)), "place", "99 planes"
    yield "no sequence", allocation(place=returning(0)), "place", "a sequence"
    yield "no chip", placement(place=returning(None)), "place", "None"
    yield "too many", reliability(read=returning(Unreadable(1 << 16))), "read", "from 0 to 65535"
    yield "no iterable", workload(requests=returning(None)), "requests", "an iterable"
    yield from ((name, workload(requests=returning([request])), "requests", text) for name, request, text in REQUESTS)
    backwards = [Request("read", 0, 8, arrival_ns=5), Request("read", 0, 8, arrival_ns=4)]
    yield "backwards", workload(requests=returning(backwards)), "requests", "arrival_ns"
    yield "unwritten", mapping(write=returning(None)), "write", "unwritten"
    yield "elsewhere", mapping(lookup=returning(0)), "lookup", "the physical page"
    yield "forgotten", mapping(lookup=returning(None)), "lookup", "None"
    yield from ((name, mapping(write=command), name.split()[0], text) for name, command, text in COMMANDS)


REQUESTS: list[tuple[str, Request, str]] = [
    ("operation", Request("trim", 0, 8), "one of read"),  # type: ignore[arg-type]
    ("no operation", Request(None, 0, 8), "one of read"),  # type: ignore[arg-type]
    ("no length", Request("write", 0, 0), "at least one sector"),
    ("long flush", Request("flush", 0, 8), "at least one sector"),
    ("negative sector", Request("read", -1, 8), "`lba`"),
    ("real sector", Request("read", 1.5, 8), "`lba`"),  # type: ignore[arg-type]
    ("true sectors", Request("read", 0, True), "`sectors`"),
    ("far future", Request("read", 0, 8, arrival_ns=1 << 63), "`arrival_ns`"),
    ("durable read", Request("read", 0, 8, fua=True), "`fua`"),
    ("flag", Request("write", 0, 8, sync=1), "True or False"),  # type: ignore[arg-type]
    ("task", Request("write", 0, 8, task=3), "has_task_ids"),
]

COMMANDS: list[tuple[str, Answer, str]] = [
    ("program beyond", lambda self, flash, writes: flash.program(1 << 20, writes[0]), "a block from 0"),
    ("program real", lambda self, flash, writes: flash.program(0.5, writes[0]), "a block from 0"),
    ("program twice", lambda self, flash, writes: [flash.program(0, writes[0]) for _ in "12"], "or has written"),
    (
        "program full",
        lambda _, flash, writes: [flash.pad(0) for _ in range(32)] + [flash.program(0, writes[0])],
        "full",
    ),
    ("pad full", lambda self, flash, writes: [flash.pad(0) for _ in range(33)], "which is full"),
    ("copy erased", lambda self, flash, writes: flash.copy(0, 1), "invalid or erased"),
    ("copy beyond", lambda self, flash, writes: flash.copy(1 << 40, 1), "a physical page"),
    ("erase valid", lambda self, flash, writes: (flash.program(0, writes[0]), flash.erase(0)), "1 valid pages"),
    ("erase beyond", lambda self, flash, writes: flash.erase(None), "a block from 0"),
    ("programmed nan", lambda self, flash, writes: flash.programmed(math.nan), "a block from 0"),
    ("lpn_of negative", lambda self, flash, writes: flash.lpn_of(-3), "a physical page"),
    ("valid_pages true", lambda self, flash, writes: flash.valid_pages(True), "a block from 0"),
]


def open_block(self: Any, plane: int) -> int:
    """A block that is no candidate."""
    return int(next(block for block in self.geometry.blocks_of(plane) if block not in self.valid))


def twice() -> type[Scheduler]:
    """A scheduler that sends its first request over and over."""

    def dispatch(self: Any, now: int, queue: Queue) -> int:
        self.first = getattr(self, "first", None) or next(iter(queue)).id
        return int(self.first)

    return scheduler(dispatch=dispatch)


CASES = list(cases())


def test_there_are_wrong_answers_for_every_slot() -> None:
    slots = [next(base for base in policy.__mro__ if base in KEYS) for _, policy, _, _ in CASES]
    assert len(CASES) > 140 and all(slots.count(slot) > 10 for slot in KEYS)


@pytest.mark.parametrize(("name", "policy", "method", "text"), CASES, ids=[name for name, *_ in CASES])
def test_a_wrong_answer_names_policy_method_and_what_was_expected(
    name: str, policy: type[Policy], method: str, text: str
) -> None:
    keys: dict[str, object] = {}
    if name in ("clean", "dirty", "room"):
        keys |= {"workload__synthetic__read_share": 0.9}
    if name in ("front", "latter"):
        keys |= {"workload__synthetic__footprint_size": "64KiB"}
    with pytest.raises(PolicyError) as caught:
        run_wrong(policy, **keys)
    error = caught.value
    assert (error.policy, error.method) == ("wrong", method)
    assert text in str(error), str(error)


METHODS: list[tuple[Callable[..., type[Policy]], str]] = [
    (scheduler, "begin"),
    (scheduler, "insert"),
    (scheduler, "dispatch"),
    (scheduler, "completed"),
    (scheduler, "allows_merge"),
    (scheduler, "front_merge_candidate"),
    (order, "begin"),
    (order, "inserted"),
    (order, "touched"),
    (order, "victim"),
    (order, "read"),
    (rate, "victims"),
    (collection, "begin"),
    (collection, "written"),
    (collection, "closed"),
    (collection, "invalidated"),
    (collection, "victim"),
    (allocation, "place"),
    (placement, "place"),
    (workload, "requests"),
    (mapping, "begin"),
    (mapping, "write"),
    (mapping, "lookup"),
    (mapping, "idle"),
]


@pytest.mark.parametrize(("make", "method"), METHODS, ids=[f"{make.__name__} {name}" for make, name in METHODS])
@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit, MemoryError])
def test_an_exception_is_raised_with_its_traceback(
    make: Callable[..., type[Policy]], method: str, error: type[BaseException]
) -> None:
    def fails(*_: object) -> None:
        raise error("in a policy")

    keys: dict[str, object] = {}
    if method in ("allows_merge", "front_merge_candidate"):
        keys = {"workload__synthetic__footprint_size": "64KiB"}
    elif method == "idle":
        keys = {"workload__synthetic__interarrival": "50ms", "workload__queue_depth": None}
    elif method in ("touched", "read"):
        keys = {"workload__synthetic__footprint_size": "64KiB"}
    with pytest.raises(error) as caught:
        run_wrong(make(**{method: fails}), **keys)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert frames[-1].name == "fails"
    if isinstance(caught.value, Exception) and hasattr(caught.value, "__notes__"):
        assert f"`{method}` of policy `wrong`" in caught.value.__notes__[0]


def test_a_generator_that_fails_later_stops_the_run() -> None:
    def requests(self: Workload, setup: WorkloadSetup) -> Iterable[Request]:
        for at in range(300):
            yield Request("write", 8 * at, 8)
        raise OSError("the source is gone")

    with pytest.raises(OSError, match="the source is gone"):
        run_wrong(workload(requests=requests))


def test_the_queue_and_the_array_are_closed_after_the_call() -> None:
    kept: list[Any] = []

    def dispatch(self: Scheduler, now: int, queue: Queue) -> int:
        kept.append(queue)
        return next(iter(queue)).id

    def completed(self: Scheduler, now: int, request: QueuedRequest) -> None:
        len(kept[-1])

    with pytest.raises(RuntimeError, match="open only during the call"):
        run_wrong(scheduler(dispatch=dispatch, completed=completed))
    for use in (len, iter, list, repr, lambda queue: queue[0], lambda queue: 0 in queue):
        with pytest.raises(RuntimeError, match="open only during the call"):
            use(kept[-1])
    page_log = example("page_log").PageLog

    def write(self: Any, flash: Flash, writes: Sequence[PageWrite]) -> None:
        kept.extend([flash, writes[0]])
        page_log.write(self, flash, writes)

    run_wrong(mapping(write=write))
    flash, page = kept[-2:]
    uses: list[Callable[[], object]] = [
        lambda: flash.program(0, page),
        lambda: flash.erase(0),
        lambda: flash.copy(0, 0),
        lambda: flash.pad(0),
        lambda: flash.programmed(0),
        lambda: flash.valid_pages(0),
        lambda: flash.lpn_of(0),
    ]
    for call in uses:
        with pytest.raises(RuntimeError, match="open only during the call"):
            call()


def test_a_page_of_an_earlier_call_is_not_written_again() -> None:
    kept: list[PageWrite] = []

    def write(self: Any, flash: Flash, writes: Sequence[PageWrite]) -> None:
        kept.extend(writes)
        for _ in writes:
            flash.program(0, kept[0])

    with pytest.raises(PolicyError, match="does not write, or has written"):
        run_wrong(mapping(write=write), workload__synthetic__requests=2000)


def test_requests_in_a_circle_end() -> None:
    def latter(self: Scheduler, queue: Queue, id: int) -> int:
        return id

    keys = {"workload__synthetic__footprint_size": "64KiB", "workload__synthetic__request_size": "512B"}
    first = scheduler(
        latter=latter,
        absorb=lambda *_: None,
        allows_merge=lambda self, queue, id, incoming: False,
        front_merge_candidate=lambda self, queue, incoming: next((r.id for r in queue if r.lba == incoming.end), None),
    )
    with pytest.raises(PolicyError, match="in a circle"):
        run_wrong(first, **keys)


def test_a_statistic_that_is_no_number_is_refused() -> None:
    values: list[object] = ["many", math.nan, -1, None, True]
    for value in values:
        policy = scheduler(sent=Statistic(0), begin=lambda self, _, value=value: set_sent(self, value))
        with pytest.raises(PolicyError, match="`sent` of policy `wrong`"):
            run_wrong(policy)


def set_sent(self: Any, value: object) -> None:
    self.sent = value


def test_a_class_that_is_no_policy_is_refused() -> None:
    class Unnamed(Scheduler):
        def dispatch(self, now: int, queue: Queue) -> None: ...

    bad: list[Any] = [
        Scheduler,
        Policy,
        int,
        3,
        None,
        scheduler()(),
        Unnamed,
        type("Wrong", (Scheduler,), {"name": "wrong"}),
        scheduler(name=7),
        scheduler(name="A name"),
        scheduler(name="noop"),
        scheduler(name="merging"),
        scheduler(needs=("task-id",)),
        scheduler(needs="task-ids"),
        scheduler(needs=(3,)),
        scheduler(source=None),
        scheduler(latter=lambda self, queue, id: None),
        order(keeps_reads=1),
        scheduler(One=Param(1), one=Param(2)),
    ]
    for policy in bad:
        with pytest.raises(PolicyError):
            run([policy])
    with pytest.raises(PolicyError, match="a second policy"):
        run([scheduler(), scheduler()])
    with pytest.raises(PolicyError, match="did you mean `task-ids`"):
        run([scheduler(needs=("task-id",))])


@pytest.mark.parametrize(
    "declare",
    [
        lambda: Param(None),  # type: ignore[type-var]
        lambda: Param([1]),  # type: ignore[type-var]
        lambda: Param(1, min=2),
        lambda: Param(1, max=0),
        lambda: Param(1, min=math.nan),
        lambda: Param(math.nan),
        lambda: Param(math.inf, max=1.0),
        lambda: Param(1, unit="s"),  # type: ignore[arg-type]
        lambda: Param(1.0, unit="ns"),
        lambda: Param(1, unit="ratio"),
        lambda: Param(-1),
        lambda: Param(1 << 70),
        lambda: Param("c", choices=("a", "b")),
        lambda: Param(1, choices=("a",)),
        lambda: Statistic("1"),  # type: ignore[type-var]
        lambda: Statistic(True),
        lambda: Statistic(0, unit="s"),  # type: ignore[arg-type]
    ],
)
def test_a_parameter_that_makes_no_sense_is_refused_where_it_is_declared(declare: Callable[[], object]) -> None:
    with pytest.raises((TypeError, ValueError)):
        declare()


def test_parameters_are_checked_and_reach_the_instance() -> None:
    seen: list[tuple[object, ...]] = []

    class Tuned(Scheduler):
        """Tuned.

        With parameters.
        """

        name = "tuned"
        wait_ns = Param(5 * MS, unit="ns", max=10 * MS, help="A wait.")
        room_bytes = Param(4096, unit="bytes", help="A size.")
        share = Param(0.5, max=1.0, help="A share.")
        mode = Param("fast", choices=("fast", "slow"), help="A mode.")
        flag = Param(False, help="A flag.")
        count = Param(3, min=1, max=9, help="A count.")

        def dispatch(self, now: int, queue: Queue) -> int:
            if not seen:
                seen.append((self.wait_ns, self.room_bytes, self.share, self.mode, self.flag, self.count))
            return next(iter(queue)).id

    keys: dict[str, object] = {"host__scheduler": "tuned", "host__tuned__wait": "2ms", "host__tuned__share": 1}
    keys |= {"host__tuned__mode": "slow", "host__tuned__room": "1MiB", "host__tuned__flag": True}
    result = run([Tuned], **keys)
    assert seen == [(2_000_000, 1 << 20, 1.0, "slow", True, 3)]
    assert result["config"]["host"]["tuned"]["mode"] == "slow"
    for key, value, text in [
        ("wait", "11ms", "a time from 0ns to 10ms"),
        ("share", 1.5, "a number from 0 to 1"),
        ("mode", "quick", "one of fast, slow"),
        ("flags", True, "did you mean `flag`"),
        ("count", 0, "a whole number from 1 to 9"),
    ]:
        with pytest.raises(ConfigError, match=text):
            run([Tuned], **{"host__scheduler": "tuned", f"host__tuned__{key}": value})
    with pytest.raises(ValueError):
        Tuned(count=10)
    with pytest.raises(TypeError):
        Tuned(number=1)
    assert Tuned(count=4).count == 4


def test_what_a_policy_needs_is_checked_before_the_run() -> None:
    with pytest.raises(ConfigError, match="requests that carry task ids"):
        run([scheduler(needs=("task-ids",))], host__scheduler="wrong")
    with pytest.raises(ConfigError, match="dependent replay"):
        run_wrong(workload(requests=lambda self, setup: []), workload__replay="dependent", workload__queue_depth=None)
    with pytest.raises(ConfigError, match="blocks that fail in use"):
        run_wrong(mapping(), device__program_failures=0.01)
