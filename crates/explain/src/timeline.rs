//! Help on the timeline of a run: one page for the file, one for each of its columns.

use super::{Block, Page, described};
use flashloom_run::timeline::{COLUMNS, Column};

pub(super) fn pages() -> Vec<Page> {
    let text = "The file that `flashloom run --timeline FILE.csv` writes: a line for each `run.timeline_interval` of \
                simulated time, in counting mode for each `run.timeline_pages` pages programmed for the host, and one \
                at the end. Of a silence of more than a thousand intervals only the first and the last have a line. A \
                field that does not apply is empty.";
    let entries = COLUMNS.iter().map(|column| described(column.name, column.help));
    let whole = Page::section("Timeline", &["timeline", "--timeline"], text, [Block::entries("Columns", entries)]);
    let of_column = |column: &Column| {
        let path = format!("timeline.{}", column.name);
        Page::part(path.clone(), vec![path, column.name.to_owned()], column.help)
    };
    std::iter::once(whole).chain(COLUMNS.iter().map(of_column)).collect()
}
