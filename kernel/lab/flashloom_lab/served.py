# SPDX-License-Identifier: GPL-2.0
"""Drives that `flashloom serve` serves to a guest, and what they have seen: the result, and the log of requests."""

import csv
import json
import os
import socket
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from .host import KERNEL_DIR, LAB, LabError, LabFailure, find, install, run

EXPERIMENT = LAB / "live.toml"
# Time to age a drive, and time to end a service.
READY, END_S = "; Ctrl-C ends it", 120


class Request(NamedTuple):
    """A request as drive and guest have seen it: R, W, D (a trim) or F (a flush)."""

    op: str
    sector: int
    sectors: int
    fua: bool
    # On the drive's clock; a request of the guest has none.
    arrival_ns: int = 0
    end_ns: int = 0


@dataclass(frozen=True)
class Account:
    """What a drive says at its end."""

    result: dict
    requests: list[Request]


def program() -> Path:
    """The program, built if none is named; its plugin is beside it."""
    if named := os.environ.get("FLASHLOOM"):
        return Path(named).absolute()
    root = KERNEL_DIR.parent
    build = ["cargo", "build", "--quiet", "--locked", "--release", "-p", "flashloom-cli", "-p", "flashloom-nbdkit"]
    try:
        run(build, cwd=root)
    except FileNotFoundError:
        raise LabError("cargo is missing, which builds the program: see the project's README") from None
    return root / "target" / "release" / "flashloom"


def require_server() -> None:
    """Installs nbdkit if it is missing and that is allowed."""
    install([] if find("nbdkit") else ["nbdkit"])


def free_port() -> int:
    """A port of this machine that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def requests_of(log: Path) -> list[Request]:
    """The requests of a log, in order of submission."""
    with open(log, newline="") as file:
        return [
            Request(
                row["op"], int(row["lba"]), int(row["sectors"]), row["fua"] == "1", int(row["timestamp_ns"]),
                int(row["timestamp_ns"]) + int(row["latency_ns"]),
            )
            for row in csv.DictReader(file)
        ]  # fmt: skip


class Service:
    """A drive that is served until `end`, on a port of this machine or on a socket.

    Its log, its result and what it says are left in `out`.
    """

    def __init__(self, flashloom: Path, mapping: str, out: Path, port: int | None = None):
        out.mkdir(parents=True, exist_ok=True)
        self.port = port
        self.log, self.json, self.said = (out / name for name in ("log.csv", "result.json", "said"))
        # The path of a socket is short.
        self.folder = tempfile.TemporaryDirectory(prefix="flashloom-lab-")
        self.socket = Path(self.folder.name) / "drive"
        place = ["--tcp", f"127.0.0.1:{port}"] if port else ["--unix", self.socket]
        command = [flashloom, "serve", EXPERIMENT, "--set", f"ftl.mapping={mapping}", *place]
        command += ["--log", self.log, "--json", self.json, "--no-hints"]
        # What it says goes to a file, so that it never waits for a reader.
        with open(self.said, "wb") as said:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)

    def wait_until_ready(self) -> None:
        """Returns when clients may come."""
        while READY not in (said := self.said.read_text(errors="replace")):
            if self.process.poll() is not None:
                self.stop()
                raise LabError(f"flashloom serve ended with status {self.process.returncode}:\n{said}")
            try:
                self.process.wait(0.05)
            except subprocess.TimeoutExpired:
                pass

    def end(self) -> Account:
        """Ends the service, and returns its account; raises if the drive has failed."""
        try:
            self.process.terminate()
            try:
                status = self.process.wait(END_S)
            except subprocess.TimeoutExpired:
                raise LabFailure(f"flashloom serve does not end within {END_S} s") from None
            if status:
                said = self.said.read_text(errors="replace")
                raise LabFailure(f"flashloom serve ended with status {status}:\n{said}")
            return Account(json.loads(self.json.read_text()), requests_of(self.log))
        finally:
            self.stop()

    def stop(self) -> None:
        """Ends the service at once, if it runs, without an account."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()
