//! `flashloom list` and `flashloom explain`.

use flashloom::config::Catalog;
use flashloom::explain::{self, List, Page};

use crate::output::{Stop, print};

/// Prints one list, or all of them.
pub fn list(catalog: &Catalog, name: Option<&str>) -> Result<(), Stop> {
    let lists = explain::lists(catalog).into_iter().filter(|list| name.is_none_or(|name| name == list.name));
    print(&lists.map(|list| shown(&list)).collect::<Vec<_>>().join("\n"))
}

fn shown(list: &List) -> String {
    let width = list.members.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let member = |(name, help): &(&str, String)| format!("  {name:width$}  {help}\n");
    format!("{} - {}\n{}", list.name, list.help, list.members.iter().map(member).collect::<String>())
}

/// Prints every page about a name.
pub fn explain(catalog: &Catalog, name: &str) -> Result<(), Stop> {
    let pages = explain::explain(catalog, name)?;
    print(&pages.iter().map(Page::to_text).collect::<Vec<_>>().join("\n"))
}
