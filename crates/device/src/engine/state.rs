//! Saved state of an engine. There are two kinds: the whole stack in the middle of a run, and the flash alone, as
//! preconditioning left it or a drive that was switched off, which can be loaded under any host and write buffer.

use flashloom_nand::Nand;
use flashloom_units::{
    Reader, State, StateError, Violation, Writer, load_state, load_with, roll_back_with, save_for_rollback, save_state,
    save_with, violation,
};

use super::account::Before;
use super::{Engine, Handed};
use crate::drive::SpentFlash;
use crate::outcome::HostReport;
use crate::precondition::Preconditioned;

// `ending` is set when a run begins, after the engine was restored. `sampled` belongs to observers, and `interrupt` to
// the caller that may stop the run. `filled` is about the work of this engine, not about its drive.
flashloom_units::state! {
    Engine {
        nested host, splits, drive, looking, report, handed, before;
        value now, plugged, scheduler_wakes_ns, idle, preconditioned, ended_ns;
        fixed timed, idle_delay_ns, flush_after_ns, ending, sampled, interrupt, filled;
    }
}

flashloom_units::state! { Handed { value completions, cookies; } }

flashloom_units::state! { Before { nested erases; value room, unwritten_map_pages; } }

flashloom_units::state! {
    HostReport {
        value generated, last_arrival_ns, completed, failed, read_bytes, write_bytes, duration_ns;
        nested read_latency, write_latency, flush_latency, discard_latency, fua_latency, preflush_latency,
            device_latency;
    }
}

/// Upper bound of the pages programmed so far, from the erases of each block.
fn most_programs(nand: &Nand) -> u64 {
    const MOST: u64 = 1 << 60;
    let fillings: u64 = nand.erase_counts().iter().map(|&erases| u64::from(erases) + 1).sum();
    fillings.saturating_mul(nand.geometry().pages.into()).min(MOST)
}

/// Saving and loading: a restored engine continues exactly like the saved one.
impl Engine {
    /// The whole state: requests, buffer, flash, and measurements.
    ///
    /// # Errors
    /// A policy that cannot be saved.
    pub fn snapshot(&self) -> Result<Vec<u8>, StateError> {
        save_state(self)
    }

