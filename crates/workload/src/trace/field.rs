//! Fields of a line of text: numbers and words, parsed straight from the bytes, with the place of any fault.
//!
//! [`Fields`] walks over a line whose fields are separated by commas (`SEPARATOR` is `b','`; blanks around a field do
//! not count) or by runs of blanks (`SEPARATOR` is `b' '`). Numbers of up to 19 digits that end at a separator take the
//! fast path, eight digits at a time; everything else goes through the cold one, byte by byte, which also describes the
//! fault.

use std::ops::Range;

use flashloom_units::{Ns, SECTOR_BYTES};

use super::digits::{POWERS_OF_TEN, digits};
use crate::Op;

/// The last sector whose byte address, end included, fits in 64 bits.
pub(crate) const MAX_SECTOR: u64 = u64::MAX / SECTOR_BYTES;

/// Most digits of a number that is certain to fit in 64 bits.
const LONGEST_NUMBER: usize = 19;

/// Fault of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    NotANumber,
    Negative,
    TooLarge,
    EndsTooFar,
    ZeroLength,
    Missing,
    Trailing,
    Unknown,
    HasData,
    NotAWrite,
}

/// A faulty field: its place in the line, the fault, and the expected content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldError {
    pub span: Range<usize>,
    pub fault: Fault,
    pub expected: &'static str,
    /// A valid name close to the one found, if there is one.
    pub nearest: Option<&'static str>,
}

impl FieldError {
    /// Describes what was read.
    pub fn found(&self, line: &[u8]) -> String {
        let text = String::from_utf8_lossy(&line[self.span.clone()]);
        match self.fault {
            Fault::NotANumber if text.is_empty() => "the field is empty".to_owned(),
            Fault::NotANumber => format!("`{text}` is not a number"),
            Fault::Negative => format!("`{text}` is negative"),
            Fault::TooLarge => format!("`{text}` is too large"),
            Fault::EndsTooFar => format!("a request of length `{text}` at this address ends beyond 64 bits of bytes"),
            Fault::ZeroLength => format!("a request of length `{text}` transfers nothing"),
            Fault::Missing => "the line ends too early".to_owned(),
            Fault::Trailing => format!("`{text}` is more than the line should hold"),
            Fault::Unknown if text.is_empty() => "the field is empty".to_owned(),
            Fault::Unknown => format!("`{text}` is not known here"),
            Fault::HasData => format!("a flush with `{text}` here carries data"),
            Fault::NotAWrite => format!("`{text}` marks a request that is not a write"),
        }
    }
}

/// A cursor over the fields of a line.
pub(crate) struct Fields<'a, const SEPARATOR: u8> {
    line: &'a [u8],
    /// Start of the next field; beyond the end of the line if there is none.
    at: usize,
    /// Start of the field that was read last.
    start: usize,
    end: usize,
}

/// Fields separated by commas.
pub(crate) type CommaFields<'a> = Fields<'a, b','>;
/// Fields separated by blanks.
pub(crate) type BlankFields<'a> = Fields<'a, b' '>;

const fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

impl<'a, const SEPARATOR: u8> Fields<'a, SEPARATOR> {
    pub fn new(line: &'a [u8]) -> Self {
        Self { line, at: 0, start: 0, end: 0 }
    }

    #[inline(always)]
    fn separates(byte: u8) -> bool {
        if SEPARATOR == b' ' { is_blank(byte) } else { byte == SEPARATOR }
    }

    /// Returns the start of the next field.
    #[inline(always)]
    fn begin(&mut self, what: &'static str) -> Result<usize, FieldError> {
        while self.line.get(self.at).is_some_and(|&byte| is_blank(byte)) {
            self.at += 1;
        }
        if self.at >= self.line.len() + usize::from(SEPARATOR != b' ') {
            let end = self.line.len();
            return Err(FieldError { span: end..end, fault: Fault::Missing, expected: what, nearest: None });
        }
        Ok(self.at)
    }

    #[inline(always)]
    fn close(&mut self, start: usize, end: usize, next: usize) {
        (self.start, self.end, self.at) = (start, end, next);
    }

