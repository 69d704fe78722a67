//! Headers of the pages of a column, read before any page is: the library trusts the sizes that they declare.
//!
//! A header is a struct in the compact protocol of Thrift (parquet-format, `PageHeader`), of which the sizes, the
//! encoding and the number of values count; all else is skipped.

use std::fs::File;
use std::io::{BufReader, Error, ErrorKind, Result, Seek, SeekFrom};
use std::ops::{Range, RangeInclusive};

use super::budget::Budget;
use super::compact::{BINARY, BYTE, Compact, DOUBLE, FLAGS, INTEGERS, LISTS, STRUCT, impossible};

/// Structs in structs that a header may have: it has statistics in a data page.
const DEEPEST: u32 = 4;

/// The encodings by differences (DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY): a page of a hundred
/// bytes declares as many values as it likes, and a value can be the beginning of the one before and some bytes.
const DELTAS: RangeInclusive<i64> = 5..=7;

/// The encodings by places in a dictionary (PLAIN_DICTIONARY, RLE_DICTIONARY), and the type of the page that has it.
const PLACES: [i64; 2] = [2, 8];
const DICTIONARY_PAGE: i64 = 2;

/// What counts of a header.
#[derive(Default)]
struct Header {
    kind: i64,
    uncompressed: i64,
    compressed: i64,
    is_delta: bool,
    is_by_places: bool,
    dictionary_values: i64,
}

impl Header {
    /// Takes a number by the field of the page and that within it.
    fn note(&mut self, field: (i64, i64), value: i64) {
        match field {
            (1, 0) => self.kind = value,
            (2, 0) => self.uncompressed = value,
            (3, 0) => self.compressed = value,
            // Both may be there, of which one counts.
            (5, 2) | (8, 4) => {
                self.is_delta |= DELTAS.contains(&value);
                self.is_by_places |= PLACES.contains(&value);
            }
            (7, 1) => self.dictionary_values = value,
            _ => {}
        }
    }

    /// Checks the header of a page that stands after a dictionary of its column, or before.
    fn check(&self, has_dictionary: bool, budget: &Budget) -> std::result::Result<(), String> {
        let Self { uncompressed, compressed, is_delta, is_by_places, dictionary_values, .. } = *self;
        let most = i64::try_from(budget.page_bytes()).unwrap_or(i64::MAX);
        if uncompressed.max(compressed) > most {
            return Err(budget.exceeded(&format!("a page of {} bytes", uncompressed.max(compressed))));
        }
        if uncompressed.min(compressed) < 0 || !(0..=uncompressed).contains(&dictionary_values) {
            return Err("a page of impossible size".to_owned());
        }
        if is_delta {
            return Err("a page of values by their differences (DELTA encodings)".to_owned());
        }
        if is_by_places && !has_dictionary {
            return Err("a page of places in a dictionary, without a dictionary before it".to_owned());
        }
        Ok(())
    }
}

/// Checks the headers of all pages of a column that lies at those bytes of a file.
pub(super) fn check(file: &File, bytes: Range<u64>, budget: &Budget) -> std::result::Result<(), String> {
    let damaged = |error: Error| format!("a damaged page: {error}");
    let mut headers = Compact { input: BufReader::new(file), at: bytes.start };
    headers.input.seek(SeekFrom::Start(bytes.start)).map_err(damaged)?;
    let mut has_dictionary = false;
    while headers.at < bytes.end {
        let mut header = Header::default();
        headers.structure(0, 0, &mut header).map_err(damaged)?;
        header.check(has_dictionary, budget)?;
        has_dictionary |= header.kind == DICTIONARY_PAGE;
        headers.skip(header.compressed.unsigned_abs()).map_err(damaged)?;
    }
    Ok(())
}

impl Compact<BufReader<&File>> {
    /// Reads the fields of a struct that is itself the field `outer` of the page, or the page.
    fn structure(&mut self, outer: i64, depth: u32, header: &mut Header) -> Result<()> {
        if depth > DEEPEST {
            return Err(impossible());
        }
        let mut id = 0;
        while let Some((next, kind)) = self.field(id)? {
            id = next;
            if !is_known((outer, id), depth, kind) {
                return Err(impossible());
            }
            if INTEGERS.contains(&kind) {
                let value = self.signed()?;
                let field = if depth == 0 { (id, 0) } else { (outer, id) };
                // Deeper fields are those of statistics, whose numbers are nobody's size.
                if depth < 2 {
                    header.note(field, value);
                }
            } else {
                self.value(kind, id, depth, header)?;
            }
        }
        Ok(())
    }

    /// Skips a value that is no whole number, except for the fields of a struct.
    fn value(&mut self, kind: u8, id: i64, depth: u32, header: &mut Header) -> Result<()> {
        match kind {
            // The type of a flag is its value.
            kind if FLAGS.contains(&kind) => Ok(()),
            BYTE => self.skip(1),
            DOUBLE => self.skip(8),
            BINARY => {
                let length = self.number()?;
                self.skip(length)
            }
            STRUCT => self.structure(id, depth + 1, header),
            kind if LISTS.contains(&kind) => Err(Error::new(ErrorKind::InvalidData, "a list in a page header")),
            _ => Err(impossible()),
        }
    }
}

