//! Those who look at an engine: the checks of a verified run, the anatomy of latency, and whoever asks for events.

use flashloom_nand::Lpn;
use flashloom_units::Ns;
use flashloom_verify::Verifier;

use super::Engine;
use crate::anatomy::{Anatomy, Served};
use crate::drive::Drive;
use crate::event::{DriveEvent, Event, Interest};
use crate::misuse::Misuse;

/// Observers that belong to the engine, and what is kept for others.
#[derive(Default)]
pub(super) struct Looking {
    pub(super) verifier: Option<Box<Verifier>>,
    pub(super) anatomy: Option<Box<Anatomy>>,
    /// What the drive has told and nobody has seen yet.
    told: Vec<Event>,
    interest: Interest,
    events: Vec<(Ns, Event)>,
    served: Vec<Served>,
}

// What is kept for others is theirs, and not a part of the engine.
flashloom_units::state! { Looking { nested verifier, anatomy; scratch told; fixed interest, events, served; } }

impl Looking {
    /// Events that are kept before time is to stop for whoever collects them.
    const KEPT: usize = 4_096;

    pub(super) fn new(drive: &mut Drive) -> Self {
        let verifier = drive.is_watched().then(|| Box::new(drive.verifier()));
        Self { verifier, ..Self::default() }
    }

    /// Forgets what is kept for others: it belongs to another past.
    pub(super) fn forget(&mut self) {
        self.events.clear();
        self.served.clear();
    }

    /// Takes what the drive has to say.
    pub(super) fn follow(&mut self, now: Ns, drive: &mut Drive) {
        let mut told = std::mem::take(&mut self.told);
        drive.take_told(&mut told);
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

/// The checks of a verified run as an observer.
fn verify(verifier: &mut Verifier, event: &Event) {
    let oracle = &mut verifier.oracle;
    match *event {
        Event::Flash(flash) => verifier.flash(&flash),
        Event::Drive(event) => match event {
            DriveEvent::ReadBuffered { lpn, mask, slot } => oracle.read_buffered(lpn, mask, slot),
            DriveEvent::ReadUnmapped { lpn, mask } => oracle.read_unmapped(lpn, mask),
            DriveEvent::ReadFlash { lpn, mask, slot, .. } => oracle.read_flash(lpn, mask, slot),
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
    /// Whether flash holds a page, by the page's number.
    pub fn is_mapped(&self, lpn: Lpn) -> bool {
        self.drive.ftl().is_mapped(lpn)
    }

    /// Pages that flash can store before anything is erased ([`flashloom_nand::Nand::erased_pages`]).
    pub fn erased_pages(&self) -> u64 {
        self.drive.nand().erased_pages()
    }

    /// From now on keeps what happens, for [`Self::events`], or requests that have ended, for [`Self::served`]. Who
    /// asks for either collects it, or it takes ever more room.
    ///
    /// # Errors
    /// Requests that have ended are told with their anatomy, which needs an engine that takes time and was given no
    /// request yet.
    pub fn watch(&mut self, interest: Interest) -> Result<(), Misuse> {
        if interest.served {
            self.keep_anatomy()?;
        }
        if interest.events {
            self.drive.watch();
        }
        let Interest { events, served, .. } = &mut self.looking.interest;
        (*events, *served) = (*events || interest.events, *served || interest.served);
        Ok(())
    }

    /// From now on follows every nanosecond of every request, for [`Outcome::anatomy`](crate::Outcome::anatomy).
    ///
    /// # Errors
    /// An engine that does not take time, or that was given requests.
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
        self.drive.watch();
        let queue_depth = self.host.queue_depth();
        self.looking.anatomy = Some(Box::new(Anatomy::new(self.drive.nand().geometry(), queue_depth)));
        Ok(())
    }

    /// What happened since the last call, each with its time.
    pub fn events(&mut self) -> impl Iterator<Item = (Ns, Event)> + '_ {
        self.looking.events.drain(..)
    }

    /// The requests that have ended since the last call, in order.
    pub fn served(&mut self) -> impl Iterator<Item = Served> + '_ {
        self.looking.served.drain(..)
    }

    /// Whether enough has happened that whoever looks should see it.
    #[inline]
    pub(super) fn has_much_to_show(&self) -> bool {
        self.looking.events.len() >= Looking::KEPT
    }

    /// Those who look see what the drive has done at this moment.
    #[inline]
    pub(crate) fn look(&mut self) {
        if self.drive.is_watched() {
            self.looking.follow(self.now, &mut self.drive);
        }
    }

    /// Those who look see what the host does.
    #[inline]
    pub(super) fn tell(&mut self, event: impl FnOnce(&mut Self) -> Event) {
        if self.drive.is_watched() {
            let event = event(self);
            self.looking.follow(self.now, &mut self.drive);
            self.looking.see(self.now, &event);
        }
    }
}
