"""Validations and fits: measurements whose truth is known, because the simulator made them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import flashloom
import pytest
from flashloom import ConfigError, Experiment, InputError, _fits
from flashloom.errors import InterruptedRun
from flashloom.executors import ProcessExecutor, SerialExecutor

from conftest import SMALL

JOB = """[global]
filename=/dev/nvme0n1
direct=1
ioengine=libaio
rw=randread
bs=4k
number_ios=2000
size=100%
norandommap=1
stonewall=1
[one]
iodepth=1
[four]
iodepth=4
"""


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    """What fio would measure of a small drive with reads of 90 us."""
    (tmp_path / "job.fio").write_text(JOB)
    drive = Experiment.from_dict({"device": SMALL["device"]}, set={"device.read_time": "90us"})
    drive.workload = {"kind": "fio", "path": str(tmp_path / "job.fio")}
    path = tmp_path / "fio.json"
    path.write_text(json.dumps(drive.run().fio))
    return path


@pytest.fixture
def start() -> Experiment:
    return Experiment.from_dict({"device": SMALL["device"]})


def test_a_drive_is_at_no_distance_from_what_fio_measured_of_it(measured: Path, start: Experiment) -> None:
    own = flashloom.validate(start, measured, set={"device.read_time": "90us"}, requests=2000)
    [one, four] = own.comparisons
    assert (one.job, four.job, one.requests) == ("one", "four", 2000)
    assert abs(one.cells[0].mean_ns.error) < 1e-3
    other = flashloom.validate(start, [measured], set={"device.read_time": "45us"}, requests=2000)
    assert other.comparisons[0].cells[0].mean_ns.error < -0.2
    assert "null's error" in repr(own) and "<table" in own._repr_html_()
    assert json.loads(own.to_json())["schema"] == "flashloom/validation/1"


def test_a_fit_finds_the_drive_and_its_file_is_an_experiment(measured: Path, start: Experiment, tmp_path: Path) -> None:
    seen: list[flashloom.Progress] = []
    found = flashloom.fit(
        measured,
        start,
        vary={"device.read_time": ("20us", "200us"), "device.ways": [1, 2]},
        requests=2000,
        restarts=1,
        jobs=2,
        progress=seen.append,
    )
    times = {one.key: one for one in found.parameters}
    assert times["device.ways"].value == "1"
    read_time = times["device.read_time"].value
    assert 85e3 < float(read_time[:-2]) * (1e3 if read_time.endswith("us") else 1.0) < 95e3
    assert [cell.held_out for cell in found.cells] == [False, True]
    assert "device.read_time" in repr(found) and seen[-1].runs > 10
    found.write(tmp_path / "mine.toml")
    used = Experiment.from_text('[device]\npreset = "./mine.toml"\n'.replace("./", f"{tmp_path}/"))
    assert used.device.read_time == Experiment.from_text(found.preset).device.read_time


def test_a_fit_is_that_of_the_program(measured: Path, program: Path, tmp_path: Path) -> None:
    options = {"device.read_time": "20us..200us"}
    found = flashloom.fit(str(measured), "mlc-16g", vary=options, requests=1000, restarts=1)
    command = ["fit", str(measured), "--start", "mlc-16g", "--vary", "device.read_time=20us..200us"]
    command += ["--requests", "1000", "--restarts", "1", "-o", str(tmp_path / "a.toml"), "--json", "-"]
    said = subprocess.run([program, *command], capture_output=True, text=True, check=True)
    assert found.to_json() == said.stdout
    assert found.preset == (tmp_path / "a.toml").read_text()


def test_a_fit_that_was_interrupted_goes_on(measured: Path, start: Experiment, tmp_path: Path) -> None:
    journal = tmp_path / "journal"

    def fit(progress: object = None) -> flashloom.Fit:
        vary = {"device.read_time": ("20us", "200us")}
        return flashloom.fit(measured, start, vary=vary, requests=20_000, journal=journal, progress=progress)

    def ends(progress: flashloom.Progress) -> None:
        if progress.runs >= 2:
            raise KeyboardInterrupt

    with pytest.raises((KeyboardInterrupt, InterruptedRun)):
        fit(ends)
    whole = fit()
    assert fit().to_json() == whole.to_json()


def test_what_is_wrong_is_an_exception(measured: Path, start: Experiment, recording: Path) -> None:
    with pytest.raises(ConfigError, match="unknown key `raed_time`"):
        flashloom.fit(measured, start, vary={"device.raed_time": ("1us", "9us")})
    with pytest.raises(ConfigError, match="nvme-tlc-512g"):
        flashloom.fit(measured, "nvme-tlc-512")
    with pytest.raises(InputError, match="0 of 1,000 requests have a latency"):
        flashloom.fit(recording, start)
    with pytest.raises(InputError, match="0 of 1,000 requests have a latency"):
        flashloom.validate(start, recording)
    with pytest.raises(InputError, match="the same measurement"):
        flashloom.fit([measured, measured], start)
    with pytest.raises(ConfigError, match="against"):
        flashloom.validate(start)
    varied = Experiment.from_dict({"device": SMALL["device"]}, vary={"device.ways": [1, 2]})
    with pytest.raises(ValueError, match="the experiment varies device.ways"):
        flashloom.fit(measured, varied)
    listed = Experiment.from_text("[vary]\nhost.queue_depth = [1, 8]\n")
    with pytest.raises(ConfigError, match=r"`host.queue_depth` in \[vary\] of the start of a fit"):
        flashloom.fit(measured, listed)
    with pytest.raises(ValueError, match="hold_out"):
        flashloom.fit(measured, start, hold_out="some")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="requests is from 1,000"):
        flashloom.fit(measured, start, requests=10)
    with pytest.raises(TypeError, match="inputs is a file or a list"):
        flashloom.fit(7, start)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="varies between a pair of ends"):
        flashloom.fit(measured, start, vary={"device.ways": 3})


VARY: dict[str, object] = {"device.read_time": ("20us", "200us"), "device.ways": [1, 2]}
KILLED = """
import sys
import flashloom
from flashloom.executors import ProcessExecutor
from test_measured import VARY
if __name__ == "__main__":
    with ProcessExecutor(2) as executor:
        flashloom.fit(
            sys.argv[1], "start.toml", vary=VARY, requests=2000, journal=sys.argv[2], executor=executor, in_flight=4
        )