    /// Reads the next field as bytes.
    #[inline(always)]
    pub fn word(&mut self, what: &'static str) -> Result<&'a [u8], FieldError> {
        let start = self.begin(what)?;
        let mut end = start;
        while !self.ends_at(end) {
            end += 1;
        }
        let next = end + 1;
        while SEPARATOR != b' ' && end > start && is_blank(self.line[end - 1]) {
            end -= 1;
        }
        self.close(start, end, next);
        Ok(&self.line[start..end])
    }

    /// True if a field may end at an index.
    #[inline(always)]
    fn ends_at(&self, end: usize) -> bool {
        self.line.get(end).is_none_or(|&byte| Self::separates(byte))
    }

    /// True if the next field begins with a byte.
    #[inline]
    pub fn next_begins_with(&mut self, byte: u8) -> bool {
        self.begin("").is_ok_and(|start| self.line.get(start) == Some(&byte))
    }

    /// Reads the next field as a whole number.
    #[inline(always)]
    pub fn number(&mut self, what: &'static str) -> Result<u64, FieldError> {
        let start = self.begin(what)?;
        let (value, end) = digits(self.line, start);
        if self.ends_at(end) && (1..=LONGEST_NUMBER).contains(&(end - start)) {
            self.close(start, end, end + 1);
            return Ok(value);
        }
        self.checked_number(what)
    }

    #[cold]
    fn checked_number(&mut self, what: &'static str) -> Result<u64, FieldError> {
        let word = self.word(what)?;
        self.checked(whole(word), what)
    }

    /// Reads the next field as a whole number of at most 32 bits.
    #[inline(always)]
    pub fn small(&mut self, what: &'static str) -> Result<u32, FieldError> {
        let value = self.number(what)?;
        u32::try_from(value).map_err(|_| self.error(Fault::TooLarge, what))
    }

    /// Reads the next field, a number with an optional fraction, in units of `10^-kept` with up to nine digits kept;
    /// finer ones are cut off.
    #[inline(always)]
    pub fn decimal(&mut self, kept: usize, what: &'static str) -> Result<u64, FieldError> {
        let start = self.begin(what)?;
        let (integer, point) = digits(self.line, start);
        let has_point = self.line.get(point) == Some(&b'.');
        let (fraction, end) = if has_point { digits(self.line, point + 1) } else { (0, point) };
        let decimals = end - point - usize::from(has_point);
        let is_plain = self.ends_at(end) && point - start <= LONGEST_NUMBER && decimals <= kept && point - start > 0;
        if is_plain
            && let Some(integer) = integer.checked_mul(POWERS_OF_TEN[kept])
            && let Some(value) = integer.checked_add(fraction * POWERS_OF_TEN[kept - decimals])
        {
            self.close(start, end, end + 1);
            return Ok(value);
        }
        self.checked_decimal(kept, what)
    }

    #[cold]
    fn checked_decimal(&mut self, kept: usize, what: &'static str) -> Result<u64, FieldError> {
        let word = self.word(what)?;
        self.checked(decimal(word, kept), what)
    }

    /// Reads the next field as a whole hexadecimal number.
    pub fn hexadecimal(&mut self, what: &'static str) -> Result<u64, FieldError> {
        let word = self.word(what)?;
        let digit = |byte: u8| (byte as char).to_digit(16).map(u64::from).ok_or(Fault::NotANumber);
        let value = match word {
            [] => Err(Fault::NotANumber),
            [b'-', rest @ ..] if whole(rest).is_ok() => Err(Fault::Negative),
            word if word.len() > 16 => Err(Fault::TooLarge),
            word => word.iter().try_fold(0, |value, &byte| Ok(value << 4 | digit(byte)?)),
        };
        self.checked(value, what)
    }

    /// Passes over all further fields.
    pub fn pass_rest(&mut self) {
        self.at = self.line.len() + 1;
    }

    /// Refuses further fields.
    #[inline]
    pub fn finish(&mut self) -> Result<(), FieldError> {
        let Ok(start) = self.begin("") else { return Ok(()) };
        self.close(start, self.line.len(), self.line.len());
        Err(self.error(Fault::Trailing, "the end of the line"))
    }

    /// An error at the field that was read last.
    #[cold]
    pub fn error(&self, fault: Fault, expected: &'static str) -> FieldError {
        FieldError { span: self.start..self.end, fault, expected, nearest: None }
    }

    /// The whole line.
    pub fn line(&self) -> &'a [u8] {
        self.line
    }

    /// Byte range of the field that was read last.
    pub fn span(&self) -> Range<usize> {
        self.start..self.end
    }

    fn checked(&self, value: Result<u64, Fault>, what: &'static str) -> Result<u64, FieldError> {
        value.map_err(|fault| self.error(fault, what))
    }

    /// Reads the next field as a time in whole units.
    #[inline]
    pub fn time(&mut self, unit_ns: Ns, what: &'static str) -> Result<Ns, FieldError> {
        let value = self.number(what)?;
        value.checked_mul(unit_ns).ok_or_else(|| self.error(Fault::TooLarge, "a time of at most 584 years"))
    }

