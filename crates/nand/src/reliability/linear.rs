//! Linear: retries proportional to wear, to the age of the data and to the reads of the block.
//!
//! ```text
//! need = erases / erases_a_retry + age / age_a_retry + reads / reads_a_retry      each rounded down; 0 if not given
//! need <= max_retries: the read succeeds after `need` retries; else it fails after max_retries
//! ```
//!
//! This is a simple rule and no law of flash: bit errors grow faster than linearly with wear, and differently for each
//! of the three causes (Cai et al., Proceedings of the IEEE 105(9), 2017). It shows how a drive behaves whose reads
//! need retries; how many your drive needs has to be measured. O(1) a read.

use flashloom_units::{Capability, Kind, Ns, PolicySpec, S, Value, params};

use super::{PageCondition, Reading, Reliability};

params! {
    /// Parameters of `linear`.
    pub struct LinearParams {
        /// Erases of a block that add one retry to its pages.
        erases_a_retry: u32 => "erases_a_retry", Kind::Count { min: 1, max: 10_000_000 }, Value::Count(1_000),
            "Fewer make worn blocks slower.";
        /// Age of the data that adds one retry; absent if age adds none.
        age_a_retry_ns: Option<Ns> => "age_a_retry", Kind::Time { min: 1, max: 100_000_000 * S }, Value::Absent,
            "Data ages in simulated time alone: runs are seconds, and retention is months.";
        /// Reads of a block since its erase that add one retry to its pages; absent if reads add none.
        reads_a_retry: Option<u64> => "reads_a_retry", Kind::Count { min: 1, max: 1_000_000_000_000 }, Value::Absent,
            "Fewer make blocks that are read a lot slower, until they are collected.";
        /// Maximum number of retries; a page that needs more cannot be read.
        max_retries: u32 => "max_retries", Kind::Count { min: 0, max: 65_535 }, Value::Count(100),
            "Fewer bound the time of a read, and lose data sooner.";
    }
}

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "linear",
    summary: "retries grow with wear, age and reads, each in proportion",
    details: "A page needs erases / erases_a_retry + age / age_a_retry + reads / reads_a_retry retries, each rounded \
              down. One that needs more than max_retries cannot be read.",
    source: "a plain rule of this project; Cai et al., Proceedings of the IEEE 105(9), 2017, has the laws of flash",
    example: "device.reliability=linear device.linear.erases_a_retry=1",
    instead: "With the error rates of a chip at hand, a policy of your own from another crate follows them.",
    needs: &[],
    offers: &[Capability::SAVED_STATE],
    params: LinearParams::PARAMS,
    statistics: &[],
};

pub(super) struct Linear {
    params: LinearParams,
}

flashloom_units::state! { Linear { fixed params; } }

impl Linear {
    pub(super) fn new(params: LinearParams) -> Self {
        Self { params }
    }
}

flashloom_units::component! { Linear }

impl Reliability for Linear {
    fn read(&mut self, page: &PageCondition) -> Reading {
        let LinearParams { erases_a_retry, age_a_retry_ns, reads_a_retry, max_retries } = self.params;
        let of = |amount: u64, step: Option<u64>| step.map_or(0, |step| amount / step);
        let by_wear = page.erases / erases_a_retry;
        let need = u128::from(by_wear) + u128::from(of(page.age_ns, age_a_retry_ns));
        let need = need + u128::from(of(page.reads, reads_a_retry));
        // The range of the parameter fits in 16 bits.
        if need <= u128::from(max_retries) { Reading::after(need as u16) } else { Reading::never(max_retries as u16) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlockId, Ppn};
    use flashloom_units::Parameters;

    fn worn(erases: u32, age_ns: Ns, reads: u64) -> PageCondition {
        PageCondition { age_ns, reads, ..PageCondition::new(Ppn(0), BlockId(0), 0, erases) }
    }

    fn linear(erases: u64, age: Option<Ns>, reads: Option<u64>, most: u64) -> Linear {
        let [age, reads] = [age.map(Value::Time), reads.map(Value::Count)].map(|value| value.unwrap_or(Value::Absent));
        Linear::new(Parameters::of(&[Value::Count(erases), age, reads, Value::Count(most)]))
    }

    #[test]
    fn each_cause_adds_its_whole_steps() {
        let mut policy = linear(10, Some(1_000), Some(100), 50);
        for (condition, retries) in
            [(worn(0, 0, 0), 0), (worn(9, 999, 99), 0), (worn(10, 0, 0), 1), (worn(25, 3_500, 199), 2 + 3 + 1)]
        {
            assert_eq!(policy.read(&condition), Reading::after(retries), "{condition:?}");
        }
    }

    #[test]
    fn a_cause_without_a_step_adds_nothing() {
        assert_eq!(linear(10, None, None, 50).read(&worn(20, u64::MAX, u64::MAX)), Reading::after(2));
    }

    #[test]
    fn a_page_that_needs_more_than_there_may_be_is_given_up() {
        let mut policy = linear(1, Some(1), None, 3);
        assert_eq!(policy.read(&worn(3, 0, 0)), Reading::after(3));
        assert_eq!(policy.read(&worn(4, 0, 0)), Reading::never(3));
        assert_eq!(policy.read(&worn(u32::MAX, u64::MAX, 0)), Reading::never(3));
        assert_eq!(linear(1, None, None, 0).read(&worn(1, 0, 0)), Reading::never(0));
    }
}
