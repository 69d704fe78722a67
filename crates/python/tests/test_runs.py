"""Runs: the numbers of the program, results in every form, progress, threads and Ctrl-C."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import flashloom
import pytest
from flashloom import Experiment, Progress

from conftest import ROOT, SMALL


def findings(text: str) -> dict[str, object]:
    """A result without its cost and origin."""
    fields: dict[str, object] = json.loads(text)
    return {name: value for name, value in fields.items() if name not in ("run", "provenance")}


def of_children() -> float:
    """Processor time of the processes that have ended, in seconds: what else the machine does, does not count."""
    times = os.times()
    return times.children_user + times.children_system


def test_the_numbers_are_those_of_the_program(program: Path, tmp_path: Path) -> None:
    path = ROOT / "experiments" / "quickstart.toml"
    sets = {"workload.synthetic.requests": 20_000}
    command = [str(program), "run", str(path), "--json", "-", "--no-cache"]
    command += [f"--set={key}={value}" for key, value in sets.items()]
    begin = of_children()
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    of_program = of_children() - begin
    begin = time.process_time()
    result = Experiment(path, set=sets).run()
    of_package = time.process_time() - begin
    assert findings(result.to_json()) == findings(printed)
    assert result.provenance.config_sha256 == json.loads(printed)["provenance"]["config_sha256"]
    assert of_package < of_program + 1.0, (of_package, of_program)


def test_a_result_by_attribute_item_and_path(small: Experiment) -> None:
    result = small.run()
    assert result.host.requests == result["host"]["requests"] == result["host.requests"] == 2000
    assert result["host.latency_ns.all.p99"] == result.host.latency_ns.all.p99
    assert "host" in dir(result) and "iops" in dir(result.host)
    assert json.loads(result.to_json()) == result.to_dict()
    with pytest.raises(AttributeError, match="did you mean `iops`"):
        result.host.iopss  # noqa: B018
    with pytest.raises(KeyError):
        result["host.nothing"]
    again = flashloom.Result.from_json(result.to_json())
    assert again == result and pickle.loads(pickle.dumps(result)) == result


def test_histograms_have_the_percentiles_of_the_result(small: Experiment) -> None:
    result = small.run()
    for name in ("read", "write", "all", "device"):
        histogram, shown = result.histogram(name), result.host.latency_ns[name]
        assert (histogram.count, histogram.mean, histogram.max) == (shown["count"], shown["mean"], shown["max"])
        for point in (50, 90, 95, 99, 99.9, 99.99):
            assert histogram.percentile(point) == shown[f"p{str(point).replace('.', '_')}"]
        assert histogram.percentile(100) == histogram.max
        assert sum(histogram.counts) == histogram.count and len(histogram.edges()) == len(histogram) + 1
    assert result.histogram("flush").percentile(50) == 0
    assert memoryview(histogram.counts).format == "Q"


def test_a_comparison_is_a_table(small: Experiment) -> None:
    comparison = small.compare(vary={"host.scheduler": ["noop", "deadline"], "host.queue_depth": "1..2"}, jobs=2)
    assert len(comparison) == 4 and comparison[3].vary == {"host.scheduler": "deadline", "host.queue_depth": 2}
    frame = comparison.to_pandas()
    assert list(frame["host.scheduler"]) == ["noop", "noop", "deadline", "deadline"]
    assert list(frame["host.requests"]) == [2000] * 4
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(comparison)["host.iops"].to_list() == list(frame["host.iops"])
    assert comparison.to_polars().shape == (4, len(frame.columns))
    pyarrow = pytest.importorskip("pyarrow")
    assert pyarrow.table(comparison).num_rows == 4 and pyarrow.table(small.run()).num_rows == 1
    for shown in (comparison._repr_html_(), small.run()._repr_html_(), repr(comparison)):
        assert shown is not None and "requests" in shown


def test_seeds_give_intervals_and_the_threads_change_nothing(small: Experiment) -> None:
    one, two = (small.compare(vary={"ftl.gc": ["greedy", "fifo"]}, seeds=3, jobs=jobs) for jobs in (1, 2))
    assert [run.to_dict()["host"] for run in one] == [run.to_dict()["host"] for run in two]
    assert len(one) == 6 and one.repeated[0].figures["host.iops"].half_width >= 0.0


def test_means_over_seeds_are_a_table_of_a_row_for_each_combination(small: Experiment) -> None:
    comparison = small.compare(vary={"ftl.gc": ["greedy", "fifo"]}, seeds=3)
    table = comparison.means.to_table()
    assert len(comparison.means) == len(table) == 2 and list(table.column("seeds")) == [3, 3]
    rates = [run.host.iops for run in comparison]
    assert table.column("host.iops")[1] == pytest.approx(sum(rates[3:]) / 3)
    figures = comparison.repeated[1].figures["host.iops"]
    assert table.column("host.iops.half_width")[1] == figures.half_width
    assert table.column("host.iops.difference")[1] == figures.difference
    with pytest.raises(ValueError, match="each combination was run once"):
        _ = small.compare(vary={"ftl.gc": ["greedy", "fifo"]}).means


def test_keys_vary_together_as_a_tuple(small: Experiment) -> None:
    pairs = [("greedy", 4), ("fifo", 5)]
    keys = ("ftl.gc", "host.queue_depth")
    together = small.compare(vary={"host.scheduler": ["noop", "deadline"], keys: pairs})
    assert [(run.vary["ftl.gc"], run.vary["host.queue_depth"]) for run in together] == [*pairs, *pairs]
    assert len(together.table("iops").splitlines()) > 4
    replaced = Experiment.from_dict(SMALL, vary={keys: pairs}).compare(vary={"ftl.gc": ["greedy", "fifo"]})
    assert [dict(run.vary.to_dict()) for run in replaced] == [{"ftl.gc": "greedy"}, {"ftl.gc": "fifo"}]
    with pytest.raises(TypeError, match="vary over a list of tuples, not str"):
        small.compare(vary={keys: "1..4"})
    with pytest.raises(ValueError, match="has 1 values, of the 2 keys"):
        small.compare(vary={keys: [("greedy",), ("fifo", 4)]})


def test_expectations_hold_or_raise() -> None:
    text = """
        workload.synthetic.requests = 500
        device.blocks = 64
        vary."host.scheduler" = ["noop", "deadline"]
        [[expect]]
        claim = "all requests arrive"
        formula = "min(host.requests)"
        at_least = {}
    """
    assert Experiment.from_text(text.format(500)).expect().expectations[0].holds
    with pytest.raises(flashloom.ExpectationError, match="1 of 1 expectations do not hold") as failed:
        Experiment.from_text(text.format(501)).expect(jobs=1)
    assert len(failed.value.comparison) == 2  # type: ignore[arg-type]


def test_the_log_streams_a_row_for_each_request(small: Experiment) -> None:
    with small.log(batch_rows=300) as log:
        sizes = [len(batch) for batch in log]
        result = log.result()
    assert sizes == [300] * 6 + [200] and result.host.requests == 2000
    table = small.log().read_all()
    latency = table.column("latency_ns")
    assert sum(latency) / len(latency) == pytest.approx(result.host.latency_ns.all.mean)
    assert {"R", "W"} == set(table.column("op"))
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(small.log())["latency_ns"].to_list() == list(latency)
    pyarrow = pytest.importorskip("pyarrow")
    reader = pyarrow.RecordBatchReader.from_stream(small.log(batch_rows=1000))
    assert [batch.num_rows for batch in reader] == [1000, 1000]
    assert list(table.to_pandas()["latency_ns"]) == list(latency)


def test_the_timeline_adds_up(small: Experiment) -> None:
    small.run.timeline_interval = "1ms"
    timeline = small.timeline()
    table = timeline.read_all()
    assert sum(table.column("completed")) == timeline.result().host.requests
    assert table.to_pandas()["time_ns"].is_monotonic_increasing


def test_progress_reaches_a_callback_and_tqdm(small: Experiment, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[Progress] = []
    small.run(progress=seen.append)
    assert seen[-1].requests == 2000 and seen[-1].share == 1.0 and seen[-1].all_runs == 1

    class Bar:
        total = 10.0
        done = 0.0

        def update(self, step: float) -> None:
            self.done += step

        def set_postfix_str(self, text: str, refresh: bool) -> None:
            pass

    bar = Bar()
    small.compare(vary={"run.seed": [1, 2]}, progress=bar)
    assert bar.done == pytest.approx(10.0)
    small.run(progress=True)
    assert "1 of 1 runs done" in capsys.readouterr().err


def test_other_threads_go_on_during_a_run(endless: Experiment) -> None:
    steps = 0
    with pytest.raises(RuntimeError, match="enough"):

        def stop(progress: Progress) -> None:
            nonlocal steps
            steps += 1
            if steps == 3:
                raise RuntimeError("enough")

        endless.run(progress=stop)
    assert steps == 3


INTERRUPTED = """
import flashloom, sys, time
experiment = flashloom.Experiment.from_dict({values!r})
print("ready", flush=True)
try:
    {action}
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
    sys.exit(7)
