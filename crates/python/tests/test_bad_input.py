"""Bad input: always an exception that Python code can catch, never a crash or a panic."""

from __future__ import annotations

import gc
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import flashloom
import flashloom.policy
import pytest
from flashloom import ClosedError, ConfigError, EngineError, Error, Experiment, InputError, Result, Table, Trace

from conftest import SMALL

Refused = type[BaseException] | tuple[type[BaseException], ...]


class Odd:
    """Nothing that a configuration has."""

    def __index__(self) -> int:
        raise RuntimeError("on purpose")


class Scalar:
    """What looks like a number of NumPy, and is a dictionary."""

    shape = ()

    def item(self) -> object:
        return {"a": 1}


def dict_of(values: Any) -> Callable[[], object]:
    return lambda: Experiment.from_dict(values)


def set_to(path: str, value: Any) -> Callable[[], object]:
    def run() -> None:
        section, _, key = path.rpartition(".")
        experiment = Experiment.from_dict(SMALL)
        target: Any = experiment
        for name in section.split("."):
            target = getattr(target, name)
        setattr(target, key, value)

    return run


def experiment(**options: Any) -> Experiment:
    return Experiment.from_dict(SMALL, **options)


def closed_stream() -> None:
    log = experiment().log()
    log.close()
    next(iter(log))


def raising(_: object) -> None:
    raise ZeroDivisionError