"""


@pytest.fixture
def folder(measured: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an experiment to start from, which is the working directory."""
    monkeypatch.chdir(measured.parent)
    Path("mine.toml").write_text("[device]\nblocks = 128\npages = 32\nchannels = 2\nways = 1\nplanes = 1\n")
    Path("start.toml").write_text('[device]\npreset = "./mine.toml"\n[run]\nprecondition = "steady"\n')
    return measured.parent


def fitted(**options: Any) -> flashloom.Fit:
    return flashloom.fit("fio.json", "start.toml", vary=VARY, requests=2000, restarts=1, **options)


@pytest.fixture
def whole(folder: Path) -> flashloom.Fit:
    """A fit in threads."""
    return fitted()


class Counting(Executor):
    """Counts the calls of another executor, and has one of them do something else."""

    def __init__(self, inner: Executor, at: int = -1, instead: Callable[[], Any] = int) -> None:
        self.inner, self.calls, self.at, self.instead = inner, 0, at, instead

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.calls += 1
        return self.inner.submit(self.instead) if self.calls == self.at else self.inner.submit(fn, *args, **kwargs)


def dies() -> None:
    os._exit(3)


def fails() -> None:
    raise ArithmeticError("no drive is the best one")


@pytest.mark.parametrize("name", ["serial", "threads", "processes", "spawned"])
def test_a_fit_is_the_same_on_every_executor(name: str, whole: flashloom.Fit, tmp_path: Path) -> None:
    made: dict[str, Callable[[], Executor]] = {
        "serial": SerialExecutor,
        "threads": lambda: ThreadPoolExecutor(3),
        "processes": lambda: ProcessExecutor(2),
        "spawned": lambda: ProcessPoolExecutor(1, get_context("spawn")),
    }
    journal = tmp_path / "journal"
    seen: list[flashloom.Progress] = []
    with made[name]() as inner:
        counting = Counting(inner)
        found = fitted(executor=counting, in_flight=5, journal=journal, progress=seen.append)
        assert (found.to_json(), found.preset) == (whole.to_json(), whole.preset)
        # What the executor simulated is in the journal, and is taken from there by threads, and by executors.
        simulated = counting.calls
        assert simulated > 30 and seen[-1].runs == simulated and seen[-1].requests == 2000 * simulated
        assert fitted(executor=counting, journal=journal).to_json() == whole.to_json() and counting.calls == simulated
    assert fitted(journal=journal).to_json() == whole.to_json()
    assert not _fits._LOADED, "this process keeps no fit that has ended"


def test_a_fit_on_processes_that_was_killed_goes_on(whole: flashloom.Fit, tmp_path: Path) -> None:
    journal = tmp_path / "journal"

    def lines() -> list[str]:
        return journal.read_text().splitlines() if journal.exists() else []

    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    child = subprocess.Popen([sys.executable, "-c", KILLED, "fio.json", str(journal)], env=environment)
    limit = time.monotonic() + 120
    while len(lines()) < 10:
        assert child.poll() is None and time.monotonic() < limit
        time.sleep(0.005)
    child.kill()
    child.wait()
    kept = lines()
    with ThreadPoolExecutor(2) as threads:
        counting = Counting(threads)
        assert fitted(executor=counting, journal=journal).to_json() == whole.to_json()
    assert lines()[: len(kept) - 1] == kept[:-1] and counting.calls <= len(lines()) - len(kept) + 1