"""


@pytest.mark.parametrize(
    "action",
    [
        "experiment.run()",
        "experiment.compare(vary={'run.seed': [1, 2, 3]}, jobs=2)",
        "experiment.log().read_all()",
        "[len(batch) for batch in experiment.log()]",
        "experiment.run(progress=True)",
    ],
)
def test_ctrl_c_ends_a_run_within_a_tenth_of_a_second(action: str) -> None:
    values = {**SMALL, "workload.synthetic": {"requests": 1_000_000_000}}
    latencies = []
    for _ in range(3):
        script = INTERRUPTED.format(values=values, action=action)
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        begin = time.monotonic()
        os.kill(process.pid, signal.SIGINT)
        latencies.append(float(process.stdout.readline()) - begin)
        assert process.wait(timeout=60) == 7
    # Of three, so that a machine that does something else at that moment fails nothing.
    assert min(latencies) < 0.1, latencies


def test_ctrl_c_ends_ageing() -> None:
    values = {"device": {"blocks": 4096}, "run.precondition": "steady", "run.steady_tolerance": 0.0001}
    script = INTERRUPTED.format(values=values, action="experiment.run()")
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(timeout=60) == 7, "ageing alone takes minutes"


def test_several_threads_run_at_once(small: Experiment) -> None:
    results: list[flashloom.Result] = []
    threads = [threading.Thread(target=lambda: results.append(small.run())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4 and all(result.host == results[0].host for result in results)