/// True if a field of the struct `outer`, or of the page, is of the type that it should be. The library reads a field
/// that it knows as that, whatever type it is said to have, and so would go on elsewhere than is checked here.
fn is_known(field: (i64, i64), depth: u32, kind: u8) -> bool {
    match (depth, field) {
        (0, (_, 1..=4)) | (1, (5, 1..=4) | (7, 1..=2) | (8, 1..=6)) => INTEGERS.contains(&kind),
        (0, (_, 5..=8)) | (1, (5, 5) | (8, 8)) => kind == STRUCT,
        (1, (7, 3) | (8, 7)) => FLAGS.contains(&kind),
        // Statistics, which it skips.
        (depth, _) => depth >= 2,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// What is said of a column whose only page has this header, and 4 bytes.
    fn checked(header: &[u8]) -> std::result::Result<(), String> {
        let mut file = tempfile::tempfile().expect("there is room");
        file.write_all(&[header, &[0; 4]].concat()).expect("there is room");
        check(&file, 0..header.len() as u64 + 4, &Budget::new(1 << 20))
    }

    /// The header of a data page of 4 bytes: its type, both sizes, and the struct of a data page in this encoding,
    /// whose number is doubled for its sign.
    fn header(encoding: u8) -> Vec<u8> {
        vec![0x15, 0, 0x15, 8, 0x15, 8, 0x2c, 0x15, 2, 0x15, encoding, 0x15, 6, 0x15, 6, 0, 0]
    }

    #[test]
    fn encodings_by_differences_are_refused_wherever_they_are_said() {
        assert_eq!(checked(&header(0)), Ok(()));
        for delta in 5..=7 {
            let refused = checked(&header(2 * delta)).expect_err("it takes what it likes");
            assert!(refused.contains("DELTA"), "{refused}");
        }
        // A second struct, of the other version of data pages, does not undo it.
        let both = [&header(12)[..16], &[0x3c, 0x45, 0, 0, 0]].concat();
        assert!(checked(&both).is_err_and(|refused| refused.contains("DELTA")));
    }

    #[test]
    fn places_in_a_dictionary_are_refused_before_there_is_one() {
        let dictionary = [0x15, 4, 0x15, 8, 0x15, 8, 0x4c, 0x15, 2, 0x15, 0, 0, 0];
        for places in [2, 8] {
            let refused = checked(&header(2 * places)).expect_err("there is no dictionary");
            assert!(refused.contains("without a dictionary"), "{refused}");
            assert_eq!(checked(&[&dictionary[..], &[0; 4], &header(2 * places)].concat()), Ok(()));
        }
    }

    #[test]
    fn sizes_cannot_be_hidden_from_the_check() {
        // Field 65538, of which the library takes 16 bits: 2, the size.
        let wrapped = [0x15, 0, 0x05, 0x84, 0x80, 0x08, 8, 0x15, 8, 0];
        // The size as a fraction, of which the library reads the first bytes as a whole number.
        let fraction = [0x15, 0, 0x17, 8, 0, 0, 0, 0, 0, 0, 0, 0x15, 8, 0];
        for hidden in [&wrapped[..], &fraction] {
            assert!(checked(hidden).is_err_and(|refused| refused.contains("a damaged page")), "{hidden:?}");
        }
    }

    #[test]
    fn fields_of_another_type_than_theirs_are_refused() {
        let valid = header(0);
        // The struct of a data page that is said to be a flag: the library reads a struct, here one with a list of as
        // many texts as can be, which it would look for one by one.
        let list = [0x15, 0, 0x15, 8, 0x15, 8, 0x21, 0x09, 0x12, 0xf8, 0xff, 0xff, 0xff, 0xff, 0x07, 0];
        // A number in place of the flag of a dictionary, and a field that a page has not.
        let number = [0x15, 4, 0x15, 8, 0x15, 8, 0x4c, 0x15, 2, 0x15, 0, 0x15, 0, 0, 0];
        let ninth = [&valid[..valid.len() - 1], &[0x45, 0, 0]].concat();
        for damaged in [&list[..], &number, &ninth] {
            assert!(checked(damaged).is_err_and(|refused| refused.contains("a damaged page")), "{damaged:?}");
        }
        // Those of the other version of data pages, with its flag and statistics.
        let second = [0x15, 6, 0x15, 8, 0x15, 8, 0x5c, 0x15, 2, 0x15, 0, 0x15, 2, 0x15, 0, 0x15, 0, 0x15, 0, 0x12];
        let statistics = [0x1c, 0x18, 1, 9, 0x26, 0, 0, 0, 0];
        assert_eq!(checked(&[&second[..], &statistics].concat()), Ok(()));
    }
}
