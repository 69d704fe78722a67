//! Tables in columns of text, and row numbers.

use std::borrow::Cow;
use std::fmt;

use comfy_table::{CellAlignment, Table as Layout, presets};
use flashloom_units::visible_line;

/// A table of text: a heading for each column, and rows with a cell for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Headings of the columns; all empty for a table without.
    pub header: Vec<String>,
    /// Number of columns of names, which come first and are aligned to the left; figures are aligned to the right.
    pub names: usize,
    /// Cells of each row.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings, of which the first `names` are of names.
    pub fn new(header: &[&str], names: usize, rows: Vec<Vec<String>>) -> Self {
        Self { header: header.iter().map(|&name| name.to_owned()).collect(), names, rows }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut layout = Layout::new();
        layout.load_style(presets::NOTHING).set_header(shown(&self.header));
        layout.add_rows(self.rows.iter().map(|row| shown(row)));
        for (index, column) in layout.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
            if index >= self.names {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        layout.lines().try_for_each(|line| writeln!(f, "{}", line.trim_end()))
    }
}

/// Cells as they are shown, whose width is counted.
fn shown(cells: &[String]) -> Vec<Cow<'_, str>> {
    cells.iter().map(|cell| visible_line(cell)).collect()
}

/// Formats a table: the first `names` columns are aligned to the left, the others to the right.
pub fn table(header: &[&str], names: usize, rows: Vec<Vec<String>>) -> String {
    Table::new(header, names, rows).to_string()
}

/// Formats row numbers from indices in order: `rows 1-3, 5`, or `all rows` if all `all` of them are chosen.
pub fn rows(chosen: &[usize], all: usize) -> String {
    if chosen.len() == all && all > 1 {
        return "all rows".to_owned();
    }
    let runs = chosen.chunk_by(|row, next| row + 1 == *next);
    let shown = runs.map(|run| match run {
        [.., last] if run.len() > 2 => format!("{}-{}", run[0] + 1, last + 1),
        run => run.iter().map(|row| (row + 1).to_string()).collect::<Vec<_>>().join(", "),
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    format!("row{} {shown}", if chosen.len() == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_follow_one_another_are_a_range() {
        assert_eq!(rows(&[0, 1, 2], 3), "all rows");
        assert_eq!(rows(&[0], 1), "row 1");
        assert_eq!(rows(&[0, 1, 2, 4, 6, 7], 9), "rows 1-3, 5, 7, 8");
    }

    #[test]
    fn a_cell_is_as_wide_as_what_is_shown_of_it_with_names_on_the_left_and_figures_on_the_right() {
        let rows = vec![vec!["a\u{1b}[31m\nb".to_owned(), "1".to_owned()], vec!["c".to_owned(), "10,000".to_owned()]];
        let expected = "name\\u{202e}         n\na\\u{1b}[31m\\nb       1\nc               10,000\n";
        assert_eq!(table(&["name\u{202e}", "n"], 1, rows), expected);
    }

    #[test]
    fn a_cell_of_a_megabyte_widens_no_other_by_more_than_is_shown_of_it() {
        let rows = vec![vec!["x".repeat(1 << 20), "1".to_owned()], vec!["c".to_owned(), "2".to_owned()]];
        let shown = table(&["name", "n"], 1, rows);
        assert!(shown.len() < 5_000 && shown.contains(" of 1048576 characters ...]"), "{shown}");
    }
}