def test_an_executor_that_ends_keeps_what_was_simulated(whole: flashloom.Fit, tmp_path: Path) -> None:
    journal = tmp_path / "journal"

    def ends(executor: Executor, error: type[BaseException], words: str | None, **options: Any) -> None:
        with pytest.raises(error, match=words):
            fitted(executor=executor, journal=journal, in_flight=1, **options)

    with ProcessExecutor(1) as processes:
        ends(Counting(processes, 9, dies), flashloom.FitError, "the executor is broken, its workers have ended")
        ends(processes, flashloom.FitError, "the executor takes no simulations")
    with ThreadPoolExecutor(1) as threads:
        ends(Counting(threads, 9, fails), ArithmeticError, "no drive is the best one")

        # The sixth simulation waits for the interrupt: on a busy machine the fit could end before it.
        told = threading.Event()

        def interrupt(progress: flashloom.Progress) -> None:
            if progress.runs >= 3:
                told.set()
                raise KeyboardInterrupt

        ends(Counting(threads, 6, partial(told.wait, 60)), KeyboardInterrupt, None, progress=interrupt)
    ends(threads, flashloom.FitError, "the executor takes no simulations: cannot schedule new futures")

    def cancelled() -> Future[Any]:
        future: Future[Any] = Future()
        future.cancel()
        return future

    class Cancelling(Executor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            return cancelled()

    ends(Cancelling(), flashloom.FitError, "the executor has cancelled a simulation")
    taken = len(journal.read_text().splitlines())
    assert taken > 16, "eight before the worker died, and eight before the one that failed"
    counting = Counting(SerialExecutor())
    assert fitted(executor=counting, journal=journal).to_json() == whole.to_json()
    assert counting.calls == len(journal.read_text().splitlines()) - taken


def test_a_worker_has_the_inputs_and_the_build_of_the_fit(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = (["device.read_time=20us..200us"], "second", 2000, 1, 1, 1)
    asked = _fits.Asked(["fio.json"], "start.toml", None, {}, rest)
    loaded = _fits.load(asked)
    packed = _fits._packed(loaded, asked)
    question = '{"load":0,"combination":0,"seed":0,"sets":["device.read_time=50us"]}'
    answer, requests, _ = _fits.simulate(packed, question)
    assert json.loads(answer)["figures"] and requests == 2000 and list(_fits._LOADED) == [packed]
    monkeypatch.chdir("/")
    assert _fits.simulate(packed, question)[0] == answer, "paths do not depend on the working directory"

    def refused(words: str) -> None:
        _fits._LOADED.clear()
        with pytest.raises(flashloom.WorkerError, match=f"a worker is not fit for these simulations: {words}"):
            _fits.simulate(packed, question)

    with monkeypatch.context() as patched:
        patched.setattr(_fits, "_library_hash", lambda: "other")
        refused("it has another build of flashloom")
    preset = (folder / "mine.toml").read_text()
    (folder / "mine.toml").write_text(preset.replace("pages = 32", "pages = 48"))
    refused("it has another build of flashloom, or another file of a preset")
    (folder / "mine.toml").unlink()
    refused("ConfigError: .*mine.toml")
    (folder / "mine.toml").write_text(preset)
    measured = (folder / "fio.json").read_text()
    (folder / "fio.json").write_text(measured + " ")
    refused("InputError: .*its content has the hash")
    with pytest.raises(flashloom.WorkerError, match="not fit for these simulations"):
        _fits.simulate(b"no fit", question)
    (folder / "fio.json").write_text(measured)
    with pytest.raises(ValueError, match="no question of a fit"):
        _fits.simulate(packed, "{")
    with pytest.raises(ConfigError, match="a question of another fit"):
        _fits.simulate(packed, question.replace('"load":0', '"load":7'))
    _fits._LOADED.clear()


def test_a_journal_is_that_of_one_build(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = tmp_path / "journal"
    fitted(journal=journal)
    monkeypatch.setattr(_fits, "_library_hash", lambda: "other")
    with pytest.raises(InputError, match="of another build of the program"):
        fitted(journal=journal)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"executor": SerialExecutor}, TypeError),
        ({"executor": 4}, TypeError),
        ({"executor": ProcessPoolExecutor(1, get_context("fork"))}, ValueError),
        ({"executor": SerialExecutor(), "jobs": 2}, ValueError),
        ({"executor": SerialExecutor(), "in_flight": 0}, ValueError),
        ({"in_flight": 1.5}, TypeError),
    ],
)
def test_what_is_no_executor_is_refused_before_a_simulation(
    options: dict[str, Any], expected: type[Exception], folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(expected):
        fitted(journal=tmp_path / "journal", **options)
    assert not (tmp_path / "journal").exists()
