//! Units of the columns of a text format that other programs fill otherwise.

use flashloom_units::{MS, Ns, S, US, choice};

use super::field::{BlankFields, FieldError};

choice! {
    /// Unit of addresses and sizes of a recording in columns.
    pub enum SizeUnit {
        /// Sectors of 512 bytes.
        Sectors = "sectors",
        /// Bytes.
        Bytes = "bytes",
    }
}

choice! {
    /// Unit of the times of a recording in columns.
    pub enum TimeUnit {
        /// Seconds.
        Seconds = "s",
        /// Milliseconds.
        Milliseconds = "ms",
        /// Microseconds.
        Microseconds = "us",
        /// Nanoseconds.
        Nanoseconds = "ns",
    }
}

impl TimeUnit {
    /// Its length.
    pub fn ns(self) -> Ns {
        match self {
            Self::Seconds => S,
            Self::Milliseconds => MS,
            Self::Microseconds => US,
            Self::Nanoseconds => 1,
        }
    }
}

/// Units in which columns are read; those of the format where none is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Units {
    pub size: Option<SizeUnit>,
    pub time: Option<TimeUnit>,
}

impl Units {
    /// True if any is said.
    pub fn are_said(self) -> bool {
        self != Self::default()
    }

    /// Reads the next field as a time in a unit, to the nanosecond.
    #[inline]
    pub fn time(unit: TimeUnit, fields: &mut BlankFields) -> Result<Ns, FieldError> {
        match unit {
            TimeUnit::Seconds => fields.decimal(9, "the arrival time in seconds"),
            TimeUnit::Milliseconds => fields.decimal(6, "the arrival time in milliseconds"),
            TimeUnit::Microseconds => fields.decimal(3, "the arrival time in microseconds"),
            TimeUnit::Nanoseconds => fields.number("the arrival time in nanoseconds"),
        }
    }

    /// Reads the next two fields as address and size: first sector, and sectors.
    #[inline]
    pub fn extent(self, fields: &mut BlankFields) -> Result<(u64, u32), FieldError> {
        if self.size == Some(SizeUnit::Bytes) {
            return fields.byte_extent("the size in bytes");
        }
        fields.sector_extent()
    }
}
