//! Worn: the pages of worn blocks need retries, and those of very worn ones cannot be read.
//!
//! ```text
//! a block is worn from `fresh` erases on
//! retries = 0 until then, 1 from then on, and twice as many after each further `doubling` erases
//! a page that needs more than `most` cannot be read
//! ```

use flashloom::prelude::*;

params! {
    /// The parameters of this policy.
    pub struct Params {
        /// Erases of a block before its pages need retries.
        fresh: u32 => "fresh", Kind::Count { min: 0, max: 1 << 20 }, Value::Count(1_000),
            "Later wear leaves more reads as fast as those of a new drive.";
        /// Erases in which the retries double.
        doubling: u32 => "doubling", Kind::Count { min: 1, max: 1 << 20 }, Value::Count(500),
            "Fewer make the end of a block come sooner.";
        /// Most retries before the drive gives up.
        most: u32 => "most", Kind::Count { min: 0, max: 1 << 15 }, Value::Count(32),
            "Fewer bound the longest read, and lose data sooner.";
    }
}

static SPEC: PolicySpec = PolicySpec {
    name: "worn",
    summary: "reads of worn blocks need retries, twice as many with every step of wear",
    details: "From `fresh` erases on a page needs one retry, and twice as many after each `doubling` erases more.",
    source: "an example",
    params: Params::PARAMS,
    statistics: &[Statistic::count(
        "worn_reads",
        "reads of pages in worn blocks",
    )],
    ..PolicySpec::BLANK
};

/// The policy as a policy.
pub fn policy() -> Policy<dyn Reliability> {
    Policy::<dyn Reliability>::new(&SPEC, |params: Params, _| {
        Ok(Box::new(Worn {
            params,
            worn_reads: 0,
        }))
    })
}

struct Worn {
    params: Params,
    worn_reads: u64,
}

impl Component for Worn {
    fn figures(&self) -> Vec<Figure> {
        vec![Figure::Count(self.worn_reads)]
    }
}

impl Reliability for Worn {
    fn read(&mut self, page: &PageCondition) -> Reading {
        let Params {
            fresh,
            doubling,
            most,
        } = self.params;
        let Some(wear) = page.erases.checked_sub(fresh) else {
            return Reading::AT_ONCE;
        };
        self.worn_reads += 1;
        match 1u32.checked_shl(wear / doubling) {
            Some(retries) if retries <= most => Reading::after(retries as u16),
            _ => Reading::never(most as u16),
        }
    }
}
