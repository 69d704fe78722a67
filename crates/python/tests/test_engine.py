"""The engine, stepped request by request."""

from __future__ import annotations

import threading

import flashloom
import pytest
from flashloom import ClosedError, Completion, EngineError, Experiment


def test_requests_go_in_and_completions_come_out(small: Experiment) -> None:
    engine = small.engine()
    ids = [engine.submit("write", 16 * page, 16) for page in range(32)]
    assert engine.outstanding == 32 and engine.now_ns == 0
    ended = engine.drain()
    assert sorted(one.id for one in ended) == ids and engine.outstanding == 0
    assert all(one.status == "done" and one.time_ns > 0 for one in ended)
    assert [one.time_ns for one in ended] == sorted(one.time_ns for one in ended)
    assert isinstance(ended[0], Completion)


def test_steps_small_and_large_come_to_the_same(small: Experiment) -> None:
    def served(steps: list[int | None]) -> list[Completion]:
        engine = small.engine()
        for page in range(64):
            engine.submit("read" if page % 3 else "write", 16 * page, 16)
        ended = [one for step in steps for one in engine.step(step)]
        return ended + engine.drain()

    assert served([]) == served([1_000_000_000]) == served(list(range(0, 10_000_000, 50_000)))


def test_a_full_host_says_so(small: Experiment) -> None:
    small.host.nr_requests = 4
    engine = small.engine()
    taken = [engine.submit("read", 1000 * at, 8) for at in range(9)]
    assert None in taken and engine.outstanding == len([one for one in taken if one is not None])


def test_the_result_of_an_engine_by_hand(small: Experiment) -> None:
    with small.engine(verify=True) as engine:
        engine.submit("write", 0, 16, fua=True)
        with pytest.raises(EngineError, match="not idle"):
            engine.result()
        engine.drain()
        while not engine.is_idle and engine.next_event_ns is not None:
            engine.step()
        assert engine.result().host.requests == 1
    with pytest.raises(ClosedError):
        engine.step()


def test_threads_that_share_an_engine_wait_or_are_refused(small: Experiment) -> None:
    engine = small.engine()
    refused: list[BaseException] = []

    def use() -> None:
        for at in range(300):
            try:
                engine.submit("write", 8 * at, 8)
                engine.step()
            except EngineError as error:
                refused.append(error)
            except BaseException as error:
                refused.append(error)
                raise

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(isinstance(error, flashloom.Error) for error in refused)
    engine.drain()
    assert engine.outstanding == 0
