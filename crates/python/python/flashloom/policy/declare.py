"""How a policy is declared: its parameters and statistics as attributes of its class."""

from __future__ import annotations

import inspect
import math
from abc import ABC
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar, overload

from ..errors import Error

if TYPE_CHECKING:
    _Unit = Literal["count", "ns", "bytes", "bytes/s", "ratio"]
    _Need = Literal[
        "task-ids",
        "io-priorities",
        "write-buffer",
        "page-mapping",
        "single-chip",
        "translation-pages",
        "fixed-homes",
    ]

T = TypeVar("T", int, float, bool, str)
N = TypeVar("N", int, float)

_LARGEST = 1 << 62
_UNITS = ("count", "ns", "bytes", "bytes/s", "ratio")
_SUFFIXES = {"ns": "_ns", "bytes": "_bytes", "bytes/s": "_bytes_per_s"}


class PolicyError(Error):
    """A policy that is not sound, or that gave a wrong answer.

    Attributes:
        policy: name of the policy.
        method: the method that gave the answer, or the attribute that is wrong.
        found: what was found.
        expected: what was expected.
    """

    def __init__(self, policy: str, method: str, found: str, expected: str) -> None:
        super().__init__(policy, method, found, expected)
        self.policy = policy
        self.method = method
        self.found = found
        self.expected = expected

    def __str__(self) -> str:
        return f"`{self.method}` of policy `{self.policy}`: found {self.found}; expected {self.expected}"


