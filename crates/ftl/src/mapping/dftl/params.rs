//! The parameters of DFTL.

use flashloom_units::{KIB, Kind, Value, params};

/// Bytes of an entry in the cache: a logical and a physical page number.
pub(super) const CACHED_ENTRY_BYTES: u64 = 8;

params! {
    /// Parameters of DFTL.
    pub struct DftlParams {
        /// Memory for cached entries of the map, 8 bytes each.
        cache_bytes: u64 => "cache", Kind::Size { min: CACHED_ENTRY_BYTES, max: 1 << 36 }, Value::Size(512 * KIB),
            "A larger cache reads and writes the map on flash less often.";
        /// Share of the cache for entries that were used again while cached: the protected segment.
        protected: f64 => "protected", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Ratio(0.5),
            "A larger share keeps what was used twice longer, against entries that are used once.";
    }
}
