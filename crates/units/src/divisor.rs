//! Division by a number that is fixed for a run, as a multiplication.

/// A divisor of 32-bit numbers, with its reciprocal.
///
/// The geometry of a drive divides a page number several times an operation by numbers known only at run time; the
/// processor's own division takes tens of cycles. The quotient is the high half of `n * ceil(2^64 / d)`, which is exact
/// for all 32-bit `n` and `d` (Lemire, Kaser and Kurz 2019).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divisor {
    by: u32,
    reciprocal: u64,
}

impl Divisor {
    /// Prepares a division by a number that is not zero.
    pub const fn new(by: u32) -> Self {
        assert!(by > 0, "nothing is divided by zero");
        Self { by, reciprocal: (u64::MAX / by as u64).wrapping_add(1) }
    }

    /// The divisor as a plain number.
    #[inline(always)]
    pub const fn get(self) -> u32 {
        self.by
    }

    /// `n / d`.
    #[inline(always)]
    pub const fn quotient(self, n: u32) -> u32 {
        // The reciprocal of one does not fit and is zero.
        if self.by == 1 { n } else { ((self.reciprocal as u128 * n as u128) >> 64) as u32 }
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
        fn it_divides_as_the_processor_does(n: u32, by in 1u32.., small in 1u32..2_000) {
            for by in [by, small, 1, u32::MAX] {
                for n in [n, n / by * by, (n / by * by).wrapping_sub(1), u32::MAX, 0] {
                    let divisor = Divisor::new(by);
                    prop_assert_eq!((divisor.quotient(n), divisor.remainder(n)), (n / by, n % by));
                }
            }
        }
    }
}
