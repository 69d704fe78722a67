//! Part of the result about the drive's lifetime.

use flashloom_device::{DeviceParams, Outcome};
use flashloom_units::{Ns, S};

use flashloom_figures::result::LifetimeResult;

use super::room::room;

/// Days over which drive writes per day are counted.
const DAYS: f64 = 365.0 * 5.0;
/// A year of 365 days.
const YEAR_NS: f64 = 365.0 * 24.0 * 3_600.0 * S as f64;

/// Erases of each block in all, and of those the erases in SLC mode: each before the run, and at its end.
struct Erases<'a> {
    all: (&'a [u32], &'a [u32]),
    slc: (&'a [u32], &'a [u32]),
}

/// Computes the lifetime; `None` if nothing was written or erased, or if the run has paid for less than half of
/// what it wrote ([`room`]). `duration_ns` is how long the writes took, if that is known.
pub(super) fn lifetime(device: &DeviceParams, outcome: &Outcome, duration_ns: Option<Ns>) -> Option<LifetimeResult> {
    let erases = Erases {
        all: (&outcome.erased_before, &outcome.erase_counts),
        slc: (&outcome.slc_erased_before, &outcome.slc_erase_counts),
    };
    let charge = room(device, outcome).charge?;
    worked_out(device, &erases, charge, outcome.host.write_bytes, duration_ns)
}

fn worked_out(
    device: &DeviceParams,
    erases: &Erases<'_>,
    charge: f64,
    write_bytes: u64,
    duration_ns: Option<Ns>,
) -> Option<LifetimeResult> {
    let Erases { all: (before, after), slc: (slc_before, slc_after) } = *erases;
    let rating = device.nand.rating();
    let rated_cycles = f64::from(rating.cycles);
    let erases = || after.iter().zip(before).map(|(after, before)| after - before);
    let total: u64 = erases().map(u64::from).sum();
    if total == 0 || write_bytes == 0 {
        return None;
    }
    let bad_blocks = device.nand.bad_blocks_a_plane() * device.geometry().total_planes();
    let blocks = after.len() as f64 - f64::from(bad_blocks);
    let (erases_mean, erases_max) = (total as f64 / blocks, erases().max()?);
    // An erase in SLC mode uses up as much of a block as its rating says.
    let of_slc = device.nand.slc_rated_cycles.map_or(1.0, |slc_cycles| rated_cycles / f64::from(slc_cycles));
    let slc = slc_after.iter().zip(slc_before).map(|(after, before)| after - before);
    let cycles = erases().zip(slc.chain(std::iter::repeat(0)));
    let cycles = cycles.map(|(all, slc)| f64::from(all - slc) + of_slc * f64::from(slc));
    let (sum, most) = cycles.fold((0.0, 0.0f64), |(sum, most), cycles| (sum + cycles, most.max(cycles)));
    let bytes = |cycles: f64| write_bytes as f64 * rated_cycles / (cycles * charge);
    let (mean_bytes, worst_bytes) = (bytes(sum / blocks), bytes(most));
    let years = |bytes: f64| Some(bytes / write_bytes as f64 * duration_ns? as f64 / YEAR_NS);
    // Of the capacity that the drive is sold with, however much of it is partitioned.
    let capacity_bytes = device.capacity.capacity_pages(&device.geometry()) * device.nand.page_bytes;
    let daily_bytes = capacity_bytes as f64 * DAYS;
    Some(LifetimeResult {
        rated_cycles: Some(rating.cycles),
        is_assumed_rating: rating.is_assumed,
        erases_mean,
        erases_max,
        mean_bytes,
        worst_bytes,
        mean_drive_writes_per_day: mean_bytes / daily_bytes,
        worst_drive_writes_per_day: worst_bytes / daily_bytes,
        mean_years: years(mean_bytes),
        worst_years: years(worst_bytes),
        sheet_bytes: device.nand.rated_writes_bytes,
    })
}

#[cfg(test)]
mod tests {
    use flashloom_ftl::CapacityParams;
    use flashloom_nand::NandParams;
    use flashloom_units::ParamSet;

    use super::*;

    /// Four blocks of 4 pages of 8 KiB, with 8 logical pages.
    fn device() -> DeviceParams {
        let shape = NandParams { channels: 1, ways: 1, planes: 1, blocks: 4, pages: 4, ..NandParams::defaults() };
        let nand = NandParams { rated_cycles: Some(1_000), ..shape };
        DeviceParams { nand, capacity: CapacityParams::of(1.0), ..DeviceParams::defaults() }
    }

    fn worked_out(
        device: &DeviceParams,
        before: &[u32],
        after: &[u32],
        write_bytes: u64,
        duration_ns: Option<Ns>,
    ) -> Option<LifetimeResult> {
        let erases = Erases { all: (before, after), slc: (&[], &[]) };
        super::worked_out(device, &erases, 1.0, write_bytes, duration_ns)
    }

