//! Tables of figures for people.

use comfy_table::{CellAlignment, Table, presets};
pub use flashloom::experiment::figures::{count, factor, percent, rate, size, time};

/// A table of figures: columns after the first `names` are aligned to the right.
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
