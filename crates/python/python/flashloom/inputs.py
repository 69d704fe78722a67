"""Input files of runs on any machine: by path, by URL, or by the hash of their content.

```text
recording.csv                            a file; with a relative path, from the folder of the experiment
s3://bucket/recording.csv                what fsspec opens; downloaded into the cache of each machine
URL#sha256=HEX, PATH#sha256=HEX          the same, refused if the content is another one
sha256:HEX                               what the cache has under that hash
```

The cache is the folder `inputs` in `$FLASHLOOM_CACHE` or the user's cache folder. A run is known by the content of its
inputs, not by their place: the same recording elsewhere makes the same run.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import stat
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from . import _flashloom
from .errors import InputError
from .tables import library

__all__ = ["INPUT_KEYS", "Input", "cache_folder", "input_of", "located"]

INPUT_KEYS = ("workload.path", "run.state")
"""Keys that name an input file."""

_PIN = "#sha256="
_HASH = "sha256:"
_CHUNK = 1 << 20
_ENDING = re.compile(r"\.[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Input:
    """An input file, by its content, and where it was found."""

    sha256: str
    """Hash of the content, in hexadecimal; of a recording in several files, of their names and hashes."""
    place: str
    """Path or URL."""

    @property
    def name(self) -> str:
        """What stands for the input in a data set: its hash."""
        return _HASH + self.sha256


def cache_folder() -> Path | None:
    """The folder of aged drives and inputs that are kept, the program's; `None` if it is turned off."""
    if (named := os.environ.get("FLASHLOOM_CACHE")) is not None:
        return Path(named).absolute() if named else None
    if sys.platform == "win32":
        places = [os.environ.get("LOCALAPPDATA", "")]
    elif sys.platform == "darwin":
        places = [os.path.join(os.environ.get("HOME", ""), "Library/Caches")]
    else:
        places = [os.environ.get("XDG_CACHE_HOME", ""), os.path.join(os.environ.get("HOME", ""), ".cache")]
    return next((Path(place, "flashloom") for place in places if os.path.isabs(place)), None)


def input_of(written: str, folder: str) -> Input:
    """The input that a configuration names. Raises `InputError` if it cannot be had, or is another than it says."""
    place, _, pinned = written.partition(_PIN)
    if place.startswith(_HASH):
        wanted = Input(_sha256(place.removeprefix(_HASH)), place)
        located(wanted)
        return wanted
    pinned = pinned and _sha256(pinned)
    if not _is_url(place):
        place = os.path.abspath(os.path.join(folder, place))
        return Input(_checked(place, _hash_of(place), pinned), place)
    if pinned and _kept(pinned):
        return Input(pinned, place)
    return Input(_download(place, pinned), place)


def located(wanted: Input) -> str:
    """The path of an input on this machine. Raises `InputError` if it cannot be had, or has another content."""
    if kept := _kept(wanted.sha256):
        return kept
    if _is_url(wanted.place):
        _download(wanted.place, wanted.sha256)
        return _kept(wanted.sha256) or wanted.place
    if wanted.place.startswith(_HASH):
        raise InputError(f"{wanted.place}: the cache of this machine has no such content, {_inputs()}")
    _checked(wanted.place, _hash_of(wanted.place), wanted.sha256)
    return wanted.place


def _sha256(text: str) -> str:
    if len(text) != 64 or not all(digit in "0123456789abcdef" for digit in text.lower()):
        raise InputError(f"`{text}` is no SHA-256: 64 hexadecimal digits")
    return text.lower()


def _checked(place: str, found: str, wanted: str) -> str:
    if wanted and found != wanted:
        raise InputError(f"{place}: its content has the hash {found}, not {wanted}")
    return found


def _is_url(place: str) -> bool:
    # A drive of Windows is no scheme.
    return "://" in place and len(urlsplit(place).scheme) > 1


def _inputs() -> Path:
    """The folder of inputs, created if it does not exist; one in the folder of temporary files if the cache is off."""
    if (folder := cache_folder()) is not None:
        why = _own_folder(folder) or _own_folder(folder / "inputs")
        if why is None:
            return folder / "inputs"
        warnings.warn(f"the cache {folder} is not used: {why}", stacklevel=2)
    user = f"-{os.getuid()}" if os.name == "posix" else ""
    folder = Path(tempfile.gettempdir(), f"flashloom{user}")
    if why := _own_folder(folder) or _own_folder(folder / "inputs"):
        raise InputError(f"{folder}: inputs cannot be kept there: {why}; FLASHLOOM_CACHE names another folder")
    return folder / "inputs"