    /// Of 4 erases of block 0 three were in SLC mode: one cycle of 1,000 and three of 4,000. Block 1 has 2 of 1,000.
    #[test]
    fn an_erase_in_slc_mode_counts_by_its_own_rating() {
        let nand = NandParams { slc_rated_cycles: Some(4_000), ..device().nand };
        let device = |nand| DeviceParams { nand, ..device() };
        let worst = |nand| {
            let erases = Erases { all: (&[0; 4], &[4, 2, 0, 0]), slc: (&[1, 0, 0, 0], &[4, 0, 0, 0]) };
            let lifetime = super::worked_out(&device(nand), &erases, 1.0, 1_000, None).unwrap();
            (lifetime.mean_bytes, lifetime.worst_bytes, lifetime.erases_max)
        };
        let unrated = NandParams { slc_rated_cycles: None, ..nand.clone() };
        assert_eq!(worst(nand), (1e6 / (3.75 / 4.0), 1e6 / 2.0, 4));
        assert_eq!(worst(unrated), (1e6 / (6.0 / 4.0), 1e6 / 4.0, 4));
    }

    #[test]
    fn the_host_writes_until_the_mean_and_the_worst_block_reach_their_rating() {
        let lifetime = worked_out(&device(), &[7, 7, 7, 7], &[8, 8, 8, 12], 1_000_000, None).unwrap();
        assert_eq!((lifetime.erases_mean, lifetime.erases_max), (2.0, 5));
        assert_eq!((lifetime.mean_bytes, lifetime.worst_bytes), (5e8, 2e8));
        let drive_bytes = 8.0 * 8_192.0;
        assert_eq!(lifetime.mean_drive_writes_per_day, 5e8 / (drive_bytes * 1_825.0));
        assert_eq!(lifetime.worst_drive_writes_per_day, 2e8 / (drive_bytes * 1_825.0));
        assert_eq!((lifetime.mean_years, lifetime.worst_years), (None, None), "no time passed");
    }

    /// 1 MB in 8.64 s is 10 GB a day: 365 TB last 100 years, whatever the drive's capacity.
    #[test]
    fn years_are_those_at_the_rate_of_the_run() {
        let device = DeviceParams { nand: NandParams { rated_cycles: Some(730_000_000), ..device().nand }, ..device() };
        let of = |duration_ns| worked_out(&device, &[0; 4], &[2; 4], 1_000_000, duration_ns).unwrap();
        let lifetime = of(Some(8_640_000_000));
        assert_eq!((lifetime.mean_bytes, lifetime.mean_years), (3.65e14, Some(100.0)));
        assert_eq!(lifetime.worst_years, Some(100.0));
        assert_eq!(of(Some(4_320_000_000)).mean_years, Some(50.0), "the same writes in half the time");
    }

    #[test]
    fn blocks_that_were_bad_from_the_factory_take_no_part_in_the_mean() {
        let device = DeviceParams { nand: NandParams { bad_blocks: 0.5, ..device().nand }, ..device() };
        let lifetime = worked_out(&device, &[0; 4], &[3, 0, 0, 1], 1_000, None).unwrap();
        assert_eq!((lifetime.erases_mean, lifetime.erases_max), (2.0, 3));
    }

    #[test]
    fn what_the_run_owes_is_charged() {
        let erases = Erases { all: (&[0; 4], &[2; 4]), slc: (&[], &[]) };
        let lifetime = super::worked_out(&device(), &erases, 1.25, 1_000_000, None).unwrap();
        assert_eq!((lifetime.mean_bytes, lifetime.worst_bytes), (4e8, 4e8), "2.5 erases in place of 2");
        assert_eq!(lifetime.erases_mean, 2.0, "erases are those of the run");
    }

    #[test]
    fn a_drive_without_a_rating_has_the_usual_one_of_its_cells() {
        let cells = |bits_per_cell| {
            let nand = NandParams { rated_cycles: None, bits_per_cell, ..device().nand };
            worked_out(&DeviceParams { nand, ..device() }, &[0; 4], &[1; 4], 1, None).unwrap()
        };
        let ratings = [1, 2, 3, 4].map(|bits| (cells(bits).rated_cycles.unwrap(), cells(bits).is_assumed_rating));
        assert_eq!(ratings, [(100_000, true), (3_000, true), (3_000, true), (1_000, true)]);
        let given = worked_out(&device(), &[0; 4], &[1; 4], 1, None).unwrap();
        assert_eq!((given.rated_cycles, given.is_assumed_rating), (Some(1_000), false));
    }

    #[test]
    fn without_erases_or_writes_there_is_no_lifetime() {
        assert_eq!(worked_out(&device(), &[9], &[9], 1, None), None);
        assert_eq!(worked_out(&device(), &[0], &[9], 0, None), None);
    }
}
