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
    /// Fields by their numbers, from 1.
    Struct(&'static [Self]),
    /// No field has this number.
    Unused,
}

use Type::{Binary, Byte, Double, Flag, List, Struct, Unused, Whole};

const EMPTY: Type = Struct(&[]);
const UNIT: Type = Struct(&[EMPTY, EMPTY, EMPTY]);
const TIME: Type = Struct(&[Flag, UNIT]);

const LOGICAL_TYPE: Type = Struct(&[
    EMPTY,
    EMPTY,
    EMPTY,
    EMPTY,
    Struct(&[Whole, Whole]),
    EMPTY,
    TIME,
    TIME,
    Unused,
    Struct(&[Byte, Flag]),
    EMPTY,
    EMPTY,
    EMPTY,
    EMPTY,
    EMPTY,
    Struct(&[Byte]),
    Struct(&[Binary]),
    Struct(&[Binary, Whole]),
]);

const SCHEMA_ELEMENT: Type = Struct(&[Whole, Whole, Whole, Binary, Whole, Whole, Whole, Whole, Whole, LOGICAL_TYPE]);

const KEY_VALUE: Type = Struct(&[Binary, Binary]);

const STATISTICS: Type = Struct(&[Binary, Binary, Whole, Whole, Binary, Binary, Flag, Flag, Whole]);

const BOX: Type = Struct(&[Double, Double, Double, Double, Double, Double, Double, Double]);

const COLUMN_METADATA: Type = Struct(&[
    Whole,
    List(&Whole),
    List(&Binary),
    Whole,
    Whole,
    Whole,
    Whole,
    List(&KEY_VALUE),
    Whole,
    Whole,
    Whole,
    STATISTICS,
    List(&Struct(&[Whole, Whole, Whole])),
    Whole,
    Whole,
    Struct(&[Whole, List(&Whole), List(&Whole)]),
    Struct(&[BOX, List(&Whole)]),
]);

/// Without what is about encryption, which a data set has not.
const COLUMN_CHUNK: Type = Struct(&[Binary, Whole, COLUMN_METADATA, Whole, Whole, Whole, Whole]);

const SORTING_COLUMN: Type = Struct(&[Whole, Flag, Flag]);

const ROW_GROUP: Type = Struct(&[List(&COLUMN_CHUNK), Whole, Whole, List(&SORTING_COLUMN), Whole, Whole, Whole]);

/// Without what is about encryption.
const FILE: Type = Struct(&[
    Whole,
    List(&SCHEMA_ELEMENT),
    Whole,
    List(&ROW_GROUP),
    List(&KEY_VALUE),
    Binary,
    List(&Struct(&[EMPTY, EMPTY])),
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
            Unused => false,
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
        Unused => Err(impossible()),
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
                let known = usize::try_from(id).ok().and_then(|id| fields.get(id.checked_sub(1)?));
                value(walk, *known.filter(|of| of.is_of(kind)).ok_or_else(impossible)?)?;
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
