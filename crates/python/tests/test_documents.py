"""The examples of the documents run, as they are written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conftest import ROOT


@pytest.mark.parametrize("path", ["README.md", "docs/python.md", "docs/python-policies.md"])
def test_the_python_of_a_document_runs(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = Path(path).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert blocks, f"{path} has no example"
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, path, "exec"), names)  # noqa: S102


def test_the_example_of_the_readme_has_five_lines() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    [block] = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert len(block.splitlines()) <= 5
