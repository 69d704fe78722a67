//! The path that the pages of commands take between the link and flash, which a drive has from its beginning.

use flashloom_units::{Reader, State, StateError, Writer};

use super::buffered::Buffered;

/// The way of pages between the link and flash.
// One a drive, and always in its place: a box would cost a look-up for every command.
#[allow(clippy::large_enum_variant)]
pub(super) enum DataPath {
    /// To flash and back: `direct.rs`.
    Direct,
    /// By a write buffer.
    Buffered(Buffered),
}

impl DataPath {
    /// The buffered path, unless pages go directly.
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