    /// Reads the next field as a read or a write, by the word for each.
    #[inline]
    pub fn direction(&mut self, read: &[u8], write: &[u8], what: &'static str) -> Result<Op, FieldError> {
        match self.word(what)? {
            word if word == read => Ok(Op::Read),
            word if word == write => Ok(Op::Write),
            _ => Err(self.error(Fault::Unknown, what)),
        }
    }

    /// Reads the next two fields as first sector and sectors.
    #[inline]
    pub fn sector_extent(&mut self) -> Result<(u64, u32), FieldError> {
        let lba = self.number("the first sector")?;
        let sectors = self.number("the number of sectors")?;
        Ok((lba, self.sectors(lba, sectors)?))
    }

    /// Reads the next two fields as offset and length in bytes: first sector and sectors that they touch.
    #[inline]
    pub fn byte_extent(&mut self, length: &'static str) -> Result<(u64, u32), FieldError> {
        let offset = self.number("the offset in bytes")?;
        let length = self.number(length)?;
        self.extent(offset, length)
    }

    /// Checks and converts the length just read, in sectors, of a request that begins at sector `lba`.
    #[inline]
    pub fn sectors(&self, lba: u64, sectors: u64) -> Result<u32, FieldError> {
        if sectors == 0 {
            return Err(self.error(Fault::ZeroLength, "at least one sector"));
        }
        match u32::try_from(sectors) {
            Ok(sectors) if lba <= MAX_SECTOR - u64::from(sectors) => Ok(sectors),
            Ok(_) => Err(self.error(Fault::EndsTooFar, "a request that ends within 64 bits of bytes")),
            Err(_) => Err(self.error(Fault::TooLarge, "at most 4294967295 sectors")),
        }
    }

    /// First sector and number of sectors that the bytes `offset..offset + length` touch; the length was just read.
    #[inline]
    fn extent(&self, offset: u64, length: u64) -> Result<(u64, u32), FieldError> {
        if length == 0 {
            return Err(self.error(Fault::ZeroLength, "at least one byte"));
        }
        let Some(end) = offset.checked_add(length) else {
            return Err(self.error(Fault::EndsTooFar, "a request that ends within 64 bits of bytes"));
        };
        let lba = offset / SECTOR_BYTES;
        Ok((lba, self.sectors(lba, end.div_ceil(SECTOR_BYTES) - lba)?))
    }
}

fn whole(word: &[u8]) -> Result<u64, Fault> {
    let digits = |word: &[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_digit);
    if let [b'-', rest @ ..] = word
        && digits(rest)
    {
        return Err(Fault::Negative);
    }
    if !digits(word) {
        return Err(Fault::NotANumber);
    }
    let add = |value: u64, &byte: &u8| value.checked_mul(10)?.checked_add(u64::from(byte - b'0'));
    word.iter().try_fold(0u64, add).ok_or(Fault::TooLarge)
}

fn decimal(word: &[u8], digits: usize) -> Result<u64, Fault> {
    let negative = word.first() == Some(&b'-');
    let unsigned = &word[usize::from(negative)..];
    let point = memchr::memchr(b'.', unsigned).unwrap_or(unsigned.len());
    let (integer, fraction) = (&unsigned[..point], unsigned.get(point + 1..).unwrap_or_default());
    if !(integer.iter().chain(fraction).all(u8::is_ascii_digit) && integer.len() + fraction.len() > 0) {
        return Err(Fault::NotANumber);
    }
    if negative {
        return Err(Fault::Negative);
    }
    let number = |part: &[u8]| if part.is_empty() { Ok(0) } else { whole(part) };
    let kept = &fraction[..fraction.len().min(digits)];
    let fraction = number(kept)? * POWERS_OF_TEN[digits - kept.len()];
    let integer = number(integer)?.checked_mul(POWERS_OF_TEN[digits]);
    integer.and_then(|integer| integer.checked_add(fraction)).ok_or(Fault::TooLarge)
}

