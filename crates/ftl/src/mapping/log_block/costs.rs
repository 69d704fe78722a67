//! What merges cost on an idle chip.

use flashloom_nand::{MultiPlane, NandParams};
use flashloom_units::Ns;

use crate::placement::Times;
use crate::store::Upkeep;

/// Latencies of merge operations on an idle chip.
#[derive(Clone, Copy, Debug)]
pub(in crate::mapping) struct Costs {
    /// Page read, including transfer.
    read_ns: Ns,
    /// Read of a page's spare area: it transfers a sector.
    spare_read_ns: Ns,
    /// Page program, including transfer.
    program_ns: Ns,
    /// Page copy: read, both transfers and program, for the slowest page type.
    pub(super) copy_ns: Ns,
    /// Block erase, including command time.
    erase_ns: Ns,
    /// Chips that the pages of a merge are distributed over.
    width: u32,
}

impl Costs {
    /// Costs of blocks of `width` chips, with `of_chip` blocks of each chip: one command erases these if the planes of
    /// a die work together, otherwise they are erased one after the other.
    pub(in crate::mapping) fn new(nand: &NandParams, width: u32, of_chip: u32) -> Self {
        let timing = nand.slowest_timing();
        let slowest = |times: &[Ns; 4]| times[..timing.page_types as usize].iter().copied().max().unwrap_or(0);
        let transfer_ns = timing.command_ns + timing.transfer_ns(nand.geometry().sectors_per_page());
        let spare_read_ns = slowest(&timing.read_ns) + timing.command_ns + timing.transfer_ns(1);
        let read_ns = slowest(&timing.read_ns) + transfer_ns;
        let program_ns = slowest(&timing.program_ns) + transfer_ns;
        let erases = if nand.multi_plane == MultiPlane::None { of_chip } else { 1 };
        let erase_ns = u64::from(erases) * (timing.command_ns + timing.erase_ns);
        Self { read_ns, spare_read_ns, program_ns, copy_ns: read_ns + program_ns, erase_ns, width }
    }

    /// Time of copies, which are distributed over the chips, and of erases, each of which takes all chips at once.
    pub(in crate::mapping) fn of(&self, copies: u32, erases: u32) -> Ns {
        u64::from(copies.div_ceil(self.width)) * self.copy_ns + u64::from(erases) * self.erase_ns
    }

    /// Time of reads of spare areas, one after the other.
    pub(in crate::mapping) fn of_spare_reads(&self, reads: u32) -> Ns {
        u64::from(reads) * self.spare_read_ns
    }

    /// Longest time that `steps` steps of one merge with k(L) = `k` can take, plus the given copies and erases. A step
    /// is a copy or an erase. Both kinds can be the slower one: an erase may be shorter than a copy but longer than a
    /// chip's share of one, so the maximum over all mixes is taken.
    pub(super) fn of_steps(&self, steps: u32, (pages, k): (u32, u32), (copies, erases): (u32, u32)) -> Ns {
        let mixes = (0..=steps.min(k + 1)).map(|erased| ((steps - erased).min(pages * k), erased));
        mixes.map(|(copied, erased)| self.of(copied + copies, erased + erases)).max().unwrap_or(0)
    }

    /// The times that a placement weighs, for blocks of `pages` pages. A change of span copies and erases one block on
    /// each of its chips.
    pub(super) fn times(&self, pages: u32) -> Times {
        let Self { read_ns, program_ns, copy_ns, .. } = *self;
        Times { read_ns, program_ns, copy_ns, change_ns: self.of(pages, 1) }
    }

    /// Time of failed programs and of exchanges of blocks, with the copies that follow from them.
    pub(super) fn of_upkeep(&self, Upkeep { failures, exchanges, copies }: Upkeep) -> Ns {
        u64::from(failures) * self.program_ns + self.of(copies, exchanges)
    }

    /// Cost of a full merge: N k C_copy + (k + 1) C_erase (KAST, section II), with N pages a block.
    pub(super) fn full_merge(&self, pages: u32, k: u32) -> Ns {
        self.of(pages * k, k + 1)
    }
}

#[cfg(test)]
mod tests {
    use flashloom_units::{MS, ParamSet};

    use super::*;

    /// All mixes of the steps of a merge, with erases slower and faster than copies, on one chip and on four.
    #[test]
    fn no_mix_of_copies_and_erases_takes_longer_than_the_bound_on_steps() {
        let (pages, k, besides) = (8, 2, (8, 2));
        for (erase_ns, width) in [(9 * MS, 1), (9 * MS, 4), (MS, 1), (MS, 4), (2 * MS, 4)] {
            let nand = NandParams { program_ns: 2 * MS, erase_ns, ..NandParams::defaults() };
            let costs = Costs::new(&nand, width, 1);
            for steps in 1..30 {
                let erases = 0..=steps.min(k + 1);
                let mixes = erases.flat_map(|erases| (0..=(steps - erases).min(pages * k)).map(move |c| (c, erases)));
                let longest = mixes.map(|(copies, erases)| costs.of(copies + besides.0, erases + besides.1)).max();
                assert_eq!(longest, Some(costs.of_steps(steps, (pages, k), besides)), "{steps} steps of {width} chips");
            }
        }
    }

    #[test]
    fn an_erase_has_a_command_as_a_read_and_a_program_have() {
        let with_command = |command_ns| Costs::new(&NandParams { command_ns, ..NandParams::defaults() }, 1, 1);
        let [none, some] = [0, 300].map(with_command);
        assert_eq!((some.of(1, 0) - none.of(1, 0), some.of(0, 1) - none.of(0, 1)), (600, 300));
    }
    /// By hand: an erase of 3 ms, with a command of 1 us, of a block of each of two planes.
    #[test]
    fn blocks_of_a_die_are_erased_together_only_if_its_planes_can_be() {
        let [together, apart] = [MultiPlane::Aligned, MultiPlane::None].map(|multi_plane| {
            let nand = NandParams { multi_plane, erase_ns: 3 * MS, command_ns: 1_000, ..NandParams::defaults() };
            [1, 2].map(|of_chip| Costs::new(&nand, 1, of_chip).of(0, 1))
        });
        assert_eq!((together, apart), ([3_001_000, 3_001_000], [3_001_000, 6_002_000]));
    }
}
