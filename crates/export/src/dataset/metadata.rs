//! The metadata at the end of a file, walked before the library reads it: it goes through as many elements as a list
//! says that it has, and those of a list of flags take no byte, so that a file of a hundred bytes took minutes.
//!
//! ```text
//! each field   is one of those that its struct has (parquet-format, `FileMetaData`), and of their type: the library
//!              reads a field that it knows as what it should be, and would go on elsewhere than is checked here
//! each list    has no more elements than bytes are left, of the type that they should be; none is of flags
//! ```

use std::io::{Cursor, Error, ErrorKind, Result};

use super::compact::{BINARY, BYTE, Compact, DOUBLE, FLAGS, INTEGERS, LISTS, STRUCT, impossible, split};

/// What a field holds.
#[derive(Clone, Copy)]
enum Type {
    Flag,
    Byte,
    Whole,
    Double,
    Binary,
    List(&'static Self),
    Struct(&'static [(i64, Self)]),
}

use Type::{Binary, Byte, Double, Flag, List, Struct, Whole};

const EMPTY: Type = Struct(&[]);
const UNIT: Type = Struct(&[(1, EMPTY), (2, EMPTY), (3, EMPTY)]);
const TIME: Type = Struct(&[(1, Flag), (2, UNIT)]);

const LOGICAL_TYPE: Type = Struct(&[
    (1, EMPTY),
    (2, EMPTY),
    (3, EMPTY),
    (4, EMPTY),
    (5, Struct(&[(1, Whole), (2, Whole)])),
    (6, EMPTY),
    (7, TIME),
    (8, TIME),
    (10, Struct(&[(1, Byte), (2, Flag)])),
    (11, EMPTY),
    (12, EMPTY),
    (13, EMPTY),
    (14, EMPTY),
    (15, EMPTY),
    (16, Struct(&[(1, Byte)])),
    (17, Struct(&[(1, Binary)])),
    (18, Struct(&[(1, Binary), (2, Whole)])),
]);

const SCHEMA_ELEMENT: Type = Struct(&[
    (1, Whole),
    (2, Whole),
    (3, Whole),
    (4, Binary),
    (5, Whole),
    (6, Whole),
    (7, Whole),
    (8, Whole),
    (9, Whole),
    (10, LOGICAL_TYPE),
]);

const KEY_VALUE: Type = Struct(&[(1, Binary), (2, Binary)]);

const STATISTICS: Type = Struct(&[
    (1, Binary),
    (2, Binary),
    (3, Whole),
    (4, Whole),
    (5, Binary),
    (6, Binary),
    (7, Flag),
    (8, Flag),
    (9, Whole),
]);

const BOX: Type =
    Struct(&[(1, Double), (2, Double), (3, Double), (4, Double), (5, Double), (6, Double), (7, Double), (8, Double)]);

const COLUMN_METADATA: Type = Struct(&[
    (1, Whole),
    (2, List(&Whole)),
    (3, List(&Binary)),
    (4, Whole),
    (5, Whole),
    (6, Whole),
    (7, Whole),
    (8, List(&KEY_VALUE)),
    (9, Whole),
    (10, Whole),
    (11, Whole),
    (12, STATISTICS),
    (13, List(&Struct(&[(1, Whole), (2, Whole), (3, Whole)]))),
    (14, Whole),
    (15, Whole),
    (16, Struct(&[(1, Whole), (2, List(&Whole)), (3, List(&Whole))])),
    (17, Struct(&[(1, BOX), (2, List(&Whole))])),
]);

/// Without what is about encryption, which a data set has not.
const COLUMN_CHUNK: Type =
    Struct(&[(1, Binary), (2, Whole), (3, COLUMN_METADATA), (4, Whole), (5, Whole), (6, Whole), (7, Whole)]);

const SORTING_COLUMN: Type = Struct(&[(1, Whole), (2, Flag), (3, Flag)]);

const ROW_GROUP: Type = Struct(&[
    (1, List(&COLUMN_CHUNK)),
    (2, Whole),
    (3, Whole),
    (4, List(&SORTING_COLUMN)),
    (5, Whole),
    (6, Whole),
    (7, Whole),
]);

/// Without what is about encryption.
const FILE: Type = Struct(&[
    (1, Whole),
    (2, List(&SCHEMA_ELEMENT)),
    (3, Whole),
    (4, List(&ROW_GROUP)),
    (5, List(&KEY_VALUE)),
    (6, Binary),
    (7, List(&Struct(&[(1, EMPTY), (2, EMPTY)]))),
]);

impl Type {
    /// Whether the protocol's type is that of this.
    fn is_of(self, kind: u8) -> bool {
        match self {
            Flag => FLAGS.contains(&kind),
            Byte => kind == BYTE,
            Whole => INTEGERS.contains(&kind),
            Double => kind == DOUBLE,
            Binary => kind == BINARY,
            List(_) => LISTS.contains(&kind),
            Struct(_) => kind == STRUCT,
        }
    }
}

/// Checks the metadata of a file.
pub(super) fn check(bytes: &[u8]) -> std::result::Result<(), String> {
    let mut walk = Compact { input: Cursor::new(bytes), at: 0 };
    value(&mut walk, FILE).map_err(|error| format!("damaged metadata: {error}"))
}

fn value(walk: &mut Compact<Cursor<&[u8]>>, of: Type) -> Result<()> {
    let left = |walk: &Compact<Cursor<&[u8]>>| (walk.input.get_ref().len() as u64).saturating_sub(walk.at);
    match of {
        // The type of a flag is its value.
        Flag => Ok(()),
        Byte => walk.skip(1),
        Double => walk.skip(8),
        Whole => walk.signed().map(|_| ()),
        Binary => {
            let length = walk.number()?;
            if length > left(walk) {
                return Err(impossible());
            }
            walk.skip(length)
        }
        List(of) => {
            let (short, kind) = split(walk.byte()?);
            let length = if short == 15 { walk.number()? } else { short.into() };
            if length > left(walk) {
                return Err(Error::new(ErrorKind::InvalidData, format!("a list of {length} elements")));
            }
            if length > 0 && !of.is_of(kind) {
                return Err(impossible());
            }
            (0..length).try_for_each(|_| value(walk, *of))
        }
        Struct(fields) => {
            let mut id = 0;
            while let Some((next, kind)) = walk.field(id)? {
                id = next;
                let known = fields.iter().find(|(field, of)| *field == id && of.is_of(kind));
                let (_, of) = known.ok_or_else(impossible)?;
                value(walk, *of)?;
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_has_is_taken() {
        // A version, no schema, three rows, an entry of two texts, and who wrote it.
        let valid = [0x15, 4, 0x19, 0x0c, 0x16, 6, 0x29, 0x1c, 0x18, 1, b'a', 0x18, 1, b'b', 0, 0x18, 1, b'c', 0];
        assert_eq!(check(&valid), Ok(()));
        assert!((0..valid.len()).all(|end| check(&valid[..end]).is_err()), "a part of it is damaged");
    }

    #[test]
    fn lists_are_no_longer_than_the_file_and_of_their_type() {
        let most = [0xff, 0xff, 0xff, 0xff, 0x07];
        let of_structs = [&[0x29, 0xfc][..], &most].concat();
        assert!(check(&of_structs).is_err_and(|refused| refused.contains("a list of 2147483647 elements")));
        // Flags as elements, of which each takes no byte, where whole numbers should be: the encodings of a column.
        let column = [0x49, 0x1c, 0x19, 0x1c, 0x3c, 0x29, 0x21, 1, 1, 0, 0, 0, 0];
        assert!(check(&column).is_err());
        let right = [0x49, 0x1c, 0x19, 0x1c, 0x3c, 0x29, 0x25, 1, 1, 0, 0, 0, 0];
        assert_eq!(check(&right), Ok(()));
    }

    #[test]
    fn fields_of_another_type_and_unknown_ones_are_refused() {
        // The version as a list of flags, and a field that a file has not, here one of lists of lists.
        for damaged in [&[0x19, 0xf1, 1, 0][..], &[0x99, 0x19, 0xf1, 1, 0]] {
            assert!(check(damaged).is_err_and(|refused| refused.contains("damaged metadata")), "{damaged:?}");
        }
    }
}
