//! Observation of an engine: the checks of a verified run, the anatomy of latency, and events for observers.

use flashloom_nand::{Lpn, Ppn};
use flashloom_units::Ns;
use flashloom_verify::Verifier;

use super::Engine;
use crate::anatomy::{Anatomy, Served};
use crate::drive::Drive;
use crate::event::{DriveEvent, Event, Interest};
use crate::misuse::Misuse;

/// Observers that are part of the engine, and events kept for observers outside.
#[derive(Default)]
pub(super) struct Looking {
    pub(super) verifier: Option<Box<Verifier>>,
    pub(super) anatomy: Option<Box<Anatomy>>,
    /// Events of the drive that no observer has seen yet.
    told: Vec<Event>,
    interest: Interest,
    events: Vec<(Ns, Event)>,
    served: Vec<Served>,
}

// Events kept for others are not part of the engine's state.
flashloom_units::state! { Looking { nested verifier, anatomy; scratch told; fixed interest, events, served; } }

impl Looking {
    /// Events that are kept before time stops so that the observers collect them.
    const KEPT: usize = 4_096;

    pub(super) fn new(drive: &mut Drive) -> Self {
        let verifier = drive.nand().is_watched().then(|| Box::new(drive.flash.verifier()));
        Self { verifier, ..Self::default() }
    }

    /// Drops the events kept for others, after the load of another state.
    pub(super) fn forget(&mut self) {
        self.events.clear();
        self.served.clear();
    }

    /// Takes the events of the drive.
    pub(super) fn follow(&mut self, now: Ns, drive: &mut Drive) {
        let mut told = std::mem::take(&mut self.told);
        drive.flash.take_told(&mut told);
        told.drain(..).for_each(|event| self.see(now, &event));
        self.told = told;
    }

    pub(super) fn see(&mut self, now: Ns, event: &Event) {
        if let Some(verifier) = &mut self.verifier {
            verify(verifier, event);
        }
        if let Some(anatomy) = &mut self.anatomy
            && let Some(served) = anatomy.see(now, event)
            && self.interest.served
        {
            self.served.push(served);
        }
        if self.interest.events {
            self.events.push((now, *event));
        }
    }
}

/// Passes an event to the checks of a verified run.
fn verify(verifier: &mut Verifier, event: &Event) {
    let oracle = &mut verifier.oracle;
    match *event {
        Event::Flash(flash) => verifier.flash(&flash),
        Event::Drive(event) => match event {
            DriveEvent::ReadBuffered { lpn, mask, slot, .. } => oracle.read_buffered(lpn, mask, slot),
            DriveEvent::ReadUnmapped { lpn, mask, .. } => oracle.read_unmapped(lpn, mask),
            DriveEvent::ReadFlash { lpn, mask, slot, .. } => oracle.read_flash(lpn, mask, slot),
            DriveEvent::ReadAhead { lpn, slot } => oracle.read_flash(lpn, 0, Some(slot)),
            DriveEvent::ReadCached { lpn, mask, slot, .. } => oracle.read_buffered(lpn, mask, slot),
            DriveEvent::Stored { lpn, mask, slot, taken_over, .. } => oracle.stored(lpn, mask, slot, taken_over),
            DriveEvent::WrittenThrough { page, .. } => oracle.written_through(page),
            DriveEvent::Evicted { page, slot } => oracle.evicted(page, slot),
            DriveEvent::Discarded { lpn } => oracle.discarded(lpn),
            DriveEvent::WriteFailed { lpn, mask } => oracle.write_failed(lpn, mask),
            _ => {}
        },
        _ => {}
    }
}

impl Engine {
    /// The physical page that holds a logical page; `None` if flash does not hold it.
    pub fn place_of(&self, lpn: Lpn) -> Option<Ppn> {
        self.drive.ftl().place_of(lpn)
    }

    /// Erased pages of the array ([`flashloom_nand::Nand::erased_pages`]).
    pub fn erased_pages(&self) -> u64 {
        self.drive.nand().erased_pages()
    }

    /// From now on keeps events for [`Self::events`], or ended requests for [`Self::served`]. The caller has to take
    /// them regularly, or they accumulate.
    ///
    /// # Errors
    /// Ended requests, which come with their anatomy, need a timed engine that has had no request yet.
    pub fn watch(&mut self, interest: Interest) -> Result<(), Misuse> {
        if interest.served {
            self.keep_anatomy()?;
        }
        if interest.events {
            self.drive.flash.nand.watch();
        }
        let Interest { events, served, .. } = &mut self.looking.interest;
        (*events, *served) = (*events || interest.events, *served || interest.served);
        Ok(())
    }

    /// From now on records the anatomy of every request, for [`Outcome::anatomy`](crate::Outcome::anatomy).
    ///
    /// # Errors
    /// An engine in counting mode, or one that has had requests.
    pub fn keep_anatomy(&mut self) -> Result<(), Misuse> {
        if self.looking.anatomy.is_some() {
            return Ok(());
        }
        if !self.timed {
            return Err(Misuse::Untimed);
        }
        if self.report.generated > 0 {
            return Err(Misuse::Begun);
        }
        self.drive.flash.nand.watch();
        let queue_depth = self.host.queue_depth();
        self.looking.anatomy = Some(Box::new(Anatomy::new(self.drive.nand().geometry(), queue_depth)));
        Ok(())
    }

    /// The events since the last call, each with its time.
    pub fn events(&mut self) -> impl Iterator<Item = (Ns, Event)> + '_ {
        self.looking.events.drain(..)
    }

    /// The requests that have ended since the last call, in order of completion.
    pub fn served(&mut self) -> impl Iterator<Item = Served> + '_ {
        self.looking.served.drain(..)
    }

    /// True if enough events are kept that the observers should collect them.
    #[inline]
    pub(super) fn has_much_to_show(&self) -> bool {
        self.looking.events.len() >= Looking::KEPT
    }

    /// Shows the drive's events of this timestamp to the observers.
    #[inline]
    pub(crate) fn look(&mut self) {
        if self.drive.nand().is_watched() {
            self.looking.follow(self.now, &mut self.drive);
        }
    }

    /// Shows an event of the host to the observers.
    #[inline]
    pub(super) fn tell(&mut self, event: impl FnOnce(&mut Self) -> Event) {
        if self.drive.nand().is_watched() {
            let event = event(self);
            self.looking.follow(self.now, &mut self.drive);
            self.looking.see(self.now, &event);
        }
    }
}
