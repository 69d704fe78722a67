//! Help on the timeline of a run: one page for the file, one for each of its columns.

use super::{Block, DocumentPlace, Page, described};
use flashloom_run::timeline::{COLUMNS, Column};

pub(super) fn pages() -> Vec<Page> {
    let text = "The file that `flashloom run --timeline FILE.csv` writes: a line for each `run.timeline_interval` of \
                simulated time, in counting mode for each `run.timeline_pages` pages programmed for the host, and one \
                at the end. Of a silence of more than a thousand intervals only the first and the last have a line. A \
                field that does not apply is empty.";
    let entries = COLUMNS.iter().map(|column| described(column.name, column.help)).collect();
    let blocks = vec![Block::Text(text.to_owned()), Block::Entries("Columns".to_owned(), entries)];
    let whole = Page {
        names: vec!["timeline".to_owned(), "--timeline".to_owned()],
        title: "Timeline".to_owned(),
        place: DocumentPlace::Section(2),
        blocks,
    };
    std::iter::once(whole).chain(COLUMNS.iter().map(column_page)).collect()
}

fn column_page(column: &Column) -> Page {
    Page {
        names: vec![format!("timeline.{}", column.name), column.name.to_owned()],
        title: format!("timeline.{}", column.name),
        place: DocumentPlace::Elsewhere,
        blocks: vec![Block::Text(column.help.to_owned())],
    }
}
