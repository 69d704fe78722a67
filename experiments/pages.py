"""Writes generated tables into pages of docs/, for the scripts beside this file."""

from pathlib import Path


def write(page: str | None, tables: list[tuple[str, str]]) -> None:
    """Writes each table between `<!-- NAME -->` and `<!-- end of NAME -->`, given as NAME and text; prints them without
    a page."""
    if page is None:
        print("\n".join(table for _, table in tables), end="")
        return
    text = Path(page).read_text()
    for name, table in tables:
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        before, rest = text.split(begin)
        _, after = rest.split(end)
        text = f"{before}{begin}\n{table}\n{end}{after}"
    Path(page).write_text(text)