def _own_folder(folder: Path) -> str | None:
    """Creates a folder for the user alone, unless it exists. The reason why it is not the user's own, if it is not."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        link, state = folder.lstat(), folder.stat()
    except OSError as error:
        return error.strerror or str(error)
    if os.name != "posix":
        return None
    if stat.S_ISLNK(link.st_mode) and link.st_uid not in (0, os.geteuid()):
        return "it is a link of another user"
    if state.st_uid != os.geteuid():
        return f"it belongs to another user (uid {state.st_uid})"
    if state.st_mode & 0o022:
        return f"other users may write to it (mode {state.st_mode & 0o7777:o}; `chmod go-w` mends it)"
    return None


_IN_USE: dict[str, BinaryIO] = {}
"""Files of the cache that this process uses, by path, open and locked."""


def _kept(sha256: str) -> str | None:
    """The file of the cache with a content; its ending is that of the input, for some formats are told by it.

    One with another content, or which others may have written, is removed.
    """
    for path in sorted(_inputs().glob(f"{sha256}*")):
        if not re.fullmatch(rf"{sha256}(\.[A-Za-z0-9._-]*)?", path.name):
            continue
        if _is_sound(path, sha256):
            return str(path)
        _let_go(path)
        path.unlink(missing_ok=True)
    return None


def _is_sound(path: Path, sha256: str) -> bool:
    """True for an ordinary file of the user with a content, which is then locked."""
    try:
        state = path.lstat()
        mine = os.name != "posix" or (state.st_uid == os.geteuid() and not state.st_mode & 0o022)
        if not stat.S_ISREG(state.st_mode) or not mine:
            return False
        return _hold(path) and _file_hash(str(path)) == sha256
    except (OSError, InputError):
        return False


def _hold(path: Path) -> bool:
    """Locks a file against removal and marks it as used, once in a process. False if it was removed meanwhile."""
    if str(path) in _IN_USE:
        # Another process may have removed all files by hand, and put this one back.
        if os.path.samestat(os.fstat(_IN_USE[str(path)].fileno()), path.lstat()):
            return True
        _let_go(path)
    file = open(path, "rb")
    if not _locked(file, alone=False) or not os.path.samestat(os.fstat(file.fileno()), path.lstat()):
        file.close()
        return False
    os.utime(path, ns=(time.time_ns(), path.lstat().st_mtime_ns))
    _IN_USE[str(path)] = file
    return True


def _let_go(path: Path) -> None:
    if file := _IN_USE.pop(str(path), None):
        file.close()


def _locked(file: BinaryIO, *, alone: bool) -> bool:
    """Locks a file until it is closed; true where there are no locks. False if another process has it alone."""
    if os.name == "posix":
        import fcntl

        try:
            fcntl.flock(file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            pass  # A file system without locks.
    return True


def _download(url: str, wanted: str) -> str:
    """Keeps the content of a URL in the cache, and returns its hash."""
    opened = library("fsspec", "sweep").open
    folder = _inputs()
    copy, partial = _partial(folder)
    try:
        with copy:
            try:
                with opened(url, "rb") as source:
                    sha256 = _digest(source, copy)
                copy.flush()
            except (OSError, ValueError, ImportError) as error:
                raise InputError(f"{url}: cannot be read: {error}") from error
            _checked(url, sha256, wanted)
            endings = [ending for ending in Path(urlsplit(url).path).suffixes if _ENDING.fullmatch(ending)]
            path = folder / f"{sha256}{''.join(endings)}"
            if os.name == "posix":
                # Before it is closed, and the lock goes.
                os.replace(partial, path)
        if os.name != "posix":
            os.replace(partial, path)
    finally:
        Path(partial).unlink(missing_ok=True)
    _flashloom.trim_cache(str(folder.parent), str(path))
    return sha256


def _partial(folder: Path) -> tuple[BinaryIO, str]:
    """A new file under a name that says that it is not complete, locked as long as it is written."""
    while True:
        handle, path = tempfile.mkstemp(prefix=".flashloom-", suffix=".partial", dir=folder)
        file = os.fdopen(handle, "wb")
        # Another process may come between, and take it for a leftover.
        if _locked(file, alone=True) and os.path.exists(path):
            return file, path
        file.close()


def _hash_of(path: str) -> str:
    """Hash of a file, or of the files that a recording by blktrace has for each processor."""
    if os.path.isfile(path):
        return _file_hash(path)
    files = sorted(glob.glob(f"{glob.escape(path)}.blktrace.*"))
    if not files:
        raise InputError(f"{path}: {'is no file' if os.path.exists(path) else 'does not exist'}")
    parts = (f"{os.path.basename(file)} {_file_hash(file)}\n" for file in files)
    return hashlib.sha256("".join(parts).encode()).hexdigest()


def _file_hash(path: str) -> str:
    try:
        state = os.stat(path)
        return _known_hash(path, state.st_size, state.st_mtime_ns)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


@cache
def _known_hash(path: str, _size: int, _mtime_ns: int) -> str:
    """Hash of a file, which is read once as long as it does not change."""
    with open(path, "rb") as file:
        return _digest(file)


def _digest(source: BinaryIO, copy: BinaryIO | None = None) -> str:
    digest = hashlib.sha256()
    while chunk := source.read(_CHUNK):
        digest.update(chunk)
        if copy is not None:
            copy.write(chunk)
    return digest.hexdigest()