    /// Loads a state saved from an engine of the same configuration and mode (timed or counting).
    ///
    /// # Errors
    /// A state that does not fit, with the field that does not. Drop the engine then.
    pub fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        self.looking.forget();
        load_state(self, state)
    }

    /// Saves the flash as [`Self::precondition`] left it: array and FTL. It can be loaded under any host and write
    /// buffer.
    ///
    /// # Errors
    /// A policy of the FTL that cannot be saved; or an engine in timed mode or with submitted requests, whose drive has
    /// more state than preconditioning created.
    pub fn save_aged(&self) -> Result<Vec<u8>, StateError> {
        self.refuse_begun()?;
        save_with(|to| self.put_flash(to))
    }

    /// Switches off a drive at rest. Returns its flash in the form of [`Self::save_aged`], and what ageing would have
    /// done that had written what was written since: so switched on, the drive has its data and its wear, and has
    /// served nothing. What it had cached is lost, and its pages are as old as its new clock. Drop the engine then.
    ///
    /// # Errors
    /// A drive that is at work, holds pages that flash lacks, or is verified; a policy of the FTL that cannot be saved.
    pub fn switch_off(&mut self) -> Result<(Vec<u8>, Preconditioned), StateError> {
        let at_rest = "a drive at rest, with everything on flash";
        match (self.is_idle(), self.drive.dirty_pages().max(self.drive.unwritten_pages())) {
            (true, 0) => {}
            (true, pages) => return Err(refused(at_rest, format!("{pages} pages that only its buffer has"))),
            (false, _) => return Err(refused(at_rest, "one that is at work".to_owned())),
        }
        self.refuse_verified()?;
        self.look();
        let new = Preconditioned { pages: 0, waf: None, stable: true, is_worn_out: false };
        let before = self.preconditioned.unwrap_or(new);
        let is_worn_out = self.drive.is_worn_out();
        let aged = Preconditioned {
            pages: before.pages + self.drive.ftl().report().host_page_writes,
            waf: before.waf.filter(|_| !is_worn_out),
            stable: before.stable && !is_worn_out,
            is_worn_out,
        };
        self.drive.flash.stop_timing();
        self.drive.flash.reset_counts();
        Ok((save_with(|to| self.put_flash(to))?, aged))
    }

    /// Loads preconditioned flash of the same device, FTL and checks, in place of [`Self::precondition`]. `aged` is
    /// what that preconditioning did: [`Outcome::preconditioned`](crate::Outcome::preconditioned) of the saved engine.
    ///
    /// # Errors
    /// An engine that was preconditioned already, is in timed mode or has submitted requests; it is unchanged. Or a
    /// state that does not fit, with the field that does not; drop the engine then.
    pub fn load_aged(&mut self, state: &[u8], aged: Preconditioned) -> Result<(), StateError> {
        self.take_aged(state, aged, true)
    }

    /// [`Self::load_aged`] of a state that passed it before, in an engine of the same device, FTL and checks: what it
    /// says is not checked again.
    ///
    /// # Errors
    /// The errors of [`Self::load_aged`], but those of parts that do not agree.
    pub fn load_aged_again(&mut self, state: &[u8], aged: Preconditioned) -> Result<(), StateError> {
        self.take_aged(state, aged, false)
    }

    /// Checks preconditioned flash, and keeps from now on what it changes, so that after a run another engine can roll
    /// it back.
    ///
    /// # Errors
    /// Flash whose parts do not agree.
    pub fn keep_for_rollback(&mut self) -> Result<(), Violation> {
        self.drive.flash.check()?;
        self.drive.flash.settle(true);
        Ok(())
    }

    /// The state for [`Self::roll_back`], just after [`Self::keep_for_rollback`]. That of [`Self::save_aged`] serves as
    /// well, but is longer by the map.
    ///
    /// # Errors
    /// The errors of [`Self::save_aged`].
    pub fn save_for_rollback(&mut self) -> Result<Vec<u8>, StateError> {
        self.refuse_begun()?;
        self.refuse_verified()?;
        save_for_rollback(|to| self.put_flash(to))
    }

    /// Array and FTL of the drive, whatever it does.
    pub fn into_spent_flash(self) -> SpentFlash {
        SpentFlash(self.drive.flash.broken_off())
    }

    /// [`Self::load_aged`] into a drive over flash that was in this state when [`Self::keep_for_rollback`] was called.
    /// What it says is not checked again.
    ///
    /// # Errors
    /// The errors of [`Self::load_aged`], but those of parts that do not agree; flash that keeps nothing.
    pub fn roll_back(&mut self, state: &[u8], aged: Preconditioned) -> Result<(), StateError> {
        self.refuse_aged()?;
        self.refuse_verified()?;
        roll_back_with(state, |from| self.take_flash(from))?;
        self.begin_aged(aged);
        Ok(())
    }

    fn take_aged(&mut self, state: &[u8], aged: Preconditioned, is_checked: bool) -> Result<(), StateError> {
        self.refuse_aged()?;
        load_with(state, |from| self.take_flash(from))?;
        let whole = |found: Violation| StateError {
            at: state.len(),
            ..refused("a drive whose parts agree", found.to_string())
        };
        if is_checked {
            self.check_aged(aged).map_err(whole)?;
        }
        self.drive.flash.settle(false);
        self.begin_aged(aged);
        Ok(())
    }

    /// Saves array and FTL, and the state of the checks that belong to them.
    fn put_flash(&self, to: &mut Writer) {
        self.drive.flash.save(to);
        self.looking.verifier.save(to);
    }

    /// Loads what [`Self::put_flash`] saved.
    fn take_flash(&mut self, from: &mut Reader) -> Result<(), StateError> {
        self.drive.flash.load(from)?;
        self.looking.verifier.load(from).map_err(|error| error.within("verifier"))?;
        self.drive.flash.reset_counts();
        Ok(())
    }

    fn begin_aged(&mut self, aged: Preconditioned) {
        self.preconditioned = Some(aged);
        self.before = Before::of(&self.drive);
        self.follow_life();
    }

    /// Checks loaded flash beyond the types and bounds of its fields. The file may come from anybody.
    fn check_aged(&self, aged: Preconditioned) -> Result<(), Violation> {
        self.drive.flash.check_loaded()?;
        let nand = self.drive.nand();
        self.looking.verifier.as_ref().map_or(Ok(()), |verifier| verifier.check_loaded(nand))?;
        let Preconditioned { pages, waf, stable, is_worn_out } = aged;
        if is_worn_out != self.drive.is_worn_out() {
            return Err(violation!("one that was aged with {pages} pages, worn out: {is_worn_out}"));
        }
        // Each stored page was written, and each written page was programmed after an erase or in the initially erased
        // block.
        let (stored, programs) = (self.drive.flash.stored_pages(), most_programs(nand));
        if pages < stored || pages > programs {
            return Err(violation!(
                "{pages} pages that it was aged with: {stored} are stored, {programs} at most were"
            ));
        }
        match waf {
            Some(waf) if !(waf > 0.0 && waf <= programs as f64) => {
                Err(violation!("a write amplification of {waf}, of a drive with {programs} programs at most"))
            }
            Some(waf) if is_worn_out => Err(violation!("a write amplification of {waf}, of a drive that is worn out")),
            _ if stable && is_worn_out => Err(Violation::new("one that is steady, and worn out")),
            _ => Ok(()),
        }
    }

    fn refuse_aged(&self) -> Result<(), StateError> {
        self.refuse_begun()?;
        match self.preconditioned {
            Some(_) => Err(refused("a drive that is new", "one that was aged already".to_owned())),
            None => Ok(()),
        }
    }

    fn refuse_verified(&self) -> Result<(), StateError> {
        match self.looking.verifier {
            Some(_) => Err(refused("a drive without checks", "one that is verified".to_owned())),
            None => Ok(()),
        }
    }

    fn refuse_begun(&self) -> Result<(), StateError> {
        let found = match self.report.generated {
            _ if self.timed => "one that takes time".to_owned(),
            0 => return Ok(()),
            generated => format!("one that was given {generated} requests"),
        };
        Err(refused("an engine that has not begun", found))
    }
}

/// The error for an engine that is in the wrong state for this call.
fn refused(expected: &str, found: String) -> StateError {
    StateError { field: String::new(), at: 0, expected: expected.to_owned(), found }
}
