//! The data path of a drive between link and flash: with a write buffer or without, fixed when the drive is built.

use flashloom_units::{Reader, State, StateError, Writer};

use super::buffered::Buffered;

/// The data path between link and flash.
// One per drive: boxing the large variant would cost a dereference per command.
#[allow(clippy::large_enum_variant)]
pub(super) enum DataPath {
    /// Without a buffer: `direct.rs`.
    Direct,
    /// Through a write buffer.
    Buffered(Buffered),
}

impl DataPath {
    /// The buffered path; `None` on the direct path.
    pub(super) fn buffered(&self) -> Option<&Buffered> {
        match self {
            Self::Direct => None,
            Self::Buffered(buffered) => Some(buffered),
        }
    }
}

impl State for DataPath {
    fn save(&self, to: &mut Writer) {
        to.value(&self.buffered().is_some());
        if let Self::Buffered(buffered) = self {
            buffered.save(to);
        }
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        let is_buffered: bool = from.value()?;
        let say = |there| if there { "a drive with a write buffer" } else { "a drive without a write buffer" };
        match self {
            Self::Buffered(buffered) if is_buffered => buffered.load(from),
            Self::Direct if !is_buffered => Ok(()),
            _ => Err(from.error(say(!is_buffered).to_owned(), say(is_buffered).to_owned()).within("buffer")),
        }
    }
}