CASES: dict[str, tuple[Callable[[], object], Refused]] = {
    # Where an experiment comes from.
    "no such file": (lambda: Experiment("nowhere.toml"), ConfigError),
    "a folder": (lambda: Experiment("."), ConfigError),
    "a path of the wrong type": (lambda: Experiment(7), TypeError),  # type: ignore[arg-type]
    "a path of bytes": (lambda: Experiment(b"x"), TypeError),  # type: ignore[arg-type]
    "a path with a zero byte": (lambda: Experiment("a\0b"), Error),
    "a text of the wrong type": (lambda: Experiment.from_text(b"a = 1"), TypeError),  # type: ignore[arg-type]
    "a text that is no TOML": (lambda: Experiment.from_text("[host\n"), ConfigError),
    "a text with a surrogate": (lambda: Experiment.from_text("# \ud800"), UnicodeEncodeError),
    "a dict that is a list": (dict_of([1]), TypeError),
    "a dict with a number as key": (dict_of({1: 2}), TypeError),
    "a dict with a value of no type": (dict_of({"host.queue_depth": Odd()}), TypeError),
    "a dict with None": (dict_of({"host.queue_depth": None}), TypeError),
    "a dict with an unknown section": (dict_of({"hots.queue_depth": 1}), ConfigError),
    "a dict with an empty key": (dict_of({"": 1}), ConfigError),
    "a dict with a key that has another in it": (dict_of({"host.queue_depth = 3\nftl.gc": "greedy"}), ConfigError),
    "a dict with a key and a comment": (dict_of({"host.queue_depth = 3 #": 4}), ConfigError),
    "a dict that varies a key with a quote": (dict_of({"vary": {'x"y': [1, 2]}}), ConfigError),
    "a dict with a key that ends the line": (dict_of({"host\nx": 1}), ConfigError),
    # Values.
    "NaN": (set_to("workload.synthetic.read_share", float("nan")), ConfigError),
    "infinity": (set_to("workload.synthetic.read_share", float("inf")), ConfigError),
    "a negative number": (set_to("host.queue_depth", -1), ConfigError),
    "a number of 65 bits": (set_to("host.queue_depth", 1 << 64), ConfigError),
    "a number of a million bits": (set_to("host.queue_depth", 1 << 1_000_000), ConfigError),
    "a fraction where a whole number goes": (set_to("host.queue_depth", 1.5), ConfigError),
    "a flag where a number goes": (set_to("host.queue_depth", True), ConfigError),
    "a number where a flag goes": (set_to("host.merging", 1), ConfigError),
    "a text where a number goes": (set_to("host.queue_depth", "8"), ConfigError),
    "a time without a unit": (set_to("host.deadline.read_expire", 5), ConfigError),
    "an unknown policy": (set_to("ftl.gc", "best"), ConfigError),
    "a text with a line break": (set_to("ftl.gc", "greedy\n"), ConfigError),
    "a text with a surrogate as value": (set_to("workload.path", "\ud800"), ConfigError),
    "a list": (set_to("host.queue_depth", [1]), TypeError),
    "an object": (set_to("host.queue_depth", Odd()), TypeError),
    "what NumPy has and JSON has not": (set_to("host.queue_depth", Scalar()), TypeError),
    "a complex number": (set_to("host.queue_depth", 1j), TypeError),
    "an unknown key": (set_to("host.depth", 1), ConfigError),
    "a section": (lambda: setattr(experiment(), "host", 1), TypeError),
    "an unknown section": (lambda: setattr(experiment(), "hots", 1), ConfigError),
    "an unknown key deleted": (lambda: delattr(experiment().host, "depth"), ConfigError),
    "a key with a line break": (lambda: Experiment.from_dict({"host.queue_depth = 3\nftl.gc": "greedy"}), ConfigError),
    "a quoted key": (lambda: Experiment.from_dict({"vary": {'x"y': [1]}}), ConfigError),
    "an object that calls itself a scalar": (set_to("workload.path", Scalar()), TypeError),
    "a path in bytes": (lambda: Experiment(b"x.toml"), TypeError),  # type: ignore[arg-type]
    "a path that is no Unicode": (lambda: Experiment("\udcff.toml"), ValueError),
    "a recording's path in bytes": (lambda: flashloom.Trace(b"x"), TypeError),  # type: ignore[arg-type]
    "a policy in place of a list": (lambda: experiment(policies=flashloom.policy.Scheduler), TypeError),
    "choices in a text": (lambda: flashloom.policy.Param("x", choices="xyz"), TypeError),
    "set of the wrong type": (lambda: experiment(set=[("a", 1)]), TypeError),
    "set with an unknown key": (lambda: experiment(set={"host.depth": 1}), ConfigError),
    "a device too large": (lambda: experiment(set={"device.blocks": 1 << 40}), ConfigError),
    "policies that are none": (lambda: experiment(policies=[int]), Exception),
    "a class in place of a list of policies": (lambda: experiment(policies=int), TypeError),
    "policies of the wrong type": (lambda: experiment(policies=7), TypeError),
    # Comparisons.
    "nothing varies": (lambda: experiment().compare(), ConfigError),
    "vary of the wrong type": (lambda: experiment(vary=7), TypeError),
    "vary over a number": (lambda: experiment(vary={"run.seed": 7}), TypeError),
    "vary over bytes": (lambda: experiment(vary={"run.seed": b"12"}), TypeError),
    "an item that is no text": (lambda: experiment().host[3], TypeError),  # type: ignore[index]
    "a path beyond a key": (lambda: experiment().host["queue_depth.x"], ConfigError),
    "vary over nothing": (lambda: experiment(vary={"run.seed": []}), ConfigError),
    "vary over a value twice": (lambda: experiment(vary={"run.seed": [1, 1]}), ConfigError),
    "vary over a wrong value": (lambda: experiment(vary={"host.scheduler": ["noop", 3]}), ConfigError),
    "a range too long": (lambda: experiment(vary={"run.seed": "1..1000000000"}), ConfigError),
    "no seeds": (lambda: experiment().compare(seeds=0), ValueError),
    "one seed": (lambda: experiment().compare(seeds=1), ValueError),
    "one seed of an experiment": (lambda: experiment(seeds=1), ValueError),
    "negative seeds": (lambda: experiment().compare(seeds=-3), ValueError),
    "seeds of the wrong type": (lambda: experiment().compare(seeds="3"), TypeError),  # type: ignore[arg-type]
    "no jobs": (lambda: experiment().compare(seeds=2, jobs=0), ValueError),
    "a million jobs": (lambda: experiment().compare(seeds=2, jobs=10**6), ValueError),
    "expectations of none": (lambda: experiment().expect(seeds=2), Error),
    # Runs and results.
    "progress of the wrong type": (lambda: experiment().run(progress=7), TypeError),
    "a callback that raises": (lambda: experiment().run(progress=raising), ZeroDivisionError),
    "an unknown field": (lambda: experiment().run().host.nothing, AttributeError),
    "an unknown item": (lambda: experiment().run()["nothing"], KeyError),
    "an item of the wrong type": (lambda: experiment().run()[3], TypeError),  # type: ignore[index]
    "a text that is no result": (lambda: Result.from_json("[]"), ValueError),
    "a result of another version": (lambda: Result.from_json('{"schema": "flashloom/result/999"}'), ValueError),
    "a text that is no JSON": (lambda: Result.from_json("{"), ValueError),
    "an unknown histogram": (lambda: experiment().run().histogram("reads"), KeyError),
    "a percentile above 100": (lambda: experiment().run().histogram("read").percentile(101), ValueError),
    "a percentile of NaN": (lambda: experiment().run().histogram("read").percentile(float("nan")), ValueError),
    "a percentile of a text": (
        lambda: experiment().run().histogram("read").percentile("x"),  # type: ignore[arg-type]
        ValueError,
    ),
    "an unknown name": (lambda: flashloom.explain("nothing at all"), ConfigError),
    "help on a number": (lambda: flashloom.explain(3), TypeError),  # type: ignore[arg-type]
    "an unknown slot": (lambda: flashloom.list_policies("collectors"), KeyError),
    # Tables and streams.
    "an unknown column": (lambda: experiment().timeline().read_all().column("nothing"), KeyError),
    "batches of no rows": (lambda: experiment().log(batch_rows=0), ValueError),
    "batches of NaN rows": (lambda: experiment().log(batch_rows=float("nan")), TypeError),  # type: ignore[arg-type]
    "a closed stream": (closed_stream, ClosedError),
    "the result of a stream that was not read": (lambda: experiment().log().result(), ClosedError),
    "a table of nothing": (lambda: Table(None).column_names, AttributeError),  # type: ignore[arg-type]
    # Recordings.
    "no such recording": (lambda: Trace("nowhere.csv").info(), InputError),
    "an unknown format": (lambda: Trace("x", "blk"), Error),
    "an unknown event": (lambda: Trace("x", event="done"), Error),  # type: ignore[arg-type]
    "a recording that is none": (lambda: list(Trace(__file__).batches()), InputError),
    "a recording of negative batches": (lambda: Trace("x").batches(-1), ValueError),
    "a recording to an unknown format": (lambda: Trace(__file__).convert("x.unknown"), Error),
    "a run of a recording that is not there": (
        lambda: Experiment.from_dict({"workload": {"kind": "trace", "path": "nowhere.csv"}}).run(),
        (ConfigError, InputError),
    ),
    # What cannot be pickled.
    "a pickled engine": (lambda: pickle.dumps(experiment().engine()), (TypeError, pickle.PicklingError)),
    "a pickled stream": (lambda: pickle.dumps(experiment().log()), (TypeError, pickle.PicklingError)),
    "an engine out of nothing": (lambda: flashloom.Engine(None), TypeError),  # type: ignore[arg-type]
}


