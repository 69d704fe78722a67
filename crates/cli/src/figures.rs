//! Formatting of figures and tables for people.

use comfy_table::{CellAlignment, Table, presets};
pub use flashloom::experiment::figures::{count, factor, percent, rate, size, time};

/// Formats a table: the first `names` columns are aligned to the left, the others to the right.
pub fn table(header: &[&str], names: usize, rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header.iter().copied());
    table.add_rows(rows);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if index >= names {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
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
}
