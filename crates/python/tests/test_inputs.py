"""Inputs of sweeps: by path, by URL, by the hash of their content; never another content than the one that is meant."""

from __future__ import annotations

import fcntl
import hashlib
from functools import partial
from pathlib import Path

import flashloom
import pytest
from flashloom import sweep
from flashloom._task import Task, WorkerError, run, task_of
from flashloom.executors import SerialExecutor
from flashloom.inputs import Input, cache_folder, located
from flashloom.result import Result

from conftest import SMALL

pytest.importorskip("pyarrow")
pytest.importorskip("cloudpickle")
pytest.importorskip("fsspec")

serial = partial(sweep, executor=SerialExecutor())


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FLASHLOOM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def replay(place: object) -> flashloom.Experiment:
    values = {"workload": {"kind": "trace", "path": str(place), "addresses": "wrap"}, "device": SMALL["device"]}
    return flashloom.Experiment.from_dict(values)


def task(place: object) -> Task:
    return task_of(replay(place), {}, verify=False)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def requests(result: Result) -> int:
    count: int = result.host.requests
    return count


def test_a_run_is_known_by_the_content_of_its_input_not_by_its_place(recording: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere" / "other-name.csv"
    copy.parent.mkdir()
    copy.write_bytes(recording.read_bytes())
    places = [recording, copy, copy.as_uri(), f"{copy.as_uri()}#sha256={sha256(copy)}", f"sha256:{sha256(copy)}"]
    tasks = [task(place) for place in places]
    assert len({one.id for one in tasks}) == 1 and len({one.config for one in tasks}) == 1
    assert sha256(copy) in tasks[0].config and str(tmp_path) not in tasks[0].config
    copy.write_text(copy.read_text() + "2000000,R,0,8\n")
    assert task(copy).id != tasks[0].id
    assert task(copy.as_uri()).id == task(copy).id, "what a URL has now, not what it had"


def test_a_sweep_over_recordings_has_the_same_rows_from_paths_and_from_urls(recording: Path, tmp_path: Path) -> None:
    longer = tmp_path / "longer.csv"
    longer.write_text(recording.read_text() + "2000000,R,0,8\n")
    by_path = serial(replay(recording), {"workload.path": [recording, longer]}, out=tmp_path / "a")
    by_url = serial(replay(recording), {"workload.path": [recording.as_uri(), longer.as_uri()]}, out=tmp_path / "b")
    assert [row["workload.path"] for row in by_path.rows()] == [row["workload.path"] for row in by_url.rows()]
    assert sorted(row["host.requests"] for row in by_path.rows()) == [1000, 1001]
    found = {row["workload.path"]: row["host.requests"] for row in by_url.rows()}
    assert found == {f"sha256:{sha256(recording)}": 1000, f"sha256:{sha256(longer)}": 1001}


def test_a_worker_takes_an_input_from_its_cache_or_downloads_it(recording: Path, cache: Path) -> None:
    packed = task(recording.as_uri()).packed(requests)
    [kept] = (cache / "inputs").iterdir()
    assert kept.name == f"{sha256(recording)}.csv"
    kept.unlink()
    assert run(packed).measured == 1000 and kept.exists()
    recording.unlink()
    assert run(packed).measured == 1000


def test_another_content_than_that_of_the_hash_is_an_error(recording: Path, cache: Path) -> None:
    wrong = "0" * 64
    for place in (f"{recording}#sha256={wrong}", f"{recording.as_uri()}#sha256={wrong}"):
        with pytest.raises(flashloom.InputError, match=f"has the hash {sha256(recording)}, not {wrong}"):
            task(place)
    packed = task(recording).packed(requests)
    recording.write_text(recording.read_text() + "2000000,R,0,8\n")
    with pytest.raises(WorkerError, match="InputError: .* its content has the hash"):
        run(packed)
    assert list((cache / "inputs").iterdir()) == [], "nothing wrong is kept"


def test_a_spoilt_file_of_the_cache_is_replaced(recording: Path, cache: Path, tmp_path: Path) -> None:
    of = task(recording.as_uri()).inputs["workload.path"]
    [kept] = (cache / "inputs").iterdir()
    kept.write_text("something else")
    assert Path(located(of)).read_bytes() == recording.read_bytes()
    kept.unlink()
    (tmp_path / "precious").write_text("mine")
    kept.symlink_to(tmp_path / "precious")
    assert Path(located(of)).read_bytes() == recording.read_bytes() and not kept.is_symlink()
    kept.write_text("something else")
    with pytest.raises(flashloom.InputError, match="no such content"):
        located(Input(of.sha256, of.name))
    assert not kept.exists() and (tmp_path / "precious").read_text() == "mine"


def test_the_folder_of_inputs_is_the_users_own(recording: Path, cache: Path, tmp_path: Path) -> None:
    task(recording.as_uri())
    assert [folder.stat().st_mode & 0o777 for folder in (cache, cache / "inputs")] == [0o700, 0o700]
    assert next((cache / "inputs").iterdir()).stat().st_mode & 0o777 == 0o600
    cache.chmod(0o777)
    with pytest.warns(UserWarning, match="other users may write to it"):
        assert task(recording.as_uri()).inputs["workload.path"].sha256 == sha256(recording)


def test_the_cache_has_a_limit_that_nothing_in_use_goes_for(
    recording: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLASHLOOM_CACHE_LIMIT", "1kB")
    others = [cache / "inputs" / f"{digit * 64}.csv" for digit in "ab"]
    located(task(recording.as_uri()).inputs["workload.path"])
    for other in [*others, cache / "my-vm.state", cache / "inputs" / ".flashloom-0123_567.partial"]:
        other.write_text("x" * 2000)
    longer = tmp_path / "longer.csv"
    longer.write_text(recording.read_text() + "2000000,R,0,8\n")
    with open(others[0], "rb") as used:
        fcntl.flock(used, fcntl.LOCK_SH)
        task(longer.as_uri())
    left = {path.name for path in (cache / "inputs").iterdir()}
    assert left == {f"{sha256(recording)}.csv", f"{sha256(longer)}.csv", others[0].name}
    assert (cache / "my-vm.state").exists()
    monkeypatch.setenv("FLASHLOOM_CACHE_LIMIT", "much")
    longer.write_text(recording.read_text() + "3000000,R,0,8\n")
    with pytest.raises(flashloom.ConfigError, match="FLASHLOOM_CACHE_LIMIT"):
        task(longer.as_uri())


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("nowhere.csv", "nowhere.csv: does not exist"),
        ("file:///nowhere/recording.csv", "cannot be read"),
        ("nothing://bucket/recording.csv", "cannot be read"),
        ("sha256:" + "1" * 64, "the cache of this machine has no such content"),
        ("sha256:12", "is no SHA-256"),
        ("recording.csv#sha256=zz", "is no SHA-256"),
    ],
)
def test_an_input_that_cannot_be_had_is_an_error_before_a_run(place: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(flashloom.InputError, match=message):
        serial(replay(place), {"host.queue_depth": [1]}, out=tmp_path / "out")


def test_a_path_of_a_file_starts_from_its_folder(recording: Path, tmp_path: Path) -> None:
    file = tmp_path / "experiment.toml"
    file.write_text('[workload]\nkind = "trace"\npath = "trace.csv"\n')
    found = task_of(flashloom.Experiment(file), {}, verify=False).inputs["workload.path"]
    assert found == Input(sha256(recording), str(recording))


def test_the_cache_is_that_of_the_program(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    assert cache_folder() == cache
    monkeypatch.setenv("FLASHLOOM_CACHE", "")
    assert cache_folder() is None
    monkeypatch.delenv("FLASHLOOM_CACHE")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "/kept")
    assert cache_folder() == Path("/kept/flashloom")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/me")
    assert cache_folder() == Path("/home/me/.cache/flashloom")