def engine_case(act: Callable[[flashloom.Engine], object], refused: Refused) -> tuple[Callable[[], object], Refused]:
    return lambda: act(experiment().engine()), refused


def closed(engine: flashloom.Engine) -> object:
    engine.close()
    return engine.now_ns


def backwards(engine: flashloom.Engine) -> object:
    engine.step(10)
    return engine.step(9)


CASES |= {
    "an unknown operation": engine_case(lambda engine: engine.submit("erase", 0, 8), EngineError),
    "a request beyond the drive": engine_case(lambda engine: engine.submit("read", 1 << 60, 8), EngineError),
    "a request that wraps around": engine_case(lambda engine: engine.submit("read", (1 << 64) - 1, 8), EngineError),
    "a negative sector": engine_case(lambda engine: engine.submit("read", -1, 8), OverflowError),
    "a request of no sectors": engine_case(lambda engine: engine.submit("read", 0, 0), EngineError),
    "a sector of 65 bits": engine_case(lambda engine: engine.submit("read", 1 << 65, 8), OverflowError),
    "a sector of the wrong type": engine_case(
        lambda engine: engine.submit("read", 1.0, 8),  # type: ignore[arg-type]
        TypeError,
    ),
    "a time that has passed": engine_case(backwards, EngineError),
    "a time that nothing can count": engine_case(lambda engine: engine.step(1 << 63), EngineError),
    "a time of NaN": engine_case(lambda engine: engine.step(float("nan")), TypeError),  # type: ignore[arg-type]
    "a closed engine": engine_case(closed, ClosedError),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_an_exception(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    act, refused = CASES[case]
    with pytest.raises(refused) as raised:
        act()
    assert isinstance(raised.value, Exception), "a panic is no Exception"
    assert "panic" not in str(raised.value) and "a bug of" not in str(raised.value)
    assert str(raised.value) or isinstance(raised.value, ZeroDivisionError)


def test_there_are_forty_at_least() -> None:
    assert len(CASES) >= 40


def test_what_was_refused_can_be_used_again() -> None:
    engine = experiment().engine()
    with pytest.raises(EngineError):
        engine.submit("read", 0, 0)
    assert engine.submit("read", 0, 8) == 0
    assert [one.id for one in engine.drain()] == [0]


def test_streams_that_nobody_reads_end_with_their_owner() -> None:
    before = threading.active_count()
    for _ in range(20):
        log = experiment(set={"workload.synthetic.requests": 1_000_000_000}).log(batch_rows=100)
        next(iter(log))
        del log
    gc.collect()
    assert threading.active_count() == before


def test_two_threads_cannot_read_a_stream_at_once() -> None:
    log = experiment(set={"workload.synthetic.requests": 50_000}).log(batch_rows=100)
    raised: list[BaseException] = []
    rows: list[int] = []

    def read() -> None:
        try:
            rows.extend(len(batch) for batch in log)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(isinstance(error, ClosedError) for error in raised)


def test_options_are_called_what_python_calls_them() -> None:
    with pytest.raises(ConfigError, match=r"at least one `vary=\{\"KEY\": \"A,B\"\}`, or a \[vary\] section"):
        experiment().compare()
    with pytest.raises(ConfigError) as refused:
        experiment(vary={"run.seed": [1, 2]}).compare(seeds=2)
    text = str(refused.value)
    assert '`vary={"run.seed": "1..2"}`, without `seeds`' in text and "--" not in text.replace("-->", ""), text
    with pytest.raises(ConfigError, match="`bounds` with a column of bounds"):
        experiment(vary={"run.seed": [1, 2]}).compare(columns=["misses/OPT"])
    assert refused.value.problems[0].file == "seeds"
