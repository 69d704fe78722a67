"""Validations and fits: measurements whose truth is known, because the simulator made them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import flashloom
import pytest
from flashloom import ConfigError, Experiment, InputError
from flashloom.errors import InterruptedRun

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
    with pytest.raises(ValueError, match="hold_out"):
        flashloom.fit(measured, start, hold_out="some")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="requests is from 1,000"):
        flashloom.fit(measured, start, requests=10)
    with pytest.raises(TypeError, match="inputs is a file or a list"):
        flashloom.fit(7, start)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="varies between a pair of ends"):
        flashloom.fit(measured, start, vary={"device.ways": 3})