/// Byte range of the field with an index, from 0; the end of the line if there are fewer.
pub(crate) fn locate<const SEPARATOR: u8>(line: &[u8], index: usize) -> Range<usize> {
    let mut fields = Fields::<SEPARATOR>::new(line);
    match (0..=index).try_for_each(|_| fields.word("").map(|_| ())) {
        Ok(()) => fields.span(),
        Err(error) => error.span,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_is_digits_and_nothing_else() {
        let number = |text: &str| CommaFields::new(text.as_bytes()).number("n").map_err(|error| error.fault);
        assert_eq!(number("18446744073709551615,"), Ok(u64::MAX));
        assert_eq!(number(" 42 ,"), Ok(42));
        assert_eq!(number("18446744073709551616"), Err(Fault::TooLarge));
        assert_eq!(number("-8"), Err(Fault::Negative));
        for text in ["", "8x", "+8", "1e3", "0x8", "4 2", "--8", "1.5"] {
            assert_eq!(number(text), Err(Fault::NotANumber), "{text}");
        }
    }

    #[test]
    fn a_decimal_is_cut_to_the_digits_that_are_kept() {
        let seconds = |text: &str| BlankFields::new(text.as_bytes()).decimal(9, "t").map_err(|error| error.fault);
        assert_eq!(seconds("1.5"), Ok(1_500_000_000));
        assert_eq!(seconds("0.0000000019"), Ok(1));
        assert_eq!(seconds(".25"), Ok(250_000_000));
        assert_eq!(seconds("7"), Ok(7_000_000_000));
        assert_eq!(seconds("-0.5"), Err(Fault::Negative));
        assert_eq!(seconds("18446744073.709551615"), Ok(u64::MAX));
        assert_eq!(seconds("18446744073.709551616"), Err(Fault::TooLarge));
        for text in [".", "1.2.3", "1,5", "x"] {
            assert_eq!(seconds(text), Err(Fault::NotANumber), "{text}");
        }
    }

    #[test]
    fn bytes_become_every_sector_that_they_touch() {
        let fields = CommaFields::new(b"");
        assert_eq!(fields.extent(512, 1024), Ok((1, 2)));
        assert_eq!(fields.extent(511, 2), Ok((0, 2)));
        assert_eq!(fields.extent(0, 0).unwrap_err().fault, Fault::ZeroLength);
        assert_eq!(fields.extent(u64::MAX, 1).unwrap_err().fault, Fault::EndsTooFar);
        assert_eq!(fields.extent(0, 1 << 41).unwrap_err().fault, Fault::TooLarge);
        assert_eq!(fields.sectors(MAX_SECTOR - 7, 8).unwrap_err().fault, Fault::EndsTooFar);
        assert_eq!(fields.sectors(MAX_SECTOR - 8, 8), Ok(8));
    }

    #[test]
    fn an_error_names_the_very_field() {
        let mut fields = CommaFields::new(b"12, 3x ,5");
        assert_eq!(fields.number("a"), Ok(12));
        let error = fields.number("b").unwrap_err();
        assert_eq!((error.span.clone(), error.found(b"12, 3x ,5")), (4..6, "`3x` is not a number".to_owned()));
        assert_eq!(fields.number("c"), Ok(5));
        assert_eq!(fields.number("d").unwrap_err().fault, Fault::Missing);
        assert_eq!(locate::<b' '>(b" 12\t 345 6", 1), 5..8);
        assert_eq!(locate::<b','>(b"12,345", 5), 6..6);
    }

    proptest! {
        #[test]
        fn the_fast_path_reads_as_the_byte_by_byte_one(
            text in prop_oneof![
                "[0-9 ]{0,24}",
                "[0-9]{0,21}[.]?[0-9]{0,11}[ ,x\t]?[0-9.,\t -]{0,9}",
                "[0-9.,\t x+-]{0,30}",
            ],
        ) {
            fn both<const SEPARATOR: u8>(line: &[u8]) -> Result<(), TestCaseError> {
                let mut numbers = Fields::<SEPARATOR>::new(line);
                let mut decimals = Fields::<SEPARATOR>::new(line);
                let mut checked = Fields::<SEPARATOR>::new(line);
                let mut checked_decimals = Fields::<SEPARATOR>::new(line);
                for _ in 0..line.len() + 2 {
                    prop_assert_eq!(numbers.number("n"), checked.checked_number("n"));
                    prop_assert_eq!((numbers.at, numbers.span()), (checked.at, checked.span()));
                    prop_assert_eq!(decimals.decimal(9, "t"), checked_decimals.checked_decimal(9, "t"));
                    prop_assert_eq!((decimals.at, decimals.span()), (checked_decimals.at, checked_decimals.span()));
                }
                Ok(())
            }
            both::<b','>(text.as_bytes())?;
            both::<b' '>(text.as_bytes())?;
        }

        #[test]
        fn every_number_reads_back_and_any_bytes_are_answered(value: u64, bytes: Vec<u8>) {
            let text = format!("{value},");
            prop_assert_eq!(CommaFields::new(text.as_bytes()).number("n"), Ok(value));
            prop_assert_eq!(whole(value.to_string().as_bytes()), Ok(value));
            let mut fields = BlankFields::new(&bytes);
            while let Err(error) = fields.decimal(9, "t") {
                error.found(&bytes);
                if error.fault == Fault::Missing { break; }
            }
        }
    }
}
