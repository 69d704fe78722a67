//! The paths through the timed array: its code is compiled twice, for a plain drive and for every other.
//!
//! A plain drive has nobody who observes it, and nothing of the following: blocks that can fail, data that is kept
//! about pages, reads that can fail, another cell mode, times that differ, suspension, cache programs, copyback, reads
//! that are measured. On its path none of these is asked about where pages are read and programmed; what is seldom, as
//! an erase, takes the other. Which path a drive takes follows from its parameters and observers; both come to the
//! same.

use crate::event::Event;

/// A path: where events go, and what has to be asked.
pub(crate) trait Path {
    /// Whether it is that of plain drives.
    const IS_PLAIN: bool;

    /// The events, if they are recorded.
    fn recorded(&mut self) -> Option<&mut Recorded>;

    /// [`Self::IS_PLAIN`], where the path has no name.
    #[inline(always)]
    fn is_plain(&self) -> bool {
        Self::IS_PLAIN
    }

    /// Records an event, if events are recorded.
    #[inline(always)]
    fn tell(&mut self, event: impl FnOnce() -> Event) {
        if let Some(recorded) = self.recorded() {
            recorded.push(event());
        }
    }
}

/// The path of plain drives.
pub(crate) struct Plain;

impl Path for Plain {
    const IS_PLAIN: bool = true;

    #[inline(always)]
    fn recorded(&mut self) -> Option<&mut Recorded> {
        None
    }
}

/// The path of all others. Events are behind a pointer, because they are rarely recorded.
#[derive(Default)]
pub(crate) struct Events(pub(crate) Option<Box<Recorded>>);

impl Path for Events {
    const IS_PLAIN: bool = false;

    #[inline(always)]
    fn recorded(&mut self) -> Option<&mut Recorded> {
        self.0.as_deref_mut()
    }
}

/// Recorded events.
#[derive(Default)]
pub(crate) struct Recorded(pub(crate) Vec<Event>);

impl Recorded {
    #[cold]
    pub(crate) fn push(&mut self, event: Event) {
        self.0.push(event);
    }
}
