//! Several workloads on one drive: what came of the requests of each, and the check that their sums are the whole.

use flashloom_device::HostReport;
use flashloom_units::{Violation, ensure};
use flashloom_workload::workload::Running;

use flashloom_config::{Config, Timing};
use flashloom_figures::result::TenantResult;

use crate::measure;
use crate::report::counted;

/// Checks that every workload has issued what it was expected to, and that sums over several are the whole. A run that
/// was cut has not issued all.
///
/// # Errors
/// A workload that has not, or a sum that is not.
pub fn check(all: &HostReport, each: &[HostReport], expected: Vec<u64>, is_cut: bool) -> Result<(), Violation> {
    let of_each = if each.is_empty() { vec![all] } else { each.iter().collect() };
    for (report, expected) in of_each.into_iter().zip(expected) {
        let arrived = report.generated;
        ensure!(arrived == expected || is_cut, "workload: {expected} requests offered, but {arrived} arrived");
    }
    if each.is_empty() || is_cut {
        return Ok(());
    }
    let sums = |of: &dyn Fn(&HostReport) -> u64| (each.iter().map(of).sum::<u64>(), of(all));
    let compared = [
        ("requests", sums(&|report| report.generated)),
        ("completed requests", sums(&HostReport::total_completed)),
        ("failed requests", sums(&HostReport::total_failed)),
        ("bytes read", sums(&|report| report.read_bytes)),
        ("bytes written", sums(&|report| report.write_bytes)),
    ];
    for (what, (sum, whole)) in compared {
        ensure!(sum == whole, "tenants: {sum} {what} together, but {whole} in all");
    }
    let latency = each.iter().map(HostReport::latency_sum_ns).sum::<u128>();
    ensure!(latency == all.latency_sum_ns(), "tenants: latencies of {latency} ns together, not as many as in all");
    Ok(())
}

/// The results of several workloads.
pub fn results(config: &Config, reports: &[HostReport], running: &[Box<dyn Running + '_>]) -> Vec<TenantResult> {
    let timed = config.run.timing == Timing::Timed;
    let each = config.workloads.iter().zip(reports).zip(running);
    each.map(|(((workload, config), report), running)| TenantResult {
        name: workload.name.to_owned(),
        host: measure::of_requests(report, timed),
        workload: counted(config, running.figures()),
    })
    .collect()
}
