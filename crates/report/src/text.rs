//! Results as text for people: the tables and hints that the command line and the package for Python print.
//!
//! A text is a list of [`Part`]s, of which [`whole`] makes what a terminal shows; a page shows the tables as such.

mod anatomy;
mod bounds;
pub mod columns;
mod comparison;
mod hints;
mod summary;
mod table;

use std::fmt;

use flashloom_units::visible_message;

pub use bounds::missing_bounds;
pub use columns::Column;
pub use comparison::comparison;
pub use hints::hints;
pub use summary::summary;
pub use table::{Table, rows, table};

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A table.
    Table(Table),
    /// Whole lines, or a blank one between two other parts.
    Lines(String),
}

impl Part {
    /// The blank line between two parts.
    pub fn blank() -> Self {
        Self::Lines("\n".to_owned())
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table(table) => table.fmt(f),
            Self::Lines(lines) => f.write_str(&visible_message(lines)),
        }
    }
}

/// The text of some parts, one after the other.
pub fn whole(parts: &[Part]) -> String {
    parts.iter().map(Part::to_string).collect()
}
