//! Part of the result about energy.

use flashloom_device::{DeviceParams, Outcome};
use flashloom_nand::Energy;
use flashloom_units::{Ns, SECTOR_BYTES};

use flashloom_figures::result::EnergyResult;

/// Bytes in a gigabyte.
const GB: f64 = 1e9;

/// What the array did.
struct Work {
    reads: u64,
    programs: u64,
    erases: u64,
    bus_bytes: u64,
    idle_ns: u128,
    /// Those of the reads and programs in the array's other cell mode.
    other_reads: u64,
    other_programs: u64,
}

/// Computes the energy; `None` if it is not known what the array takes, or no time passes. `end_ns` is when the
/// drive became idle for good.
pub(super) fn energy(device: &DeviceParams, outcome: &Outcome, end_ns: Ns) -> Option<EnergyResult> {
    let (energy, used) = (device.nand.energy()?, outcome.utilization?);
    let dies_ns = u128::from(device.geometry().total_dies()) * u128::from(end_ns);
    assert!(used.die_busy_ns <= dies_ns, "no die is occupied for longer than the run takes");
    let counts = &outcome.counts;
    let retries = outcome.reads.map_or(0, |reads| reads.retries.iter().sum());
    let other = outcome.slc_pages.unwrap_or_default();
    let work = Work {
        reads: counts.reads.iter().sum::<u64>() + retries,
        programs: counts.programs.iter().sum(),
        erases: counts.erases.iter().sum(),
        bus_bytes: used.moved_sectors * SECTOR_BYTES,
        idle_ns: dies_ns - used.die_busy_ns,
        other_reads: other.reads + outcome.reads.map_or(0, |reads| reads.other_retries),
        other_programs: other.programs,
    };
    Some(worked_out(&energy, &work, outcome.host.read_bytes + outcome.host.write_bytes))
}

fn worked_out(energy: &Energy, work: &Work, host_bytes: u64) -> EnergyResult {
    // Whole numbers as long as possible: a sum of many small figures would depend on their order.
    let picojoules = |count: u64, each_pj: u64| u128::from(count) * u128::from(each_pj);
    let joules = |count, each_pj| picojoules(count, each_pj) as f64 / 1e12;
    let of_modes = |all: u64, each_pj, others: u64, other_pj| {
        (picojoules(all - others, each_pj) + picojoules(others, other_pj)) as f64 / 1e12
    };
    let [read_joules, program_joules, erase_joules, bus_joules] = [
        of_modes(work.reads, energy.read_pj, work.other_reads, energy.other_read_pj),
        of_modes(work.programs, energy.program_pj, work.other_programs, energy.other_program_pj),
        joules(work.erases, energy.erase_pj),
        joules(work.bus_bytes, energy.bus_pj_a_byte),
    ];
    let idle_joules = (work.idle_ns * u128::from(energy.idle_nw)) as f64 / 1e18;
    let total_joules = read_joules + program_joules + erase_joules + bus_joules + idle_joules;
    EnergyResult {
        read_joules,
        program_joules,
        erase_joules,
        bus_joules,
        idle_joules,
        total_joules,
        bus_bytes: work.bus_bytes,
        joules_per_gb: (host_bytes > 0).then(|| total_joules / (host_bytes as f64 / GB)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_its_count_times_what_one_takes() {
        let energy = Energy {
            read_pj: 2_000_000,
            program_pj: 16_000_000,
            erase_pj: 120_000_000,
            bus_pj_a_byte: 50,
            idle_nw: 66_000,
            other_read_pj: 1_000_000,
            other_program_pj: 6_000_000,
        };
        let (other_reads, other_programs) = (0, 0);
        let (bus_bytes, idle_ns) = (8 * 4_096, 2_000_000_000);
        let work = Work { reads: 3, programs: 5, erases: 1, bus_bytes, idle_ns, other_reads, other_programs };
        let found = worked_out(&energy, &work, 500_000_000);
        assert_eq!((found.read_joules, found.program_joules, found.erase_joules), (6e-6, 80e-6, 120e-6));
        assert_eq!((found.bus_joules, found.idle_joules), (1.6384e-6, 132e-6));
        assert!((found.total_joules - 339.6384e-6).abs() < 1e-15);
        assert!((found.joules_per_gb.expect("the host wrote") - 679.2768e-6).abs() < 1e-15);
        assert_eq!(worked_out(&energy, &work, 0).joules_per_gb, None);
        // One of three reads and four of five programs in SLC mode.
        let found = worked_out(&energy, &Work { other_reads: 1, other_programs: 4, ..work }, 0);
        assert_eq!((found.read_joules, found.program_joules, found.erase_joules), (5e-6, 40e-6, 120e-6));
    }
}
