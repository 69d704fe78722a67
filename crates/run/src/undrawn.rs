//! Seeds of runs in which nothing is drawn. They are refused: equal runs say nothing of chance, and their intervals
//! would state a certainty that one run does not have.

use flashloom_ftl::{RANDOM_CHOICES, TRANSLATION_PAGES};
use flashloom_units::{Problems, Refusal};
use flashloom_workload::workload::Workload;

use super::workloads;
use crate::load::Load;
use flashloom_config::{Config, Experiment, Precondition, Timing};

/// Checks that the seeds of every combination can differ in something, for runs that are not prepared together. What
/// else is wrong with their inputs is left to those who prepare them.
///
/// # Errors
/// Problems of the seeds of an experiment whose inputs can be read: its workload draws nothing, or has no replicates.
pub fn check_seeds(experiment: &Experiment) -> Result<(), Problems> {
    // An input that no reason depends on is not read.
    if experiment.variants.iter().all(|variant| draws_beside_the_workload(&variant.config)) {
        return Ok(());
    }
    match workloads::all(workloads::read_each(experiment)) {
        Ok(loads) => check(experiment, &loads),
        Err(_) => Ok(()),
    }
}

/// Checks that the seeds of every combination can differ in something.
///
/// # Errors
/// A problem for each reason why those of a combination cannot.
pub fn check(experiment: &Experiment, loads: &[Load<'_>]) -> Result<(), Problems> {
    let Some(seeds) = experiment.seeds else { return Ok(()) };
    let mut problems = Problems::default();
    for (variant, load) in experiment.variants.iter().zip(loads).step_by(experiment.repetitions()) {
        let config = &variant.config;
        let Some(refusal) = undrawn_of(config, load).filter(|_| !draws_beside_the_workload(config)) else {
            continue;
        };
        let found = format!("{seeds} seeds, and nothing is drawn: {}", refusal.found);
        problems.add(experiment.problem(config, Refusal { found, ..refusal }));
    }
    problems.or(())
}

/// [`undrawn`] of all workloads: one in which something is drawn is enough.
fn undrawn_of(config: &Config, load: &Load<'_>) -> Option<Refusal> {
    let each = config.each().zip(load.each()).map(|(config, workload)| undrawn(config, workload));
    each.collect::<Option<Vec<_>>>()?.into_iter().next()
}

/// Reason why the seed changes nothing about the requests that could change a figure.
fn undrawn(config: &Config, workload: &dyn Workload) -> Option<Refusal> {
    workload.undrawn().or_else(|| {
        let info = workload.scanned()?;
        let only_reads = info.writes == 0 && info.discards == 0;
        let has_order = config.buffer.capacity_bytes > 0 || config.mapping_offers(TRANSLATION_PAGES);
        if config.run.timing == Timing::Timed || !only_reads || has_order {
            return None;
        }
        let found = "a counting run of a recording that only reads, of which no count depends on the order";
        let refusal = Refusal::new(found, "`run.timing` = \"timed\"").at(["run.timing"]);
        Some(refusal.help("leave --seeds out: one run says all that can be counted"))
    })
}

/// True if the seed changes the drive or a policy's choices.
fn draws_beside_the_workload(config: &Config) -> bool {
    let nand = &config.device.nand;
    let fails = [nand.bad_blocks, nand.program_failures, nand.erase_failures].into_iter().any(|share| share > 0.0);
    let ages = config.run.precondition == Precondition::Steady && config.run.fill > 0.0;
    let chooses = config.policies().any(|(_, policy)| policy.offers.contains(&RANDOM_CHOICES));
    fails || ages || chooses
}
