//! Runs of digits, eight at a time.
//!
//! Eight digits in a 64-bit word are told from anything else by one addition and turned into their value by three
//! multiplications. The few that are left are read one by one: in columns of few digits that is faster than to shift a
//! word. The idea is in D. Lemire, "Number parsing at a gigabyte per second", Software: Practice and
//! Experience 51 (2021).

/// A word of eight equal bytes is this times the byte.
const EACH: u64 = 0x0101_0101_0101_0101;

/// Powers of ten that fit in 64 bits.
pub(super) const POWERS_OF_TEN: [u64; 20] = {
    let mut powers = [1u64; 20];
    let mut exponent = 1;
    while exponent < powers.len() {
        powers[exponent] = powers[exponent - 1] * 10;
        exponent += 1;
    }
    powers
};

/// Value of eight digits; `None` if one of the bytes is none.
#[inline(always)]
fn eight_digits(text: [u8; 8]) -> Option<u64> {
    // The first digit, of the highest rank, is in the lowest byte.
    let digits = u64::from_le_bytes(text) ^ (EACH * u64::from(b'0'));
    if (digits.wrapping_add(EACH * (0x80 - 10)) | digits) & (EACH * 0x80) != 0 {
        return None;
    }
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours * 10_000 + (fours >> 32)) & 0xffff_ffff)
}

/// Reads the run of digits at `at`: its value, modulo 2^64, and its end. The run may be empty.
#[inline(always)]
pub(super) fn digits(line: &[u8], at: usize) -> (u64, usize) {
    let (mut value, mut end) = (0u64, at);
    while let Some(eight) = line.get(end..).and_then(<[u8]>::first_chunk).and_then(|text| eight_digits(*text)) {
        value = value.wrapping_mul(POWERS_OF_TEN[8]).wrapping_add(eight);
        end += 8;
    }
    while let Some(digit) = line.get(end).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit <= 9) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        end += 1;
    }
    (value, end)
}

/// Appends a number in decimal.
#[inline]
pub(crate) fn push_number(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_run_of_digits_ends_at_whatever_is_no_digit() {
        assert_eq!(digits(b"", 0), (0, 0));
        assert_eq!(digits(b"7", 0), (7, 1));
        assert_eq!(digits(b"x", 0), (0, 0));
        assert_eq!(digits(b"12345678", 0), (12_345_678, 8));
        assert_eq!(digits(b"12345678,", 0), (12_345_678, 8));
        assert_eq!(digits(b"a1234567890123456789 ", 1), (1_234_567_890_123_456_789, 20));
    }

    #[test]
    fn a_byte_of_eight_that_is_no_digit_is_seen_wherever_it_is() {
        for at in 0..8 {
            for byte in 0..=u8::MAX {
                for others in [b'0', b'5', b'9'] {
                    let mut text = [others; 8];
                    text[at] = byte;
                    let value = || text.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0'));
                    assert_eq!(eight_digits(text), byte.is_ascii_digit().then(value), "{text:?}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_run_has_the_value_of_its_digits_one_by_one(text in "[0-9]{0,30}[ ,0-9/:]{0,20}", at in 0usize..20) {
            let (line, at) = (text.as_bytes(), at.min(text.len()));
            let run = line[at..].iter().take_while(|byte| byte.is_ascii_digit());
            let add = |value: u64, byte: &u8| value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
            prop_assert_eq!(digits(line, at), (run.clone().fold(0, add), at + run.count()));
        }
    }
}
