//! A mapping in Python.
//!
//! ```text
//! answers      flash commands, each checked as it is given (see `flash.rs`); the page that holds a logical page
//! by itself    everything that is to be written is refused, as in a drive that is worn out
//! ```

use flashloom::ftl::mapping::{Context, Site as Stack};
use flashloom::prelude::{
    BlockId, Data, Erase, FtlReport, Lpn, Mapping, MappingExtras, Nand, Origin, PageCopy, PageWrite, Policy,
    PolicySpec, Ppn, Program, Read, Refusal,
};
use flashloom::units::Value;
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::PyFrozenSet;

use super::answer::{self, Wrong};
use super::class::{Site, make};
use super::collection::geometry_of;
use super::flash::{Command, Flash, View};
use super::instance::{Instance, Method};

/// The entry of a class in the slot of mappings.
pub(super) fn policy(spec: &'static PolicySpec, site: Site) -> Policy<dyn Mapping> {
    let policy = Policy::<dyn Mapping>::new(spec, move |values: Vec<Value>, context: &Context<'_>| {
        let (nand, logical_pages) = (context.nand, context.space.logical_pages);
        let flash = Flash::new(spec.name, nand, logical_pages);
        let begun = site.begin(
            &values,
            |py| {
                let blocks = (0..nand.geometry().total_blocks() as u32).map(BlockId);
                let bad = PyFrozenSet::new(py, blocks.filter(|&block| nand.is_bad(block)).map(|block| block.0))?;
                make(py, "MappingSetup", (geometry_of(py, nand.geometry())?, logical_pages, bad)).map(Some)
            },
            |py, instance| ScriptedMapping::new(py, &site, instance, flash),
        );
        Ok(Box::new(begun?))
    });
    policy.with_profile(move |(), Stack { space, .. }| {
        if space.nand.program_failures == 0.0 && space.nand.erase_failures == 0.0 {
            return Ok(Default::default());
        }
        let found = format!("blocks that fail in use, and `{}`, which replaces none", spec.name);
        let refusal = Refusal::new(found, "a drive whose blocks do not fail, or a mapping that replaces them");
        Err(refusal.at(["device.program_failures", "device.erase_failures"]))
    })
}

struct ScriptedMapping {
    write: Method,
    lookup: Method,
    trim: Method,
    idle: Option<Method>,
    flash: Py<Flash>,
    instance: Instance,
    report: FtlReport,
}

impl ScriptedMapping {
    fn new(py: Python<'_>, site: &Site, instance: Instance, flash: Flash) -> PyResult<Self> {
        Ok(Self {
            write: instance.method(py, "write")?,
            lookup: instance.method(py, "lookup")?,
            trim: instance.method(py, "trim")?,
            idle: site.own(py, &instance, "idle")?,
            flash: Py::new(py, flash)?,
            instance,
            report: FtlReport::default(),
        })
    }

    /// Calls the method that writes. Returns its commands; none if the run has failed.
    fn commands_of(&self, writes: &[PageWrite], full_mask: u32) -> Option<Vec<Command>> {
        if self.instance.has_failed() {
            return None;
        }
        Python::attach(|py| {
            let call = self.flash.get().open(writes.len());
            let view = |(at, write): (usize, &PageWrite)| {
                Py::new(py, View { lpn: write.lpn.0, is_whole: write.mask() == full_mask, at, call })
            };
            let views = writes.iter().enumerate().map(view).collect::<PyResult<Vec<_>>>();
            let views = views.map_err(|error| self.instance.fail(py, "write", error)).ok();
            let answer = views.map(|views| self.instance.call(py, &self.write, (&self.flash, views), answer::nothing));
            let (commands, forgotten) = self.flash.get().close();
            answer??;
            if let Some(at) = forgotten {
                let found = format!("page {} unwritten at the end of the call", writes[at].lpn.0);
                self.instance.wrong(py, &self.write, Wrong::new(found, "each page of the call programmed"));
                return None;
            }
            Some(commands)
        })
    }

