//! How much memory a data set may take, because a few bytes of a file can be many once they are decoded.
//!
//! ```text
//! metadata      at most 1/64 of the limit: what it decodes to is that much larger (`metadata`)
//! rows          1,200 B each and 256 B a cell, its share of the page among them, and the bytes of each text, together
//!               at most the limit
//! pages         at most 1/32 of the limit each once decompressed; one of a column is in memory at a time, and its
//!               dictionary, which can decode to ten times its size
//! ```
//!
//! Rows are counted before any is read, pages by their headers before any is decompressed, and texts as they are
//! decoded, so that a file is refused that says less than it holds. The limit is that of one data set, whatever its
//! number of files.

use std::cell::Cell;
use std::env;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use flashloom_units::{Problem, parse_size};

use super::metadata;

/// Variable with the limit, for the user who trusts a larger data set.
pub const LIMIT_VARIABLE: &str = "FLASHLOOM_DATASET_LIMIT";

/// Limit without it.
const DEFAULT_LIMIT_BYTES: u64 = 768 << 20;

/// Memory of a row without cells, and of a cell without its text, in the data set and in its page.
const ROW_BYTES: u64 = 1_200;
const CELL_BYTES: u64 = 256;
/// Memory of a value of JSON, with its place in a list that grows.
const JSON_VALUE_BYTES: u64 = 160;

/// Memory that is left for a data set.
pub(super) struct Budget {
    limit: u64,
    left: Cell<u64>,
}

impl Budget {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, left: Cell::new(limit) }
    }

    /// The limit that the user's environment sets, or the default one.
    pub(super) fn of_user() -> Result<Self, Problem> {
        let Some(text) = env::var_os(LIMIT_VARIABLE).filter(|text| !text.is_empty()) else {
            return Ok(Self::new(DEFAULT_LIMIT_BYTES));
        };
        let limit = parse_size(&text.to_string_lossy());
        Ok(Self::new(limit.map_err(|refusal| refusal.in_file(LIMIT_VARIABLE))?))
    }

    /// Takes the memory of rows with so many cells.
    pub(super) fn take_rows(&self, rows: u64, cells: u64) -> Result<(), String> {
        let bytes = rows.saturating_mul(cells.saturating_mul(CELL_BYTES).saturating_add(ROW_BYTES));
        self.take(bytes, || format!("{rows} rows of {cells} cells"))
    }

    /// Takes the memory of the values in a text of JSON.
    pub(super) fn take_json(&self, text: &str) -> Result<(), String> {
        let values = text.bytes().filter(|byte| b",[{".contains(byte)).count() as u64;
        self.take(values.saturating_mul(JSON_VALUE_BYTES), || format!("a configuration of {values} values"))
    }

    /// Takes `bytes` of the budget; an error that names `what` they are for if fewer are left.
    fn take(&self, bytes: u64, what: impl FnOnce() -> String) -> Result<(), String> {
        self.left.set(self.left.get().checked_sub(bytes).ok_or_else(|| self.exceeded(&what()))?);
        Ok(())
    }

    /// Takes the memory of a text.
    pub(super) fn take_text(&self, text: &[u8]) -> Result<(), String> {
        self.take(text.len() as u64, || "texts".to_owned())
    }

    /// Size in bytes that a page may have once it is decompressed.
    pub(super) fn page_bytes(&self) -> u64 {
        self.limit / 32
    }

    /// Refuses a file whose metadata is too large, before any of it is decoded, or says more than it holds. Whether it
    /// is Parquet is the reader's business.
    pub(super) fn check_metadata(&self, mut file: &File) -> std::io::Result<Result<(), String>> {
        let mut end = [0; 8];
        let end_bytes = end.len() as u64;
        let file_bytes = file.seek(SeekFrom::End(0))?;
        if file_bytes < end_bytes {
            return Ok(Ok(()));
        }
        file.seek(SeekFrom::Start(file_bytes - end_bytes))?;
        file.read_exact(&mut end)?;
        let length = u64::from(u32::from_le_bytes([end[0], end[1], end[2], end[3]]));
        if length > self.limit / 64 {
            return Ok(Err(self.exceeded(&format!("metadata of {length} bytes"))));
        }
        let mut checked = Ok(());
        if let Some(begin) = (file_bytes - end_bytes).checked_sub(length) {
            let mut bytes = vec![0; length as usize];
            file.seek(SeekFrom::Start(begin))?;
            file.read_exact(&mut bytes)?;
            checked = metadata::check(&bytes);
        }
        file.rewind()?;
        Ok(checked)
    }

    /// Message about what would take more than the limit.
    pub(super) fn exceeded(&self, what: &str) -> String {
        let mebibytes = self.limit >> 20;
        format!(
            "{what}, more than {mebibytes} MiB of memory are for: if you trust the file, set {LIMIT_VARIABLE} to more"
        )
    }
}
