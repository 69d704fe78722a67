"""A drive with data: what is read is what was written, under any policy, from any thread, and over NBD."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import flashloom
import pytest
from flashloom import ClosedError, ConfigError, DriveError, EngineError, Experiment, LiveDrive, PolicyError
from flashloom.policy import Collection, Policy
from policy_runs import EXAMPLES, example, figures

DRIVE: dict[str, object] = {
    "device": {"channels": 2, "ways": 1, "dies": 1, "planes": 1, "blocks": 24, "pages": 32, "page_size": "4KiB"},
    "device.over_provisioning": 0.33,
    "buffer.capacity": "128KiB",
    "run.precondition": "fill",
}
"""A drive of 4.5 MiB that has collections to do soon."""


def experiment(policies: tuple[type[Policy], ...] = (), **keys: object) -> Experiment:
    return Experiment.from_dict(DRIVE, set={key.replace("__", "."): keys[key] for key in keys}, policies=policies)


def use(drive: LiveDrive, turns: int, seed: int, first: int = 0, end: int | None = None) -> bytearray:
    """Random commands between two bytes of a drive; each read is compared. Returns what the drive has to hold there."""
    draw = random.Random(seed)
    size = (drive.size if end is None else end) - first
    data = bytearray(drive.read(first, size))
    for turn in range(turns):
        count = 512 * draw.randrange(1, 65)
        offset = 512 * draw.randrange((size - count) // 512 + 1)
        place = slice(offset, offset + count)
        kind = draw.randrange(12)
        if kind < 5:
            data[place] = draw.randbytes(count)
            drive.write(first + offset, data[place], fua=kind == 0)
        elif kind < 9:
            assert drive.read(first + offset, count) == data[place], f"turn {turn} of seed {seed}"
        elif kind == 9:
            drive.write_zeros(first + offset, count, may_discard=draw.random() < 0.5, fua=draw.random() < 0.5)
            data[place] = bytes(count)
        elif kind == 10:
            page = drive.page_bytes
            whole = slice(-(-offset // page) * page, (offset + count) // page * page)
            drive.discard(first + offset, count, fua=draw.random() < 0.5)
            data[whole] = bytes(max(0, whole.stop - whole.start))
        else:
            drive.flush()
    return data


def python_policies() -> dict[str, tuple[type[Policy], dict[str, object]]]:
    return {
        "a mapping": (example("page_log").PageLog, {"ftl__mapping": "page-log"}),
        "a collection": (example("greedy").Greedy, {"ftl__gc": "py-greedy"}),
        "an order": (example("page_lru").PageLru, {"buffer__order": "py-page-lru"}),
        "an allocation": (example("least_written").LeastWritten, {"ftl__allocation": "least-written"}),
    }


@pytest.mark.parametrize("mapping", ["page", "dftl", "fast", "kast"])
def test_a_drive_holds_what_was_written(mapping: str) -> None:
    log_blocks: dict[str, object] = {f"ftl__{mapping}__log_blocks": 4} if mapping in ("fast", "kast") else {}
    with LiveDrive(experiment((), ftl__mapping=mapping, **log_blocks)) as drive:
        data = use(drive, 1500, 1)
        assert drive.read(0, drive.size) == data
        result = drive.end()
        assert result.config.ftl.mapping == mapping and result.ftl.page_copies > 0
        assert drive.result().to_json() == result.to_json() == drive.end().to_json()


@pytest.mark.parametrize("kind", python_policies())
def test_a_drive_with_a_policy_in_python_holds_what_was_written(kind: str) -> None:
    policy, keys = python_policies()[kind]
    with LiveDrive(experiment((policy,), **keys)) as drive:
        data = use(drive, 800, 2)
        assert drive.read(0, drive.size) == data and drive.end().ftl.page_copies > 0


@pytest.mark.parametrize(
    ("key", "ours", "theirs"),
    [("ftl__gc", "greedy", ("greedy", "Greedy")), ("buffer__order", "page-lru", ("page_lru", "PageLru"))],
)
def test_a_policy_in_python_gives_the_result_and_the_log_of_the_built_in_one(
    key: str, ours: str, theirs: tuple[str, str], tmp_path: Path
) -> None:
    def served(name: str, policies: tuple[type[Policy], ...]) -> tuple[dict[str, Any], bytes]:
        log = tmp_path / f"{name}.csv"
        with LiveDrive(experiment(policies, **{key: name}), log=log) as drive:
            use(drive, 1000, 3)
            result = drive.end().to_dict()
        return figures(result), log.read_bytes()

    policy: type[Policy] = getattr(example(theirs[0]), theirs[1])
    assert served(policy.name, (policy,)) == served(ours, ())


def test_the_log_replays_to_the_result(tmp_path: Path) -> None:
    log = tmp_path / "served.csv"
    small = experiment()
    with LiveDrive(small, log=log) as drive:
        use(drive, 500, 4)
        assert not log.exists(), "it is there when it is whole"
        served = drive.end()
        assert drive.result().host.requests == served.host.requests
    small.workload = {"kind": "trace", "replay": "timestamps", "path": str(log)}
    small.host = {"scheduler": "noop", "merging": False}
    replayed = small.run()
    for part in ("ftl", "nand", "wear", "host"):
        assert replayed[part] == served[part], part


def test_an_image_keeps_drive_and_data(tmp_path: Path) -> None:
    image = tmp_path / "drive.image"
    with LiveDrive(experiment(), image=image) as drive:
        data = use(drive, 300, 5)
        drive.end()
    with LiveDrive(experiment(), image=image) as drive:
        assert drive.read(0, drive.size) == data
    with pytest.raises(ConfigError, match="py-greedy"):
        LiveDrive(experiment((example("greedy").Greedy,), ftl__gc="py-greedy"), image=image)


def test_time_is_that_of_the_drive() -> None:
    with LiveDrive(experiment()) as drive:
        assert drive.now_ns == 0
        drive.write(0, bytes(4096), fua=True)
        before = drive.now_ns
        assert before > 100_000, "a page was programmed"
        drive.read(0, 4096)
        so_far = drive.result()
        assert so_far.host.requests == 2 and drive.now_ns > before
        assert so_far.host.latency_ns.read.max <= drive.now_ns - before


def test_buffers_of_any_kind_are_taken() -> None:
    with LiveDrive(experiment()) as drive:
        written = bytes(range(256)) * 16
        for data in (written, bytearray(written), memoryview(written), memoryview(written).cast("I")):
            drive.write(8192, data)
            into = bytearray(4096)
            drive.read_into(8192, into)
            assert into == written
            drive.write_zeros(8192, 4096)
        with pytest.raises(TypeError):
            drive.write(0, 4096)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            drive.read_into(0, bytes(512))  # type: ignore[arg-type]


def test_what_is_not_within_the_drive_is_refused_and_the_drive_goes_on() -> None:
    with LiveDrive(experiment()) as drive:
        for offset, count in [(1, 512), (0, 511), (0, 0), (drive.size, 512), (drive.size - 512, 1024), (1 << 63, 512)]:
            for act in (drive.read, drive.discard, drive.write_zeros):
                with pytest.raises(EngineError, match="bytes from byte"):
                    act(offset, count)
        with pytest.raises(EngineError, match="of a drive of"):
            drive.write(drive.size - 512, bytes(1024))
        with pytest.raises(EngineError, match="of a drive of"):
            drive.read(0, (1 << 64) - 512)
        for wrong in (-512, 1 << 64):
            with pytest.raises(OverflowError):
                drive.read(wrong, 512)
        drive.write(0, bytes(512))


def test_a_drive_that_has_ended_or_is_closed_says_so(tmp_path: Path) -> None:
    drive = LiveDrive(experiment())
    drive.end()
    for act in (drive.flush, lambda: drive.read(0, 512), lambda: drive.now_ns):
        with pytest.raises(ClosedError, match="has ended"):
            act()
    drive.close()
    with pytest.raises(ClosedError, match="is closed"):
        drive.end()
    log = tmp_path / "log.csv"
    LiveDrive(experiment(), log=log).close()
    assert not list(tmp_path.iterdir()), "nothing is left of a log that was not ended"


def test_wrong_arguments_raise_what_says_so(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="Experiment"):
        LiveDrive("experiments/quickstart.toml")  # type: ignore[arg-type]
    with pytest.raises(flashloom.Error, match="memory=much"):
        LiveDrive(experiment(), memory="much")
    with pytest.raises(ValueError, match="memory"):
        LiveDrive(experiment(), memory=0)
    with pytest.raises(flashloom.Error, match="no-folder"):
        LiveDrive(experiment(), log=tmp_path / "no-folder" / "log.csv")
    with pytest.raises(ConfigError, match="timed"):
        LiveDrive(experiment(run__timing="counting"))
    with pytest.raises(flashloom.InputError, match="image"):
        (tmp_path / "image").write_text("no image")
        LiveDrive(experiment(), image=tmp_path / "image")


def test_a_worn_out_drive_fails_what_would_change_it() -> None:
    with LiveDrive(experiment(device__program_failures=0.02, buffer__capacity="0B")) as drive:
        with pytest.raises(DriveError, match="the drive has failed the command") as failed:
            for turn in range(100_000):
                drive.write(turn * 4096 % drive.size, bytes(4096))
        assert failed.value.status in ("end_of_life", "read_only")
        with pytest.raises(DriveError) as failed:
            drive.write(0, bytes(512))
        assert failed.value.status == "read_only"
        drive.read(0, 512)
        assert drive.end().end_of_life is not None


class Breaks(Collection):
    """Raises when it is first asked."""

    name = "breaks"

    def closed(self, block: int, valid: int) -> None:
        pass

    def invalidated(self, block: int, valid: int) -> None:
        pass

    def withdraw(self, block: int) -> None:
        pass

    def victim(self, plane: int) -> int:
        raise LookupError("nothing is good enough")


class Wrong(Breaks):
    """Has an answer that is none."""

    name = "wrong"

    def victim(self, plane: int) -> int:
        return -1


class Meddles(Breaks):
    """Uses the drive that it is a policy of."""

    name = "meddles"
    drive: LiveDrive

    def victim(self, plane: int) -> int:
        self.drive.flush()
        return -1


def test_a_policy_cannot_use_the_drive_that_calls_it() -> None:
    Meddles.drive = LiveDrive(experiment((Meddles,), ftl__gc="meddles", run__precondition="none"))
    with pytest.raises(EngineError, match="a live drive is used by a policy"):
        for turn in range(100_000):
            Meddles.drive.write(turn * 7 * 4096 % Meddles.drive.size, bytes(4096))


@pytest.mark.parametrize(("policy", "error"), [(Breaks, LookupError), (Wrong, PolicyError)])
def test_what_a_policy_raises_comes_out_of_the_call_and_closes_the_drive(
    policy: type[Policy], error: type[Exception]
) -> None:
    drive = LiveDrive(experiment((policy,), ftl__gc=policy.name, run__precondition="none"))
    with pytest.raises(error):
        for turn in range(100_000):
            drive.write(turn * 7 * 4096 % drive.size, bytes(4096))
    with pytest.raises(ClosedError):
        drive.flush()
    with pytest.raises(error):
        LiveDrive(experiment((policy,), ftl__gc=policy.name, run__precondition="steady"))


def test_threads_share_a_drive_with_a_policy_in_python() -> None:
    policy, keys = python_policies()["an order"]
    with LiveDrive(experiment((policy,), **keys)) as drive:
        share = drive.size // 6 // 4096 * 4096
        held: dict[int, bytearray] = {}

        def work(number: int) -> None:
            held[number] = use(drive, 150, number, number * share, (number + 1) * share)

        threads = [threading.Thread(target=work, args=[number]) for number in range(6)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            drive.result()
            time.sleep(0.001)
        for number in range(6):
            assert drive.read(number * share, share) == held[number]
        assert drive.end().host.requests > 6 * 150


ENDING = """
import sys, threading, time
sys.path.insert(0, sys.argv[1])
from test_live import LiveDrive, example, experiment, use
drive = LiveDrive(experiment((example("greedy").Greedy,), ftl__gc="py-greedy"))
for number in range(3):
    threading.Thread(target=use, args=[drive, 1_000_000, number], daemon=True).start()
