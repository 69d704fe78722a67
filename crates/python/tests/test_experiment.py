"""Experiments: where they come from, their keys as attributes, and what is refused."""

from __future__ import annotations

import copy
import os
import pickle
import warnings
from pathlib import Path

import flashloom
import pytest
from flashloom import ConfigError, Experiment, UnknownKeyError

from conftest import ROOT, SMALL


def test_file_text_and_dict_are_one_experiment(tmp_path: Path) -> None:
    text = "workload.synthetic.requests = 500\ndevice.blocks = 64\n"
    path = tmp_path / "a.toml"
    path.write_text(text)
    of_dict = Experiment.from_dict({"workload": {"synthetic": {"requests": 500}}, "device.blocks": 64})
    assert Experiment(path) == Experiment.from_file(str(path)) == Experiment.from_text(text) == of_dict
    assert Experiment(path, set={"device.blocks": 128}) != of_dict


def test_every_checked_in_experiment_reads_back() -> None:
    paths = sorted((ROOT / "experiments").glob("*.toml"))
    assert paths
    for path in paths[:12]:
        try:
            experiment = Experiment(path)
        except flashloom.ConfigError as error:  # One that names a file which is not here.
            assert "vary" in str(error) or "file" in str(error), path
            continue
        assert Experiment.from_text(experiment.to_toml()).to_dict() == experiment.to_dict(), path


def test_keys_are_attributes(small: Experiment) -> None:
    assert small.host.scheduler == "noop"
    small.host.scheduler = "deadline"
    small.host.deadline.read_expire = "5ms"
    small.ftl.gc = "greedy"
    small.device = {"over_provisioning": 0.25}
    assert (small.host.scheduler, small.host.deadline.read_expire) == ("deadline", "5ms")
    assert small.device.over_provisioning == 0.25
    assert small.run().config.host.deadline.read_expire == "5ms"
    del small.host.scheduler
    assert small.host.scheduler == "noop"


def test_a_key_that_is_not_written_has_its_default_and_a_preset_its_figures() -> None:
    experiment = Experiment.from_dict({"device.preset": "mlc-16g"})
    assert experiment.host.deadline.read_expire == "500ms"
    assert experiment.device.program_time == experiment.to_dict()["device"]["program_time"]


def test_a_section_has_paths_and_is_set_as_a_whole_or_not_at_all(small: Experiment) -> None:
    small.host["deadline.read_expire"] = "7ms"
    assert small.host["deadline.read_expire"] == small.host.deadline.read_expire == "7ms"
    depth = small.host.queue_depth
    with pytest.raises(ConfigError):
        small.host = {"queue_depth": 9, "nothing": 1}
    assert small.host.queue_depth == depth


def test_a_pipe_is_refused_and_nothing_waits_for_its_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="this is a pipe"):
        Experiment(tmp_path / "pipe")


def test_completion_knows_sections_keys_and_tables(small: Experiment) -> None:
    assert {"host", "ftl", "run", "compare", "to_toml"} <= set(dir(small))
    assert {"scheduler", "queue_depth", "deadline"} <= set(dir(small.host))
    assert "read_expire" in dir(small.host.deadline)
    assert "seed" in dir(small.run)


def test_a_wrong_value_is_refused_at_once_and_says_what_is_right(small: Experiment) -> None:
    with pytest.raises(ConfigError) as refused:
        small.host.scheduler = "nop"
    [problem] = refused.value.problems
    assert (problem.file, problem.line, problem.column) == ("set", 1, 16)
    assert "nop" in problem.found and "deadline" in problem.expected and "`noop`" in (problem.help or "")
    assert str(refused.value) == problem.text
    assert small.host.scheduler == "noop"


def test_an_unknown_key_is_an_attribute_error_that_suggests(small: Experiment) -> None:
    with pytest.raises(UnknownKeyError, match="did you mean"):
        small.host.schedular = "noop"
    with pytest.raises(AttributeError):
        small.host.schedular  # noqa: B018
    assert not hasattr(small.ftl, "nothing")


def test_every_problem_of_a_file_comes_with_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text('host.queue_depth = "many"\n\n[ftl]\ngc = "gredy"\n')
    with pytest.raises(ConfigError) as refused:
        Experiment(path)
    places = [(problem.file, problem.line, problem.column) for problem in refused.value.problems]
    assert places == [(str(path), 1, 20), (str(path), 4, 6)]
    assert f"{path}:4:6" in str(refused.value)


def test_what_does_not_go_together_is_refused_before_a_run(small: Experiment) -> None:
    small.workload.kind = "trace"
    with pytest.raises(ConfigError, match="path"):
        small.validate()
    with pytest.raises(ConfigError):
        small.run()


def test_a_key_without_effect_is_warned_of_where_it_was_written(small: Experiment) -> None:
    small.ftl.dftl.cache = "64KiB"
    with pytest.warns(flashloom.UnusedKeyWarning, match="ftl.dftl.cache"):
        small.run()


def test_copies_are_apart(small: Experiment) -> None:
    for other in (small.copy(), copy.copy(small), copy.deepcopy(small), pickle.loads(pickle.dumps(small))):
        assert other == small
        other.host.queue_depth = 3
        assert other != small and small.host.queue_depth != 3


def test_to_toml_reads_back_to_the_same_run(small: Experiment) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Defaults without effect are comments.
        again = Experiment.from_text(small.to_toml())
        assert again.run().host == small.run().host


def test_keys_by_path_and_sections_as_a_whole(small: Experiment) -> None:
    small.host["deadline.read_expire"] = "5ms"
    assert small.host["deadline.read_expire"] == small.host.deadline.read_expire == "5ms"
    before = small.to_toml()
    with pytest.raises(ConfigError):
        small.host = {"queue_depth": 9, "nope": 1}
    assert small.to_toml() == before


def test_help_and_lists() -> None:
    assert "greedy" in flashloom.explain("ftl.gc")
    assert repr(flashloom.explain("ftl.gc")) == flashloom.explain("ftl.gc")
    assert "Write amplification" in Experiment.from_dict(SMALL).explain("result.ftl.waf")
    policies = flashloom.list_policies()
    assert "deadline" in flashloom.list_policies("schedulers") and "schedulers" in policies
    assert "mlc-16g" in flashloom.presets
    with pytest.raises(ConfigError, match="did you mean"):
        flashloom.explain("ftl.gcc")


def test_values_of_numpy_and_paths_are_taken(small: Experiment, recording: Path) -> None:
    numpy = pytest.importorskip("numpy")
    small.host.queue_depth = numpy.int64(7)
    small.workload.synthetic.read_share = numpy.float64(0.25)
    small.host.merging = numpy.bool_(False)
    assert (small.host.queue_depth, small.host.merging) == (7, False)
    small.workload.kind = "trace"
    small.workload.path = recording
    small.workload.addresses = "wrap"
    assert small.run().host.requests == 1000
