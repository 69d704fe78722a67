//! How logical pages are mapped to physical ones.
//!
//! Adding a mapping is one file here and one line in the table below; or, from another crate, [`Slot::add`].

use flashloom_nand::{Lpn, Nand};
use flashloom_units::{Figure, Policy, Role, Slot, SlotSpec};

use crate::{FtlReport, FtlSetup, PageWrite, Space, WantedStreams};

/// The values of the statistics of a mapping and of the policies that it took.
#[derive(Clone, Debug, Default)]
pub struct FtlFigures {
    /// Of the mapping.
    pub mapping: Vec<Figure>,
    /// Of its allocation, if it took one.
    pub allocation: Vec<Figure>,
    /// Of its collection policy, if it took one.
    pub collection: Vec<Figure>,
    /// Of its placement, if it took one.
    pub placement: Vec<Figure>,
}

/// How many pages ahead of its write a page is looked up, and what is known of its old copy.
const PREPARED: usize = 16;
const OLD_PREPARED: usize = 4;

/// A flash translation layer, driven by the layer above and emitting operations to the array.
pub trait Mapping: Send {
    /// Writes pages that the layer above writes together, or refuses them.
    fn write(&mut self, nand: &mut Nand, writes: &[PageWrite]);

    /// Writes pages one after the other, each as if it came alone, until the drive is worn out. Returns how many were
    /// written or refused.
    ///
    /// What is written is known some pages ahead, so that the misses of the processor's cache overlap.
    fn write_apart(&mut self, nand: &mut Nand, writes: &[PageWrite]) -> usize {
        writes.iter().take(PREPARED).for_each(|write| self.prepare(write.lpn));
        for (index, write) in writes.iter().enumerate() {
            if let Some(ahead) = writes.get(index + PREPARED) {
                self.prepare(ahead.lpn);
            }
            if let Some(ahead) = writes.get(index + OLD_PREPARED) {
                self.prepare_old(ahead.lpn);
            }
            self.write(nand, std::slice::from_ref(write));
            if self.is_worn_out() {
                return index + 1;
            }
        }
        writes.len()
    }

    /// The streams that the layer above is to write together, where it can; nothing where the mapping, or its
    /// allocation, looks for none.
    fn wanted_streams(&self) -> Option<WantedStreams> {
        None
    }

    /// The page will be written or read soon: its part of the map can be fetched into the cache. Changes nothing.
    fn prepare(&self, _lpn: Lpn) {}

    /// The page will be written next but for a few, and has been prepared: what is known of its old copy can be fetched
    /// too. Changes nothing.
    fn prepare_old(&self, _lpn: Lpn) {}

    /// Reads sectors of a page for the host; false if nothing is mapped there, and then nothing was emitted.
    fn read(&mut self, nand: &mut Nand, lpn: Lpn, mask: u32, tag: u32) -> bool;

    /// Whether a read of the page would find anything.
    fn is_mapped(&self, lpn: Lpn) -> bool;

    /// Forgets a whole page.
    fn trim(&mut self, nand: &mut Nand, lpn: Lpn);

    /// One step of work that need not be done now; false if nothing is left to do after it. Called while the drive is
    /// idle.
    fn idle(&mut self, _nand: &mut Nand) -> bool {
        false
    }

    /// The counters, from the last reset.
    fn report(&self) -> FtlReport;

    /// Starts the counters again at zero, after preconditioning; wear is kept.
    fn reset_report(&mut self);

    /// Free blocks of the whole drive.
    fn free_blocks(&self) -> u64;

    /// Whether a page could not be stored because too many blocks have gone bad: the drive's life is over, and from
    /// that page on all that is to be written is refused ([`Nand::refuse`]). What was stored can still be read.
    fn is_worn_out(&self) -> bool {
        false
    }

    /// The values of the policy's `statistics`, in that order, and those of the policies that it took: allocation,
    /// collection, placement.
    fn figures(&self) -> FtlFigures {
        FtlFigures::default()
    }

    /// Checks the invariants: valid pages = mapped pages, and every mapped page is the valid copy of its address.
    fn check(&self) -> Result<(), String>;

    /// Checks a state that was loaded, with that of the array: whatever it was loaded from, the mapping works on it. A
    /// mapping whose state can be saved checks here what [`Self::check`] and the rest of its code take for granted.
    ///
    /// # Errors
    /// The first thing that cannot be, with its place.
    fn check_loaded(&self, _nand: &Nand) -> Result<(), String> {
        self.check()
    }