class Param(Generic[T]):
    """A parameter of a policy: an attribute of its class, whose value in an instance is that of the configuration.

    Its key in a configuration is the attribute's name without the unit: ``max_wait_ns`` is ``max_wait = "5ms"``.

    Args:
        default: value where a configuration does not set it. Its type is the parameter's: int, float, bool or str.
        unit: "count" (the default of an int), "ns", "bytes", "bytes/s", or "ratio" (the default of a float).
        min: least value, inclusive; 0 if it is not given.
        max: greatest value, inclusive; 2**62 if it is not given.
        choices: the valid values of a str; any text if there are none.
        help: one line of help.
        tradeoff: one sentence on what a larger or smaller value costs and brings.

    Raises:
        TypeError: a default or bound of another type.
        ValueError: a default outside its range, or a unit that does not go with it.
    """

    def __init__(
        self,
        default: T,
        *,
        unit: _Unit | None = None,
        min: T | None = None,  # noqa: A002
        max: T | None = None,  # noqa: A002
        choices: Sequence[str] = (),
        help: str = "",  # noqa: A002
        tradeoff: str = "",
    ) -> None:
        if not isinstance(default, (bool, int, float, str)):
            raise TypeError(f"a parameter's default is an int, a float, a bool or a str, not {default!r}")
        if isinstance(choices, str):
            raise TypeError(f"the choices of a parameter are a list of texts, not {choices!r}")
        self.default: T = default
        self.unit: str = unit or ("ratio" if isinstance(default, float) else "count")
        if isinstance(choices, str) or not all(isinstance(choice, str) for choice in choices):
            raise TypeError(f"choices are a list of texts, not {choices!r}")
        self.choices = tuple(choices)
        self.help = help
        self.tradeoff = tradeoff
        self.min: Any = 0 if min is None else min
        self.max: Any = _LARGEST if max is None else max
        self.name = ""
        self._check_unit()
        self.check(default)

    def _check_unit(self) -> None:
        if self.unit not in _UNITS:
            raise ValueError(f"the unit of a parameter is one of {', '.join(_UNITS)}, not {self.unit!r}")
        if isinstance(self.default, float) != (self.unit == "ratio") and not isinstance(self.default, (bool, str)):
            raise ValueError(f"a default of {self.default!r} does not go with the unit {self.unit!r}")
        if self.choices and not isinstance(self.default, str):
            raise ValueError("only a str has choices")
        if isinstance(self.default, (bool, str)):
            return
        for bound in (self.min, self.max):
            if isinstance(bound, bool) or not isinstance(bound, (int, float)) or math.isnan(bound):
                raise TypeError(f"a bound of a parameter is a number, not {bound!r}")
            if self.unit != "ratio" and not (isinstance(bound, int) and 0 <= bound <= _LARGEST):
                raise ValueError(f"a bound of a whole number is an int from 0 to 2**62, not {bound!r}")
        if self.min > self.max:
            raise ValueError(f"the range from {self.min} to {self.max} is empty")

    def check(self, value: object) -> T:
        """Returns a value that the parameter takes.

        Raises:
            TypeError: a value of another type.
            ValueError: a value outside the range, or none of the choices.
        """
        name = self.name or "a parameter"
        kind = type(self.default)
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            raise TypeError(f"{name} is of type {kind.__name__}, not {value!r}")
        if kind is str and self.choices and value not in self.choices:
            raise ValueError(f"{name} is one of {', '.join(self.choices)}, not {value!r}")
        if isinstance(value, (int, float)) and kind is not bool and not self.min <= value <= self.max:
            raise ValueError(f"{name} is from {self.min} to {self.max}, not {value!r}")
        return value

    @property
    def key(self) -> str:
        """The key in a configuration."""
        return self.name.removesuffix(_SUFFIXES.get(self.unit, ""))

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Param[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Param[T] | T:
        return self if instance is None else self.default


class Statistic(Generic[N]):
    """A figure that a policy counts, reported in the result: an attribute of its class, a number in an instance.

    Args:
        start: the value at the start of a run; an int, or a float for a ratio.
        unit: "count", "ns", "bytes" or "ratio".
        help: one line of help.
    """

    def __init__(self, start: N, *, unit: _Unit | None = None, help: str = "") -> None:  # noqa: A002
        if isinstance(start, bool) or not isinstance(start, (int, float)):
            raise TypeError(f"a statistic is a number, not {start!r}")
        self.start: N = start
        self.unit: str = unit or ("ratio" if isinstance(start, float) else "count")
        if self.unit not in ("count", "ns", "bytes", "ratio"):
            raise ValueError(f"the unit of a statistic is one of count, ns, bytes, ratio, not {self.unit!r}")
        self.help = help
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Statistic[N]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> N: ...
    def __get__(self, instance: object | None, owner: type) -> Statistic[N] | N:
        if instance is None:
            return self
        value: N = vars(instance).get(self.name, self.start)
        return value

    def __set__(self, instance: object, value: N) -> None:
        vars(instance)[self.name] = value


class Policy(ABC):
    """A policy of any slot: derive from the class of the slot instead.

    Attributes:
        name: the name in a configuration: lower-case letters, digits, ``-`` and ``_``.
        source: the paper and section that it follows.
        example: keys and values that make a working configuration, as ``--set`` takes them, separated by blanks.
        instead: circumstances in which another policy is the better choice.
        needs: properties that the rest of the stack must have; a configuration without them is refused.
        offers: properties that other policies may need and this one has.
    """

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    example: ClassVar[str] = ""
    instead: ClassVar[str] = ""
    needs: ClassVar[Sequence[_Need]] = ()
    offers: ClassVar[Sequence[_Need]] = ()
    _slot: ClassVar[str] = ""

    def __init__(self, **values: object) -> None:
        params = {param.name: param for param in _declared(type(self), Param)}
        for name, value in values.items():
            if name not in params:
                raise TypeError(f"no parameter of `{type(self).name}` is named `{name}`")
            vars(self)[name] = params[name].check(value)


def _declared(cls: type, kind: type[Any]) -> list[Any]:
    """The parameters or statistics of a class, those of its bases first, in the order in which they are written."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        for name, value in vars(base).items():
            if isinstance(value, kind):
                found[name] = value
            else:
                found.pop(name, None)
    return list(found.values())


def _describe(cls: type[Policy]) -> dict[str, Any]:
    """Everything that the package reads of a policy's class, as plain values."""
    own = cls.__name__
    for field in ("name", "source", "example", "instead"):
        if not isinstance(getattr(cls, field), str):
            raise PolicyError(own, field, repr(getattr(cls, field)), "a str")
    for field in ("needs", "offers"):
        if not isinstance(getattr(cls, field), (tuple, list)):
            raise PolicyError(own, field, repr(getattr(cls, field)), "a tuple of names")
    if not cls.name:
        raise PolicyError(own, "name", "no name", 'one, such as `name = "mine"`')
    if missing := sorted(getattr(cls, "__abstractmethods__", ())):
        raise PolicyError(cls.name or cls.__name__, missing[0], "no such method", "one, as its slot asks")
    text = inspect.cleandoc(cls.__dict__.get("__doc__") or "")
    summary, _, details = text.partition("\n\n")
    slot = next(base for base in cls.__mro__ if "_slot" in vars(base))
    flags = [name for name, value in vars(slot).items() if isinstance(value, bool)]
    for flag in flags:
        if not isinstance(getattr(cls, flag), bool):
            raise PolicyError(cls.name, flag, repr(getattr(cls, flag)), "True or False")
    defines = {name for name, value in vars(slot).items() if callable(value)}
    return {
        "name": cls.name,
        "slot": cls._slot,
        "summary": " ".join(summary.split()).removesuffix("."),
        "details": " ".join(details.split()),
        "source": cls.source,
        "example": cls.example,
        "instead": cls.instead,
        "needs": list(cls.needs),
        "offers": list(cls.offers),
        "params": _declared(cls, Param),
        "statistics": _declared(cls, Statistic),
        "flags": [flag for flag in flags if getattr(cls, flag)],
        "overrides": {name for name in defines if getattr(cls, name) is not vars(slot)[name]},
    }
