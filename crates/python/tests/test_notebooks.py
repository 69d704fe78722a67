"""The notebooks of the documents run, print what they store, and are the pages that the site has."""

from __future__ import annotations

import re
import shutil

import notebooks
import pytest


@pytest.mark.parametrize("name", notebooks.NAMES)
def test_a_page_is_its_notebook(name: str) -> None:
    page, figures = notebooks.page(name, notebooks.read(name))
    assert (notebooks.FOLDER / f"{name}.md").read_text(encoding="utf-8") == page, "make notebooks writes it anew"
    files = {path.name: path.read_text(encoding="utf-8") for path in notebooks.IMAGES.glob(f"{name}-*.svg")}
    assert files == figures
    assert figures, "a notebook has a figure"


@pytest.mark.parametrize("name", notebooks.NAMES)
def test_a_notebook_is_stored_without_traces_of_a_machine(name: str) -> None:
    notebook = notebooks.read(name)
    for number, cell in enumerate(notebook["cells"]):
        code = notebooks.text(cell["source"])
        assert max(map(len, code.splitlines())) <= 120, f"cell {number} has a long line"
        pictures = [output for output in cell.get("outputs", ()) if "image/svg+xml" in output.get("data", {})]
        assert len(pictures) == bool(cell["metadata"].get("alt")), f"a figure has a text in its place: cell {number}"
    kinds = {kind for _, kind, _ in notebooks.outputs(notebook)}
    assert kinds <= {"stdout", "text/plain", "text/html", "image/svg+xml"}, "nothing is printed to standard error"
    for number, _, text in notebooks.outputs(notebook):
        # An address in memory, or a path from the root of a file system.
        assert not re.search(r"0x[0-9a-f]{6,}|(^|[\s\"'(=:])/\w+/", text, re.MULTILINE), f"cell {number} prints {text}"


def test_every_notebook_is_known() -> None:
    assert {path.stem for path in notebooks.FOLDER.glob("*.ipynb")} == set(notebooks.NAMES)
    assert {path.stem for path in notebooks.FOLDER.glob("*.md")} == set(notebooks.NAMES)


@pytest.mark.parametrize("name", notebooks.NAMES)
def test_a_notebook_prints_what_it_stores(name: str) -> None:
    for library in ("nbclient", "ipykernel", "matplotlib", "pandas", "optuna"):
        pytest.importorskip(library)
    for program in notebooks.PROGRAMS.get(name, ()):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    assert list(notebooks.outputs(notebooks.executed(name))) == list(notebooks.outputs(notebooks.read(name)))
