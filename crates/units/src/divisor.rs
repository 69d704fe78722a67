//! Division by a number that is fixed for a run, as a multiplication.

/// A divisor of 32-bit numbers, with its reciprocal.
///
/// The geometry of a drive divides a page number several times an operation by numbers known only at run time; the
/// processor's own division takes tens of cycles. The quotient is `n * ceil(2^63 / d) / 2^63` rounded down, which is
/// exact for all 32-bit `n` and all `d` up to 2^31 (after Lemire, Kaser and Kurz 2019).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divisor {
    by: u32,
    reciprocal: u64,
}

impl Divisor {
    /// The greatest divisor.
    pub const MAX: u32 = 1 << 31;

    /// Prepares a division by a number from 1 to [`Self::MAX`].
    pub const fn new(by: u32) -> Self {
        assert!(by > 0, "nothing is divided by zero");
        assert!(by <= Self::MAX, "the quotient by a greater number is not exact");
        Self { by, reciprocal: ((1 << 63) - 1) / by as u64 + 1 }
    }

    /// The divisor as a plain number.
    #[inline(always)]
    pub const fn get(self) -> u32 {
        self.by
    }

    /// `n / d`.
    #[inline(always)]
    pub const fn quotient(self, n: u32) -> u32 {
        // A reciprocal of 63 bits leaves room for that of one, so that no divisor is a case of its own.
        ((self.reciprocal as u128 * n as u128) >> 63) as u32
    }

    /// `n mod d`.
    #[inline(always)]
    pub const fn remainder(self, n: u32) -> u32 {
        n - self.quotient(n) * self.by
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_divides_as_the_processor_does(n: u32, by in 1..=Divisor::MAX, small in 1u32..2_000) {
            for by in [by, small, 1, Divisor::MAX - 1, Divisor::MAX] {
                for n in [n, n / by * by, (n / by * by).wrapping_sub(1), u32::MAX, 0] {
                    let divisor = Divisor::new(by);
                    prop_assert_eq!((divisor.quotient(n), divisor.remainder(n)), (n / by, n % by));
                }
            }
        }
    }
}
