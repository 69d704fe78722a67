//! Mappings of logical to physical pages.
//!
//! To add a mapping, add one file here and one line in the table below; from another crate, call [`Slot::add`].

use flashloom_units::Slot;

mod bast;
pub mod cached;
mod dftl;
mod fast;
mod interface;
mod janus_ftl;
mod kast;
mod last;
mod lazyftl;
mod leaftl;
mod log_block;
mod map;
mod mcsplit;
mod page;
pub mod page_store;
mod sast;
mod sftl;
mod superblock_ftl;
pub mod translation;
mod u_ftl;

pub use crate::setup::{Context, Site};
pub use crate::slots::MAPPING as SLOT;
pub use interface::{Mapping, MappingExtras, Profile, Traits};

/// The built-in mappings, in the order of `flashloom list`.
pub fn builtin() -> Slot<dyn Mapping> {
    Slot::new(
        &SLOT,
        [
            cached::page_level::<page::InMemory>(&page::SPEC),
            cached::policy::<dftl::MappingTable>(&dftl::SPEC),
            cached::policy::<sftl::CondensedPages>(&sftl::SPEC),
            cached::policy::<leaftl::LearnedPages>(&leaftl::SPEC),
            cached::policy::<lazyftl::UpdateTable>(&lazyftl::SPEC),
            cached::page_level::<u_ftl::ExtentMap>(&u_ftl::SPEC),
            log_block::policy::<bast::Bast>(&bast::SPEC),
            log_block::policy::<fast::Fast>(&fast::SPEC),
            log_block::policy::<last::Last>(&last::SPEC),
            log_block::policy::<sast::Sast>(&sast::SPEC),
            log_block::policy::<kast::Kast>(&kast::SPEC),
            log_block::policy::<mcsplit::McSplit>(&mcsplit::SPEC),
            superblock_ftl::policy(),
            janus_ftl::policy(),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CapacityParams, FtlSetup, PageWrite, Space, allocation, collection, placement};
    use flashloom_nand::{HostPage, Lpn, Nand, NandParams};
    use flashloom_units::{ParamSet, Prng};

    #[test]
    fn pages_that_are_written_apart_are_written_as_if_each_came_alone() {
        let device = NandParams { channels: 2, ways: 1, planes: 1, blocks: 64, pages: 32, ..NandParams::defaults() };
        let space = Space::new(device, &CapacityParams::of(0.5));
        let mask = space.geometry().full_mask();
        for policy in builtin().policies() {
            let ftl = FtlSetup { mapping: policy.with(&[]).unwrap(), ..FtlSetup::with_defaults() };
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
            assert_eq!(written(100), written(1), "{}", policy.spec.name);
        }
    }

    #[test]
    fn every_policy_reports_the_figures_that_it_describes() {
        let device = NandParams { channels: 2, ways: 1, planes: 1, blocks: 64, pages: 32, ..NandParams::defaults() };
        let space = Space::new(device, &CapacityParams::of(0.5));
        for mapping in builtin().policies() {
            let allocations = allocation::builtin();
            for allocation in allocations.policies() {
                let ftl = FtlSetup {
                    mapping: mapping.with(&[]).unwrap(),
                    allocation: allocation.with(&[]).unwrap(),
                    ..FtlSetup::with_defaults()
                };
                let built = ftl.build(&space, &Nand::new(&space.nand)).unwrap();
                let figures =
                    built.figures_taken().with(&SLOT, built.report().figures().chain(built.figures()).collect());
                for (slot, values) in figures.iter() {
                    let chosen =
                        [ftl.mapping.spec(), ftl.allocation.spec(), ftl.collection.spec(), ftl.placement.spec()];
                    let slots = [&SLOT, &allocation::SLOT, &collection::SLOT, &placement::SLOT];
                    let spec = chosen[slots.iter().position(|other| *other == slot).expect("a slot of an FTL")];
                    let described: Vec<_> = slot.statistics_of(spec).collect();
                    assert_eq!(described.len(), values.len(), "{}", spec.name);
                    for (statistic, value) in described.iter().zip(values) {
                        assert!(value.unit().is_none_or(|unit| unit == statistic.unit), "{}", statistic.name);
                    }
                }
            }
        }
    }
}