    /// Its state, to be saved; none if it cannot be saved, and then a drive that uses it cannot be saved either.
    /// [`stateful!`](flashloom_units::stateful!) writes this and the next method.
    fn state(&self) -> Option<&dyn flashloom_units::State> {
        None
    }

    /// The same, to be loaded.
    fn state_mut(&mut self) -> Option<&mut dyn flashloom_units::State> {
        None
    }
}

mod bast;
pub mod cached;
mod dftl;
mod fast;
mod kast;
mod log_block;
mod mcsplit;
mod page;
pub mod page_store;
mod sast;
pub mod translation;

/// The stack around a mapping before it is built.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// The array, and how much of it the host sees.
    pub space: &'a Space,
    /// The `[ftl]` section, and the policies that a mapping may take: allocation, collection, placement.
    pub ftl: &'a FtlSetup,
}

/// Properties of a mapping before it is built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Pages of the streams that it, or its allocation, wants written together from the start; nothing where it looks
    /// for none.
    pub stream_pages: Option<u32>,
}

/// The stack that a mapping is built for.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The array, and how much of it the host sees.
    pub space: &'a Space,
    /// The `[ftl]` section, and the policies that a mapping may take: allocation, collection, placement.
    pub ftl: &'a FtlSetup,
    /// The array, erased, and which of its blocks are bad.
    pub nand: &'a Nand,
}

impl Role for dyn Mapping {
    type Site<'a> = Site<'a>;
    type Profile = Profile;
    type Context<'a> = Context<'a>;
}

/// The place of the mapping.
pub static SLOT: SlotSpec = SlotSpec {
    name: "mappings",
    key: "ftl.mapping",
    role: "mapping",
    help: "how logical pages are mapped to physical ones",
};

/// The mappings that are built in, in the order in which they are listed.
pub fn builtin() -> Slot<dyn Mapping> {
    Slot::new(
        &SLOT,
        [
            Policy::<dyn Mapping>::new(&page::SPEC, |_, on| Ok(Box::new(page::PageMap::new(on)?)))
                .with_profile(|_, site| page_store::profile(site, &page_store::Own::default())),
            dftl::policy(),
            log_block::policy::<bast::Bast>(&bast::SPEC),
            log_block::policy::<fast::Fast>(&fast::SPEC),
            log_block::policy::<sast::Sast>(&sast::SPEC),
            log_block::policy::<kast::Kast>(&kast::SPEC),
            log_block::policy::<mcsplit::McSplit>(&mcsplit::SPEC),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CapacityParams;
    use flashloom_nand::{HostPage, NandParams};
    use flashloom_units::{ParamSet, Prng};

    #[test]
    fn pages_that_are_written_apart_are_written_as_if_each_came_alone() {
        let device = NandParams { channels: 2, ways: 1, planes: 1, blocks: 64, pages: 32, ..NandParams::defaults() };
        let space = Space::new(device, &CapacityParams { over_provisioning: 0.5 });
        let mask = space.geometry().full_mask();
        for policy in ["page", "dftl", "bast", "fast", "sast", "kast"] {
            let ftl = FtlSetup { mapping: builtin().choose(policy, &[]).unwrap(), ..FtlSetup::with_defaults() };
            let written = |apart: usize| {
                let mut nand = Nand::new(&space.nand);
                let mut mapping = ftl.build(&space, &nand).unwrap();
                let mut prng = Prng::new(5);
                let page = |_| HostPage { lpn: Lpn(prng.below(space.logical_pages) as u32), mask, write: 0 };
                let writes: Vec<_> = (0..10_000).map(page).map(|page| PageWrite::new(page, Nand::NO_TAG)).collect();
                for writes in writes.chunks(apart) {
                    match writes {
                        [_] => mapping.write(&mut nand, writes),
                        _ => assert_eq!(mapping.write_apart(&mut nand, writes), writes.len()),
                    }
                }
                assert_eq!(mapping.check(), Ok(()));
                (nand.counts().programs, nand.counts().reads, nand.counts().erases, nand.erase_counts().to_vec())
            };
            assert_eq!(written(100), written(1), "{policy}");
        }
    }
}
