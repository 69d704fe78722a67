"""Tuning: values of keys that make some figures good, searched by Optuna, the study kept in a file of SQLite."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._jobs import Progress, showing
from ._task import Outcome, Task, count, run, task_of
from .dataset import only_process
from .errors import ConfigError, Error, InputError
from .executors import SerialExecutor
from .experiment import Experiment, ProgressOption
from .result import Result
from .spaces import Choice, Dimension, Space, dimensions
from .tables import library

if TYPE_CHECKING:
    import optuna

__all__ = ["Objective", "StudyError", "tune"]

_NAME = "flashloom"
# Attributes of a study and of its trials.
_OF = "flashloom.study"
_VALUES = "flashloom.values"
_ERROR = "flashloom.error"
_LOST = "flashloom.lost"


class StudyError(Error):
    """A study that cannot go on: it is of another experiment, space or objective."""


@dataclass(frozen=True)
class Objective:
    """What a study makes small, or large.

    `figure`: path of a figure of the result, such as `host.latency_ns.all.p99_9`, or a function of the `Result`.
    """

    figure: str | Callable[[Result], float]
    direction: str = "minimize"
    """`minimize` or `maximize`."""

    def __post_init__(self) -> None:
        if self.direction not in ("minimize", "maximize"):
            raise ValueError(f"the direction of an objective is `minimize` or `maximize`, not {self.direction!r}")
        if not isinstance(self.figure, str) and not callable(self.figure):
            raise TypeError(f"an objective is the path of a figure or a function of the result, not {self.figure!r}")

    @property
    def name(self) -> str:
        """The path of the figure, or the name of the function."""
        return self.figure if isinstance(self.figure, str) else getattr(self.figure, "__qualname__", repr(self.figure))

    def of(self, result: Result) -> float:
        """Its value for a result."""
        value = result[self.figure] if isinstance(self.figure, str) else self.figure(result)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
            raise ValueError(f"the objective `{self.name}` is {value!r}, not a number")
        return float(value)


@dataclass(frozen=True)
class _Measure:
    """The objectives of a result."""

    objectives: tuple[Objective, ...]

    def __call__(self, result: Result) -> list[float]:
        return [objective.of(result) for objective in self.objectives]


def tune(
    experiment: Experiment,
    space: Space,
    objectives: str | Callable[[Result], float] | Objective | Sequence[str | Callable[[Result], float] | Objective],
    *,
    study: str | os.PathLike[str],
    trials: int,
    seeds: int = 1,
    sampler: Callable[..., Any] | str = "tpe",
    seed: int = 0,
    pruner: Any = None,
    executor: Executor | None = None,
    in_flight: int = 1,
    verify: bool = False,
    progress: ProgressOption = None,
) -> optuna.Study:
    """Searches a space for values whose runs are best, and returns Optuna's study.

    `space`: by key a `Range`, a `Choice` or values. `objectives`: the paths of figures or functions of the `Result`, to
    be small; an `Objective` to be large. With several there is no best trial but a front: `study.best_trials`.
    `study`: a file of SQLite; the same call goes on with it until there are `trials` in all. `seeds`: runs of a trial,
    from `run.seed` on, whose mean counts; with a `pruner` and one objective, a trial may end after some of them.
    `sampler`: `tpe`, `nsga2`, `random`, or what makes a sampler from `seed=`. `executor`: this thread if it is `None`;
    `in_flight` trials at a time.

    With one trial at a time the same call gives the same trials, whether it was interrupted or not: each trial has a
    sampler of its own, seeded by `seed` and the number of those before it. A trial whose values cannot work together,
    or whose run fails, is told to the study as failed; `trial.user_attrs["flashloom.error"]` says why, and
    `["flashloom.values"]` has the values with their units.

    Raises `ConfigError` for a key that is wrong or a figure that no result has, `StudyError` for a study of something
    else, `BusyError` if another process has it, `MissingLibraryError` without Optuna: the extra `flashloom[tune]` has
    it.

    >>> goals = ["host.latency_ns.all.p99_9", "ftl.block_erases"]
    >>> tune(experiment, space, goals, study="tail.db", trials=60).best_trials  # doctest: +SKIP
    """
    optuna_ = library("optuna", "tune")
    listed = [objectives] if isinstance(objectives, (str, Objective)) or callable(objectives) else list(objectives)
    goals = tuple(one if isinstance(one, Objective) else Objective(one) for one in listed)
    if not goals:
        raise ValueError("a study has at least one objective")
    if pruner is not None and len(goals) > 1:
        raise ValueError("only a study with one objective prunes trials")
    axes = dimensions(space)
    _check_ends(experiment, axes)
    _check_figures(experiment, goals)
    wanted, repeats = count("trials", trials, 1_000_000), count("seeds", seeds, 1_000)
    room = count("in_flight", in_flight, 10_000)
    path = Path(study).absolute()
    if "?" in str(path):
        raise ValueError(f"Optuna ends the name of a study's file at a `?`: {path}")
    path.parent.mkdir(parents=True, exist_ok=True)
    known = _description(experiment, axes, goals, repeats, bool(verify))
    with only_process(path.with_name(f".{path.name}.lock"), f"the study {path}"):
        opened = _opened(optuna_, path, [goal.direction for goal in goals], known, pruner)
        _give_up_lost(optuna_, opened, axes)
        samplers = _Samplers(optuna_, sampler, seed)
        search = _Search(optuna_, opened, samplers, experiment, axes, _Measure(goals), repeats, bool(verify))
        with showing(progress) as show:
            search.go(executor or SerialExecutor(), wanted, room, show)
    return opened


def _check_ends(experiment: Experiment, axes: Mapping[str, Dimension]) -> None:
    """Checks the values of a choice and the ends of a range, each alone."""
    variant = experiment.copy()
    for path, axis in axes.items():
        values = axis.options if isinstance(axis, Choice) else [axis.value(bound) for bound in axis.bounds]
        for value in values:
            variant._set(path, value)


def _check_figures(experiment: Experiment, goals: Sequence[Objective]) -> None:
    """Checks that a result may have the figures: else every trial would fail for want of one."""
    for goal in goals:
        if isinstance(goal.figure, str):
            experiment.explain(f"result.{goal.figure}")


def _description(
    experiment: Experiment, axes: Mapping[str, Dimension], goals: Sequence[Objective], seeds: int, verify: bool
) -> str:
    """What a study is of, as a hash."""
    run = task_of(experiment, {}, verify=verify).id
    goal = [(one.name, one.direction) for one in goals]
    text = json.dumps([run, {path: repr(axis) for path, axis in axes.items()}, goal, seeds], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _opened(optuna_: Any, path: Path, directions: list[str], known: str, pruner: Any) -> optuna.Study:
    """A study that is there, or a new one."""
    optuna_.logging.set_verbosity(optuna_.logging.WARNING)
    storage = f"sqlite:///{path}"
    try:
        study: optuna.Study = optuna_.create_study(
            storage=storage,
            study_name=_NAME,
            directions=directions,
            load_if_exists=True,
            pruner=pruner or optuna_.pruners.NopPruner(),
        )
    except Exception as error:
        # What is wrong with a file has many classes, of SQLAlchemy and of Optuna.
        raise InputError(f"{path}: is no study: {error}") from error
    if study.user_attrs.get(_OF, known) != known:
        raise StudyError(f"{path} is a study of another experiment, space, objective, or version")
    study.set_user_attr(_OF, known)
    return study


def _give_up_lost(optuna_: Any, study: optuna.Study, axes: Mapping[str, Dimension]) -> None:
    """Has trials that a crash ended run again, with their values."""
    running = optuna_.trial.TrialState.RUNNING
    for lost in study.get_trials(deepcopy=False, states=(running,)):
        if _ERROR not in lost.user_attrs and lost.params.keys() == axes.keys():
            study.enqueue_trial(lost.params, user_attrs={_LOST: lost.number})
        study.tell(lost.number, state=optuna_.trial.TrialState.FAIL)


class _Samplers:
    """Samplers, one for each trial."""

    def __init__(self, optuna_: Any, kind: Callable[..., Any] | str, seed: int) -> None:
        named = {
            "tpe": optuna_.samplers.TPESampler,
            "nsga2": optuna_.samplers.NSGAIISampler,
            "random": optuna_.samplers.RandomSampler,
        }
        if isinstance(kind, str) and kind not in named:
            raise ValueError(f"a sampler is one of {', '.join(named)}, or what makes one from `seed=`, not {kind!r}")
        self._make: Callable[..., Any] = named[kind] if isinstance(kind, str) else kind
        self._seed = seed

    def at(self, number: int) -> Any:
        """The sampler of a trial, by the number of trials before it."""
        digest = hashlib.sha256(f"{self._seed}/{number}".encode()).digest()
        return self._make(seed=int.from_bytes(digest[:4], "little"))


class _Search:
    """Trials, asked of a study and told to it."""

    def __init__(
        self,
        optuna_: Any,
        study: optuna.Study,
        samplers: _Samplers,
        experiment: Experiment,
        axes: Mapping[str, Dimension],
        measure: _Measure,
        seeds: int,
        verify: bool,
    ) -> None:
        self._optuna, self._study, self._samplers = optuna_, study, samplers
        self._experiment, self._axes, self._measure = experiment, axes, measure
        self._seeds, self._verify = seeds, verify
        self._running: dict[Future[Outcome], _Trial] = {}

    def go(self, executor: Executor, wanted: int, in_flight: int, show: Any) -> None:
        try:
            while True:
                told = self._told()
                if show is not None:
                    show(Progress(min(told / wanted, 1.0), 0, 0, told, wanted))
                while len(self._running) < in_flight and told + len(self._running) < wanted:
                    told += self._begin(executor, told + len(self._running))
                if not self._running:
                    return
                for future in wait(self._running, None, FIRST_COMPLETED)[0]:
                    self._follow(executor, self._running.pop(future), future)
        except BaseException:
            for future in self._running:
                future.cancel()
            raise

    def _told(self) -> int:
        """Trials that have ended, but for those that a crash ended."""
        failed = self._optuna.trial.TrialState.FAIL
        ended = (one for one in self._study.get_trials(deepcopy=False) if one.state.is_finished())
        return sum(one.state != failed or _ERROR in one.user_attrs for one in ended)

    def _begin(self, executor: Executor, number: int) -> int:
        """Asks for a trial and submits its first run; 1 if it has failed at once."""
        self._study.sampler = self._samplers.at(number)
        trial = self._study.ask()
        point = {path: _suggested(trial, path, axis) for path, axis in self._axes.items()}
        first = task_of(self._experiment, point, verify=self._verify)
        trial.set_user_attr(_VALUES, dict(first.values))
        if first.failure:
            self._fail(trial, f"{first.failure.type}: {first.failure.message}")
            return 1
        self._submit(executor, _Trial(trial, point, first.seed, []), first)
        return 0

    def _submit(self, executor: Executor, trial: _Trial, task: Task) -> None:
        functions = [one.figure for one in self._measure.objectives]
        self._running[executor.submit(run, task.packed(self._measure, *functions))] = trial

    def _follow(self, executor: Executor, trial: _Trial, future: Future[Outcome]) -> None:
        """What comes after a run: another seed, or the trial's end."""
        outcome = future.result()
        if outcome.failure:
            return self._fail(trial.trial, f"{outcome.failure.type}: {outcome.failure.message}")
        trial.values.append(outcome.measured)
        means = [sum(values) / len(values) for values in zip(*trial.values)]
        if len(means) == 1:
            trial.trial.report(means[0], len(trial.values))
        if len(trial.values) == self._seeds:
            self._study.tell(trial.trial, means)
        elif len(means) == 1 and trial.trial.should_prune():
            self._study.tell(trial.trial, state=self._optuna.trial.TrialState.PRUNED)
        else:
            point = {**trial.point, "run.seed": trial.seed + len(trial.values)}
            self._submit(executor, trial, task_of(self._experiment, point, verify=self._verify))
        return None

    def _fail(self, trial: Any, error: str) -> None:
        trial.set_user_attr(_ERROR, error)
        self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)


@dataclass
class _Trial:
    """A trial whose runs go on: its values, first seed, and the objectives of each run that has ended."""

    trial: Any
    point: dict[str, Any]
    seed: int
    values: list[list[float]]


def _suggested(trial: Any, path: str, axis: Dimension) -> Any:
    """The value of a key in a trial."""
    if isinstance(axis, Choice):
        return trial.suggest_categorical(path, list(axis.options))
    low, high = axis.bounds
    if axis.is_whole:
        high -= (high - low) % axis.step
        return axis.value(trial.suggest_int(path, low, high, step=axis.step, log=axis.log))
    return axis.value(trial.suggest_float(path, low, high, log=axis.log))
