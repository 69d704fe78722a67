"""Printing: results and comparisons look as the program prints them, hints included."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import flashloom
import pytest
from flashloom import Comparison, Experiment, Result

from conftest import SMALL

VARY = {"host.scheduler": ["noop", "deadline"]}
# A drive that takes every request at once, so that no scheduler has a choice.
IDLE = {"workload.replay": "closed", "workload.queue_depth": 2, "host.queue_depth": 31}


def printed(program: Path, folder: Path, experiment: Experiment, *options: str) -> str:
    """What the program prints for an experiment: its table, and below that the hints of standard error."""
    path = folder / "experiment.toml"
    path.write_text(experiment.to_toml())
    command = [str(program), *options[:1], str(path), "--no-cache", *options[1:]]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    hints = [line for line in answer.stderr.splitlines() if re.match("hint| {6}The key|$", line)]
    return "\n".join([answer.stdout, *hints]).strip("\n") if hints else answer.stdout.strip("\n")


def lines(text: str) -> list[str]:
    """Lines that are not blank, without what the run cost."""
    return [line for line in text.splitlines() if line and not line.startswith("simulated in")]


def test_a_result_prints_as_the_program_prints_it(program: Path, tmp_path: Path, small: Experiment) -> None:
    result = small.run()
    assert lines(repr(result)) == lines(printed(program, tmp_path, small, "run"))
    assert "\nhint: Fewer than 10 samples lie beyond a percentile" in repr(result)
    assert repr(Result.from_json(result.to_json())) == repr(result)


def test_a_comparison_prints_as_the_program_prints_it(program: Path, tmp_path: Path) -> None:
    small = Experiment.from_dict(SMALL, set=IDLE)
    comparison = small.compare(vary=VARY, seeds=5)
    options = ["compare", "--vary=host.scheduler=noop,deadline", "--seeds=5"]
    assert lines(repr(comparison)) == lines(printed(program, tmp_path, small, *options))
    text = repr(comparison)
    for part in ("read p99", "write p99", " ±", " ~", "means of 5 seeds", "Differences to host.scheduler=noop"):
        assert part in text, part
    assert "hint (all rows): Requests hardly waited in the host, because the drive takes 31 at once" in text
    columns = printed(program, tmp_path, small, *options, "--columns=iops,read.p99_9")
    assert lines(comparison.table("iops", "read.p99_9")) == lines(columns)


def test_columns_are_chosen_before_the_run_and_after_it() -> None:
    small = Experiment.from_dict(SMALL)
    comparison = small.compare(vary=VARY, columns=["waf", "write.max"])
    assert repr(comparison).splitlines()[0].split() == ["scheduler", "WAF", "of", "pages", "write.max"]
    assert comparison.table("usual").split()[:2] == ["scheduler", "requests/s"]
    assert repr(pickle.loads(pickle.dumps(comparison))) == repr(comparison)
    assert repr(Comparison(comparison.to_json())) == comparison.table("usual")
    for wrong in (["wafs"], ["p99"]):
        with pytest.raises(flashloom.ConfigError, match=wrong[0]):
            small.compare(vary=VARY, columns=wrong)
        with pytest.raises(flashloom.ConfigError, match=wrong[0]):
            comparison.table(*wrong)
    with pytest.raises(TypeError, match="a list of str"):
        small.compare(vary=VARY, columns="waf")


def test_a_notebook_shows_the_same_cells_as_tables(small: Experiment) -> None:
    comparison = small.compare(vary=VARY, seeds=2)
    page = comparison._repr_html_()
    assert page.count("<table") == 2 and page.count("<tr>") == 5
    cells = re.findall(r"<t[hd] [^>]*>([^<]*)<", page)
    text = repr(comparison)
    assert all(cell in text for cell in cells) and "write p99" in cells
    assert "hint (all rows)" in page
    shown = small.run()._repr_html_()
    assert shown is not None and "latency" in shown and "<thead><tr><th style" in shown


def test_a_result_of_another_version_prints_its_fields(small: Experiment) -> None:
    text = small.run().to_json().replace('"requests"', '"request_count"')
    assert repr(Result.from_json(text)).startswith("<result: schema, config, host")


HOSTILE = "\x1b]0;own\x07\x9b2J\x7f\u202e\u2066a\u200b\u2028\U000e0041\ud800"
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)


def texts_of(act: Callable[[], object]) -> list[str]:
    """All that is shown of the error that an act raises, or returns."""
    try:
        error = act()
    except flashloom.Error as raised:
        error = raised
    assert isinstance(error, flashloom.Error)
    problems = getattr(error, "problems", ())
    return [str(error), *(text for of in problems for text in (str(of), of.found, of.expected))]


def test_an_exception_shows_what_came_from_a_file(tmp_path: Path) -> None:
    hostile = HOSTILE[:-1]
    recording = tmp_path / "t.csv"
    recording.write_text(f"timestamp_ns,op,lba,sectors,task\n0,{hostile},0,8,1\n")
    experiment = Experiment.from_dict(SMALL)
    acts: tuple[Callable[[], object], ...] = (
        lambda: flashloom.Trace(recording).info(),
        lambda: flashloom.Trace(tmp_path / hostile).info(),
        lambda: Experiment.from_text(f"a = '{hostile}'\n"),
        lambda: Experiment.from_text('["\\u001b\\u202e"]\na = 1\n'),
        lambda: setattr(experiment.host, "scheduler", hostile),
        lambda: flashloom.InputError(f"{tmp_path}/{HOSTILE}: does not exist"),
    )
    for act in acts:
        texts = texts_of(act)
        for text in texts:
            assert not HIDDEN.search(text), repr(text)
            text.encode()
        assert "\\u{1b}" in texts[0] or "\\u{202e}" in texts[0], texts[0]


def test_an_exception_repeats_no_more_of_a_file_than_is_read(tmp_path: Path) -> None:
    long = "x" * (1 << 20)
    acts: tuple[Callable[[], object], ...] = (
        lambda: Experiment.from_text(f"[host]\n{long} = 1\n"),
        lambda: flashloom.InputError(f"{tmp_path}/{long}: does not exist"),
    )
    for act in acts:
        texts = texts_of(act)
        assert all(len(text) < 11_000 for text in texts), [len(text) for text in texts]
        assert re.search(r"\[\.\.\. \d+ of \d+ characters \.\.\.\]", texts[0]), texts[0]


def test_a_result_shows_what_a_file_says_in_text_and_in_html(small: Experiment) -> None:
    comparison = small.compare(vary=VARY)
    hostile = json.loads(comparison.to_json())
    for run in hostile["runs"]:
        run["vary"] = {"host.scheduler": HOSTILE[:-1] + str(run["vary"]["host.scheduler"])}
        run["result"]["hints"] = [{"about": "a", "text": HOSTILE[:-1], "key": "k"}]
    read = Comparison(json.dumps(hostile))
    for shown in (repr(read), read._repr_html_()):
        assert not HIDDEN.search(shown), repr(shown)
        assert "\\u{202e}" in shown