    /// Calls a method that writes no page of the host. Returns its answer and commands; none if the run has failed.
    fn commands_in<T>(
        &self,
        method: &Method,
        args: impl for<'py> PyCallArgs<'py>,
        read: impl FnOnce(&Bound<'_, PyAny>) -> Result<T, Wrong>,
    ) -> Option<(T, Vec<Command>)> {
        Python::attach(|py| {
            self.flash.get().open(0);
            let answer = self.instance.call(py, method, args, read);
            let (commands, _) = self.flash.get().close();
            answer.map(|answer| (answer, commands))
        })
    }

    /// Carries out the commands of a call.
    fn carry_out(&mut self, nand: &mut Nand, commands: &[Command], writes: &[PageWrite]) {
        let report = &mut self.report;
        for command in commands {
            match *command {
                Command::Program { write, block, page, old } => {
                    let reads = writes[write].program(nand, block, page, old);
                    report.read_modify_writes += u64::from(reads);
                    report.host_page_writes += 1;
                }
                Command::Copy { from, block, page } => {
                    nand.copy(PageCopy::new(from, block, page, Origin::Gc));
                    report.page_copies += 1;
                }
                Command::Pad { block, page } => {
                    nand.program(Program::new(block, page, Data::Filler, Origin::Gc));
                    report.page_copies += 1;
                }
                Command::Erase { block } => {
                    nand.erase(Erase::new(block, Origin::Gc));
                    report.block_erases += 1;
                }
            }
        }
    }

    /// The page that the policy says holds a logical page, which a page does.
    fn looked_up(&self, lpn: Lpn, holder: Ppn) -> Ppn {
        let expected = format!("{}, the physical page that was programmed for page {}", holder.0, lpn.0);
        let read = |answer: &Bound<'_, PyAny>| match answer::below(answer, 1 << 32, &expected)? {
            ppn if ppn == u64::from(holder.0) => Ok(()),
            _ => Err(Wrong::value(answer, &expected)),
        };
        self.instance.ask(&self.lookup, (lpn.0,), read);
        holder
    }
}

impl MappingExtras for ScriptedMapping {
    fn idle(&mut self, nand: &mut Nand) -> bool {
        let Some(method) = self.idle.as_ref().filter(|_| !self.instance.has_failed()) else { return false };
        let Some((is_more, commands)) = self.commands_in(method, (&self.flash,), answer::flag) else { return false };
        self.carry_out(nand, &commands, &[]);
        is_more
    }

    fn is_worn_out(&self) -> bool {
        self.instance.has_failed()
    }
}

figures_of_instance!(ScriptedMapping);

impl Mapping for ScriptedMapping {
    fn write(&mut self, nand: &mut Nand, writes: &[PageWrite]) {
        match self.commands_of(writes, nand.geometry().full_mask()) {
            Some(commands) => self.carry_out(nand, &commands, writes),
            None => writes.iter().for_each(|write| nand.refuse(write.lpn, write.mask(), write.tag)),
        }
    }

    fn read(&mut self, nand: &mut Nand, lpn: Lpn, mask: u32, tag: u32) -> bool {
        let Some(holder) = self.place_of(lpn) else { return false };
        let ppn = self.looked_up(lpn, holder);
        nand.read(Read { lpn, tag, ..Read::new(ppn, mask, Origin::Host) });
        self.report.host_page_reads += 1;
        true
    }

    fn place_of(&self, lpn: Lpn) -> Option<Ppn> {
        if self.instance.has_failed() { None } else { self.flash.get().holder(lpn) }
    }

    fn trim(&mut self, nand: &mut Nand, lpn: Lpn) {
        if self.instance.has_failed() || self.flash.get().holder(lpn).is_none() {
            return;
        }
        self.report.trimmed_pages += u64::from(self.flash.get().forget(lpn));
        if let Some(((), commands)) = self.commands_in(&self.trim, (&self.flash, lpn.0), answer::nothing) {
            self.carry_out(nand, &commands, &[]);
        }
    }

    fn report(&self) -> FtlReport {
        self.report.clone()
    }

    fn reset_report(&mut self) {
        self.report = FtlReport::default();
        self.instance.reset_figures();
    }

    fn free_blocks(&self) -> u64 {
        self.flash.get().free_blocks()
    }
}
