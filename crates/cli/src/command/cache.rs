//! `flashloom cache`: what is kept for later runs, and how to be rid of it.

use flashloom::run::{Cleared, Entry, EntryKind, Store};
use flashloom::units::{Problem, visible_path};
use serde_json::json;

use super::json_text;
use crate::arguments::CacheCommand;
use crate::cache::files_of_user;
use crate::figures::{count, size, table};
use crate::output::{Stop, print};

/// Lists, measures or clears the cache.
pub fn cache(command: &CacheCommand) -> Result<(), Stop> {
    let store = files_of_user()?;
    let refuse = |error: std::io::Error| {
        let expected = "a folder of your own that nobody else may write to";
        Problem::file(visible_path(store.folder()), error.to_string(), expected)
    };
    store.check().map_err(refuse)?;
    match command {
        CacheCommand::List(arguments) => {
            let entries = store.entries().map_err(refuse)?;
            print(&if arguments.json { json_text(&json_of(&store, &entries, true)) } else { list(&entries) })
        }
        CacheCommand::Size(arguments) => {
            let entries = store.entries().map_err(refuse)?;
            print(&if arguments.json { json_text(&json_of(&store, &entries, false)) } else { total(&store, &entries) })
        }
        CacheCommand::Clear(arguments) => {
            let Cleared { entries, bytes, in_use, leftovers } = store.clear().map_err(refuse)?;
            print(&if arguments.json {
                json_text(&json!({
                    "folder": store.folder().to_string_lossy(),
                    "removed": entries,
                    "removed_bytes": bytes,
                    "in_use": in_use,
                    "leftovers": leftovers,
                }))
            } else {
                let rows = [("removed", entries), ("in use", in_use), ("leftovers of killed runs", leftovers)];
                let rows = rows.map(|(name, number)| vec![name.to_owned(), count(number as u64)]);
                let freed = vec!["freed".to_owned(), size(bytes as f64)];
                table(&["", ""], 1, rows.into_iter().chain([freed]).collect())
            })
        }
    }
}

/// The entries as a table, the least recently used first.
fn list(entries: &[Entry]) -> String {
    let row = |entry: &Entry| {
        let file = visible_path(&entry.file);
        vec![file, entry.kind.name().to_owned(), date(entry.used_unix_s()), size(entry.bytes as f64)]
    };
    table(&["file", "what", "last used (UTC)", "size"], 3, entries.iter().map(row).collect())
}

/// What the entries take together.
fn total(store: &Store, entries: &[Entry]) -> String {
    let sum = |kind: EntryKind| {
        let of_kind = || entries.iter().filter(|entry| entry.kind == kind);
        let bytes: u64 = of_kind().map(|entry| entry.bytes).sum();
        format!("{}, {}", count(of_kind().count() as u64), size(bytes as f64))
    };
    let all: u64 = entries.iter().map(|entry| entry.bytes).sum();
    let rows = [
        ("folder", visible_path(store.folder())),
        ("drives", sum(EntryKind::Drive)),
        ("inputs", sum(EntryKind::Input)),
        ("together", size(all as f64)),
        ("limit", size(store.limit_bytes() as f64)),
    ];
    table(&["", ""], 2, rows.map(|(name, value)| vec![name.to_owned(), value]).into())
}

fn json_of(store: &Store, entries: &[Entry], with_entries: bool) -> serde_json::Value {
    let mut value = json!({
        "folder": store.folder().to_string_lossy(),
        "bytes": entries.iter().map(|entry| entry.bytes).sum::<u64>(),
        "limit_bytes": store.limit_bytes(),
        "drives": entries.iter().filter(|entry| entry.kind == EntryKind::Drive).count(),
        "inputs": entries.iter().filter(|entry| entry.kind == EntryKind::Input).count(),
    });
    if with_entries {
        let entry = |entry: &Entry| {
            json!({
                "file": entry.file.to_string_lossy(),
                "kind": entry.kind.name(),
                "bytes": entry.bytes,
                "used_unix_s": entry.used_unix_s(),
            })
        };
        value["entries"] = entries.iter().map(entry).collect();
    }
    value
}

/// Formats a time of the Unix clock to the minute, by the calendar of days from 1 March (Hinnant, "chrono-Compatible
/// Low-Level Date Algorithms").
fn date(unix_s: u64) -> String {
    let (day, minute) = (unix_s / 86_400, unix_s % 86_400 / 60);
    let shifted = day + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * from_march + 2) / 5 + 1, (from_march + 2) % 12 + 1);
    let year = 400 * era + year + u64::from(month < 3);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", minute / 60, minute % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let known = [
            (0, "1970-01-01 00:00"),
            (951_782_399, "2000-02-28 23:59"),
            (951_782_400, "2000-02-29 00:00"),
            (1_709_251_199, "2024-02-29 23:59"),
            (1_735_689_600, "2025-01-01 00:00"),
            (4_107_542_400, "2100-03-01 00:00"),
        ];
        for (unix_s, expected) in known {
            assert_eq!(date(unix_s), expected);
        }
    }
}