time.sleep(0.3)
"""


def test_python_ends_while_threads_use_a_drive() -> None:
    folder = str(Path(__file__).parent)
    ended = subprocess.run([sys.executable, "-c", ENDING, folder], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0 and "Fatal" not in ended.stderr, ended.stderr


CLIENT = """
import nbd, random
random.seed(7)
h = nbd.NBD()
h.connect_uri("nbd+unix:///?socket=drive.sock")
size = h.get_size()
assert h.can_fua() and h.can_flush() and h.can_trim() and h.can_zero() and h.can_multi_conn()
assert h.get_block_size(nbd.SIZE_MINIMUM) == 512
data = bytearray(size)
for turn in range(300):
    count = 512 * random.randrange(1, 65)
    offset = 512 * random.randrange((size - count) // 512 + 1)
    if turn % 10 == 9:
        h.zero(count, offset)
        data[offset : offset + count] = bytes(count)
    else:
        written = random.randbytes(count)
        h.pwrite(written, offset, nbd.CMD_FLAG_FUA if turn % 7 == 0 else 0)
        data[offset : offset + count] = written
    offset = 512 * random.randrange((size - count) // 512 + 1)
    assert h.pread(count, offset) == data[offset : offset + count], turn
h.flush()
h.trim(4096, 8192)
data[8192 : 8192 + 4096] = bytes(4096)
assert b"".join(h.pread(min(1 << 16, size - offset), offset) for offset in range(0, size, 1 << 16)) == data
h.set_strict_mode(h.get_strict_mode() & ~nbd.STRICT_ALIGN)
try:
    h.pread(100, 0)
    raise SystemExit("a part of a sector was read")
except nbd.Error:
    pass
h.shutdown()
"""


@pytest.fixture
def nbdkit() -> str:
    """nbdkit, with its plugin for scripts in Python and the client that the test is."""
    found = shutil.which("nbdkit", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/bin"]))
    if found is None:
        pytest.skip("nbdkit is not installed: Debian's package nbdkit")
    if subprocess.run([found, "--dump-plugin", "python"], capture_output=True).returncode:
        pytest.skip("nbdkit cannot run Python: Debian's package nbdkit-plugin-python")
    if subprocess.run(["/usr/bin/python3", "-c", "import nbd"], capture_output=True).returncode:
        pytest.skip("libnbd's module is not installed: Debian's package python3-libnbd")
    return found


def test_nbdkit_serves_a_drive_with_a_policy_in_python(nbdkit: str, tmp_path: Path) -> None:
    (tmp_path / "drive.toml").write_text(experiment().to_toml())
    place = Path(flashloom.__file__).parents[1]
    script = ["python", str(EXAMPLES / "live_drive.py"), "experiment=drive.toml", "result=result.json", "log=log.csv"]
    server = subprocess.Popen(
        [nbdkit, "--foreground", "--unix", "drive.sock", *script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(place)},
        stderr=subprocess.PIPE,
        text=True,
    )
    socket = tmp_path / "drive.sock"
    try:
        until = time.monotonic() + 60
        while not socket.exists() and server.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        client = subprocess.run(
            ["/usr/bin/python3", "-c", CLIENT], cwd=tmp_path, capture_output=True, text=True, timeout=120
        )
    finally:
        server.send_signal(signal.SIGTERM)
        _, said = server.communicate(timeout=60)
    assert client.returncode == 0, client.stderr + said
    assert server.returncode == 0 and said.count("EngineError: 100 bytes from byte 0 on") == 1, said
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["config"]["ftl"]["gc"] == "py-greedy" and result["ftl"]["page_copies"] > 0
    rows = (tmp_path / "log.csv").read_text().splitlines()
    assert len(rows) - 1 == result["host"]["requests"] > 600
