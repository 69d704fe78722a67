//! Vocabulary of all layers: time, sizes, identifiers, seeds, statistics, parameters, policies and errors that point
//! at a line and column.
//!
//! Nothing here knows about flash. The rule for units: time is integer nanoseconds, sizes are bytes, host addresses
//! are 512-byte sectors, and a name that holds a unit ends in it (`read_expire_ns`, `capacity_bytes`).

mod component;
mod divisor;
mod event_queue;
mod id;
mod index_set;
mod interrupt;
mod latency;
mod lines;
mod lists;
mod names;
mod param;
mod policy;
mod prefetch;
mod prng;
mod problem;
mod quantity;
mod refusal;
mod state;
mod statistic;
mod tracked;
mod violation;
mod visible;

pub use component::Component;
pub use divisor::Divisor;
pub use event_queue::{EventNumber, EventQueue};
pub use id::{Id, NO_INDEX};
pub use index_set::IndexSet;
pub use interrupt::Interrupt;
pub use latency::{Histogram, Latency, SparseLatency};
pub use lines::Lines;
pub use lists::Lists;
pub use param::{
    Ageing, Choice, FieldType, Kind, Must, OrName, Param, ParamSet, Parameters, Used, Value, is_path, nearest, one_of,
};
pub use policy::{Capability, Chosen, Policy, PolicySpec, Role, Slot, SlotSpec};
pub use prefetch::prefetch;
pub use prng::Prng;
pub use problem::{Problem, ProblemPlace, Problems};
pub use quantity::{
    format_energy, format_power, format_rate, format_ratio, format_size, format_time, parse_energy, parse_power,
    parse_rate, parse_ratio, parse_size, parse_time,
};
pub use refusal::Refusal;
pub use state::{
    Reader, State, StateError, Word, Writer, load_state, load_with, roll_back_with, save_for_rollback, save_state,
    save_with,
};
pub use statistic::{Best, Figure, Figures, Shown, Statistic, Unit};
pub use tracked::Tracked;
pub use violation::Violation;
pub use visible::{
    MOST_SHOWN, visible, visible_bytes, visible_json, visible_line, visible_message, visible_path, visible_whole_line,
};

/// Simulated time or a duration, in nanoseconds.
pub type Ns = u64;

/// One microsecond in nanoseconds.
pub const US: Ns = 1_000;
/// One millisecond in nanoseconds.
pub const MS: Ns = 1_000_000;
/// One second in nanoseconds.
pub const S: Ns = 1_000_000_000;
/// One kibibyte in bytes.
pub const KIB: u64 = 1 << 10;
/// One mebibyte in bytes.
pub const MIB: u64 = 1 << 20;
/// One gibibyte in bytes.
pub const GIB: u64 = 1 << 30;
/// Bytes in a host sector, the unit of every block-layer address.
pub const SECTOR_BYTES: u64 = 512;

/// Time to transfer `bytes` at `bytes_per_s`, rounded up to a nanosecond. A rate of zero stands for unlimited and
/// gives zero.
#[inline]
pub fn transfer_ns(bytes: u64, bytes_per_s: u64) -> Ns {
    match bytes.checked_mul(S) {
        _ if bytes_per_s == 0 => 0,
        Some(scaled) => scaled.div_ceil(bytes_per_s),
        None => (u128::from(bytes) * u128::from(S)).div_ceil(u128::from(bytes_per_s)) as Ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_rounds_up_and_an_unlimited_resource_takes_no_time() {
        assert_eq!(transfer_ns(8192, 333_000_000), 24_601);
        assert_eq!(transfer_ns(8192, 0), 0);
        assert_eq!(transfer_ns(1 << 40, 1 << 30), 1_024 * S);
    }
}
