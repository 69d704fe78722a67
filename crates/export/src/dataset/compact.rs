//! The compact protocol of Thrift, as far as the metadata and the page headers of Parquet need it.

use std::io::{Error, ErrorKind, Read, Result, Seek};
use std::ops::Range;

/// Types of the protocol that have a size of their own, or none.
pub(super) const STOP: u8 = 0;
pub(super) const FLAGS: Range<u8> = 1..3;
pub(super) const BYTE: u8 = 3;
pub(super) const INTEGERS: Range<u8> = 4..7;
pub(super) const DOUBLE: u8 = 7;
pub(super) const BINARY: u8 = 8;
pub(super) const LISTS: Range<u8> = 9..11;
pub(super) const STRUCT: u8 = 12;

/// Input at a value.
pub(super) struct Compact<R> {
    pub(super) input: R,
    pub(super) at: u64,
}

impl<R: Read + Seek> Compact<R> {
    pub(super) fn byte(&mut self) -> Result<u8> {
        let mut byte = [0];
        self.input.read_exact(&mut byte)?;
        self.at += 1;
        Ok(byte[0])
    }

    pub(super) fn skip(&mut self, bytes: u64) -> Result<()> {
        self.at = self.at.saturating_add(bytes);
        self.input.seek_relative(i64::try_from(bytes).map_err(|_| impossible())?)
    }

    /// An unsigned number in groups of seven bits.
    pub(super) fn number(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(impossible())
    }

    /// A signed number, whose sign is its last bit.
    pub(super) fn signed(&mut self) -> Result<i64> {
        let number = self.number()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    /// The number and the type of a field after that numbered `last`; `None` at the end of its struct.
    pub(super) fn field(&mut self, last: i64) -> Result<Option<(i64, u8)>> {
        let (delta, kind) = split(self.byte()?);
        if kind == STOP {
            return Ok(None);
        }
        // The library takes 16 bits of it, so that another number would be a field that it knows.
        let id = if delta == 0 { self.signed()? } else { last.saturating_add(i64::from(delta)) };
        i16::try_from(id).map_err(|_| impossible())?;
        Ok(Some((id, kind)))
    }
}

/// The upper and the lower four bits.
pub(super) const fn split(byte: u8) -> (u8, u8) {
    (byte >> 4, byte & 0xf)
}

pub(super) fn impossible() -> Error {
    Error::new(ErrorKind::InvalidData, "a value that cannot be read")
}
