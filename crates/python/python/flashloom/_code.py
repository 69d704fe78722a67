"""The code of policies, as what a run is known by: a policy that does something else makes other runs."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from .policy.declare import Param, Statistic

__all__ = ["code_of"]


def code_of(policy: type) -> str:
    """Hash of a policy's code, with that of the classes it is derived from: their text, and what no text shows, values
    of a factory's variables and attributes that were set later. Where there is no text, as at a prompt, their compiled
    code, which differs from one version of Python to another."""
    digest = hashlib.sha256()
    for one in policy.__mro__:
        if one.__module__ != "builtins" and one.__module__.partition(".")[0] != __package__:
            for part in _parts(one):
                digest.update(f"{len(part)} {part}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _parts(cls: type) -> Iterator[str]:
    text = _text(cls)
    yield text or cls.__qualname__
    for name, value in sorted(vars(cls).items()):
        if name.startswith("__") and not callable(value):
            continue  # Of Python's own: the module, the first line.
        yield name
        yield from _state(value, text is not None)


def _state(value: Any, has_text: bool) -> Iterator[str]:
    """What an attribute of a class has beside, or without, the text of the class."""
    value = getattr(value, "__func__", value)
    if isinstance(value, property):
        for part in (value.fget, value.fset, value.fdel):
            yield from _state(part, has_text)
    elif isinstance(value, FunctionType):
        if not has_text:
            yield _text(value) or _compiled(value.__code__)
        yield from map(_plain, value.__defaults__ or ())
        for cell in value.__closure__ or ():
            try:
                yield _plain(cell.cell_contents)
            except ValueError:  # A variable without a value.
                yield ""
    elif isinstance(value, (Param, Statistic)):
        yield "".join(f"{name}={_plain(part)};" for name, part in sorted(vars(value).items()))
    else:
        yield _plain(value)


def _text(thing: type | FunctionType) -> str | None:
    try:
        return inspect.getsource(thing)
    except (OSError, TypeError):
        return None


def _plain(value: Any) -> str:
    """A plain value; of anything else the name of its type, for its text may have its address."""
    if isinstance(value, (tuple, list)):
        return f"({','.join(map(_plain, value))})"
    if isinstance(value, (set, frozenset)):
        return f"{{{','.join(sorted(map(_plain, value)))}}}"
    if isinstance(value, CodeType):
        return _compiled(value)
    is_plain = value is None or value is ... or isinstance(value, (bool, int, float, complex, str, bytes))
    return ascii(value) if is_plain else type(value).__qualname__


def _compiled(code: CodeType) -> str:
    return _plain((code.co_code, code.co_consts, code.co_names, code.co_varnames, code.co_freevars))
