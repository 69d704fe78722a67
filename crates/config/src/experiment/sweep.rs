//! The runs of a comparison: the cross product of its axes, of which some vary together, optionally without the
//! combinations that cannot work, each with the number of seeds asked for.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use flashloom_files::TEXT_LIMIT_VARIABLE;
use flashloom_units::{Problem, Problems, Refusal, Value};

use super::preset_file::PresetFiles;
use super::{Variant, text_limit};
use crate::catalog::Catalog;
use crate::checked::{PRESET, Settings};
use crate::raw::{Assignment, Axis, Document, MOST_RUNS, Origin, Report, Source};
use crate::typed::{Config, rules};

/// Key that `--seeds` varies.
pub const SEED: &str = "run.seed";

/// Options of a comparison, applied to a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sweep<'a> {
    /// Options `KEY=VALUE`, in every run.
    pub sets: &'a [String],
    /// Options `KEY=A,B,C`, each value in runs of its own; they replace the file's values of a key.
    pub varies: &'a [String],
    /// True to leave out combinations that cannot work, false to refuse everything.
    pub skip_unfit: bool,
    /// Number of seeds per combination, from `run.seed` on; `None` to run each once, with that seed.
    pub seeds: Option<NonZeroU32>,
}

/// A combination that was left out because its values cannot work together.
#[derive(Clone, Debug)]
pub struct Unfit {
    /// The combination, with the values that vary.
    pub variant: Variant,
    /// Reasons why it cannot work.
    pub problems: Vec<Problem>,
}

/// Texts of all runs together, for each byte that a text of a file may have: each run has its own.
const TEXTS: u64 = 16;

/// Returns true if the axes make no more runs than the maximum, and no longer texts in them, before any of them is
/// built; otherwise reports it.
pub(super) fn check_size(
    report: &mut Report,
    assignments: &[Assignment],
    axes: &[Axis],
    seeds: Option<NonZeroU32>,
) -> bool {
    let runs = groups(axes).fold(seeds.map_or(1, |seeds| u64::from(seeds.get())), |runs, group| {
        runs.saturating_mul(group[0].values.len() as u64)
    });
    let length = |value: &Value| if let Value::Text(text) = value { text.len() as u64 } else { 0 };
    let longest = |axis: &Axis| axis.values.iter().map(|(value, _)| length(value)).max().unwrap_or(0);
    let written = assignments.iter().map(|assignment| length(&assignment.value));
    let texts = written.chain(axes.iter().map(longest)).sum::<u64>().saturating_mul(runs);
    let limit = text_limit().saturating_mul(TEXTS);
    let refusal = match (runs > MOST_RUNS, texts > limit) {
        (false, false) => return true,
        (true, _) => Refusal::new(format!("{runs} runs in one comparison"), format!("at most {MOST_RUNS}")),
        (false, true) => {
            let found = format!("texts of {texts} bytes in {runs} runs together");
            let help =
                format!("shorten them; {TEXT_LIMIT_VARIABLE} (bytes, {TEXTS} of these for each) raises the limit");
            Refusal::new(found, format!("at most {limit} bytes")).help(help)
        }
    };
    let origin = axes.last().map_or(Origin { source: 0, span: 0..0 }, |axis| axis.origin.clone());
    report.distrust(&origin, refusal, None);
    false
}

/// The axes that vary together, in their order: each alone, but those of a group.
fn groups(axes: &[Axis]) -> impl Iterator<Item = &[Axis]> {
    axes.chunk_by(|axis, next| axis.group.is_some() && axis.group == next.group)
}

/// Builds one configuration for each combination of values; the first axis varies slowest.
pub(super) fn cross_product(
    catalog: &Arc<Catalog>,
    document: &Document,
    axes: &[Axis],
    presets: &PresetFiles,
) -> Vec<Variant> {
    let mut combinations: Vec<Vec<Assignment>> = vec![Vec::new()];
    for group in groups(axes) {
        let assignment = |axis: &Axis, index: usize| {
            let (value, origin) = axis.values[index].clone();
            Assignment { key: axis.key, value, origin }
        };
        // Lists of different lengths are a problem that was reported.
        let values = group.iter().map(|axis| axis.values.len()).min().unwrap_or(0);
        combinations = combinations
            .iter()
            .flat_map(|chosen: &Vec<Assignment>| {
                let together = move |index| group.iter().map(move |axis| assignment(axis, index));
                (0..values).map(move |index| chosen.iter().cloned().chain(together(index)).collect())
            })
            .collect();
    }
    let written = Settings::new(catalog, &document.assignments, &document.headers);
    // Runs of one preset share all that they have in common: with the figures of the preset, before their own keys.
    let mut of_presets: BTreeMap<String, Settings> = BTreeMap::new();
    let variant = |chosen: Vec<Assignment>| {
        let preset = chosen.iter().rfind(|assignment| assignment.key.path() == PRESET);
        let name = preset.map_or_else(|| written.value(PRESET), |assignment| &assignment.value).show();
        let of_file = presets.figures(&name);
        let common = of_presets.entry(name).or_insert_with(|| {
            let mut common = written.clone();
            common.assign(preset.map_or(&[], std::slice::from_ref));
            common.apply_preset(of_file);
            common
        });
        let mut settings = common.clone();
        settings.assign(&chosen);
        let vary = chosen.into_iter().map(|assignment| (assignment.key, assignment.value)).collect();
        Variant { vary, config: Config::new(settings) }
    };
    combinations.into_iter().map(variant).collect()
}

/// Checks every combination against the rules across keys. Combinations that break one are reported or, if asked for
/// and others remain, left out.
pub(super) fn fitting(variants: Vec<Variant>, skip_unfit: bool, report: &mut Report) -> (Vec<Variant>, Vec<Unfit>) {
    if !skip_unfit || !report.is_clean() {
        variants.iter().for_each(|variant| rules::check(&variant.config, report));
        return (variants, Vec::new());
    }
    let (mut fit, mut unfit) = (Vec::new(), Vec::new());
    for variant in variants {
        let mut alone = Report::on(report.sources.clone());
        rules::check(&variant.config, &mut alone);
        match alone.or(()) {
            Ok(()) => fit.push(variant),
            Err(Problems(problems)) => unfit.push(Unfit { variant, problems }),
        }
    }
    if fit.is_empty() {
        unfit.iter().for_each(|unfit| rules::check(&unfit.variant.config, report));
    }
    (fit, unfit)
}

/// Multiplies each combination by that many seeds, from its own `run.seed` on: the seed varies fastest.
pub(super) fn with_seeds(
    catalog: &Catalog,
    variants: Vec<Variant>,
    axes: &mut Vec<Axis>,
    seeds: NonZeroU32,
    report: &mut Report,
) -> Vec<Variant> {
    let key = catalog.find(SEED).expect("every run has a seed");
    let source = report.sources.add(Source::text("--seeds", &seeds.to_string()));
    let origin = Origin { source, span: 0..seeds.to_string().len() };
    if axes.iter().any(|axis| axis.key == key) {
        let refusal = Refusal::new(format!("`{SEED}` is varied, and {seeds} seeds are asked for"), "one of the two");
        let help = format!("a comparison of seeds with one another is `--vary {SEED}=1..{seeds}`, without --seeds");
        report.distrust(&origin, refusal.help(help), Some(key.section()));
        return variants;
    }
    let last = |variant: &Variant| variant.config.run.seed.checked_add(u64::from(seeds.get() - 1));
    if variants.iter().any(|variant| last(variant).is_none()) {
        let refusal =
            Refusal::new(format!("{seeds} seeds from `{SEED}` on, past the last one"), "a lower seed, or fewer");
        report.distrust(&origin, refusal, Some(key.section()));
        return variants;
    }
    axes.push(Axis { key, origin, values: Vec::new(), group: None });
    let seeded = |variant: &Variant, offset: u32| {
        let seed = variant.config.run.seed + u64::from(offset);
        let mut seeded = variant.replicate(seed);
        seeded.vary.push((key, Value::Count(seed)));
        seeded
    };
    variants.iter().flat_map(|variant| (0..seeds.get()).map(move |offset| seeded(variant, offset))).collect()
}

/// Refuses an option for some of the keys that vary together in the file: the others would have nothing to vary with.
pub(super) fn check_groups(report: &mut Report, of_file: &[Axis], of_options: &[Axis], sets: &[Assignment]) {
    for group in groups(of_file).filter(|group| group.len() > 1) {
        let option = |axis: &Axis| {
            let varied = of_options.iter().find(|other| other.key == axis.key).map(|other| &other.origin);
            varied.or_else(|| sets.iter().find(|set| set.key == axis.key).map(|set| &set.origin))
        };
        let given: Vec<_> = group.iter().filter_map(|axis| Some((axis, option(axis)?))).collect();
        if let Some(other) = group.iter().find(|axis| option(axis).is_none())
            && let Some((axis, origin)) = given.first()
        {
            let found = format!("`{}`, which varies together with `{}` in the file", axis.key.path(), other.key.path());
            report.distrust(origin, Refusal::new(found, "options for both, or none"), Some(axis.key.section()));
        }
    }
}

/// The axes of the file without keys that an option sets or varies, then those of the options.
pub(super) fn choose_axes(
    report: &mut Report,
    of_file: Vec<Axis>,
    of_options: Vec<Axis>,
    sets: &[Assignment],
) -> Vec<Axis> {
    for (index, axis) in of_options.iter().enumerate() {
        let path = axis.key.path();
        let section = Some(axis.key.section());
        if sets.iter().any(|set| set.key == axis.key) {
            let refusal = Refusal::new(format!("`{path}` is both set and varied"), "one of --set and --vary for a key");
            report.distrust(&axis.origin, refusal, section);
        }
        if of_options[..index].iter().any(|other| other.key == axis.key) {
            let refusal = Refusal::new(format!("`{path}` is varied twice"), "all its values in one --vary");
            report.distrust(&axis.origin, refusal, section);
        }
    }
    let overridden = |axis: &Axis| {
        sets.iter().any(|set| set.key == axis.key) || of_options.iter().any(|other| other.key == axis.key)
    };
    let mut axes: Vec<Axis> = of_file.into_iter().filter(|axis| !overridden(axis)).collect();
    axes.extend(of_options);
    axes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_runs_as_the_limit_are_taken() {
        let taken = |runs: u64| {
            let mut report = Report::default();
            let name = "experiment.toml".to_owned();
            report.sources.add(Source { name, text: String::new(), folder: std::path::PathBuf::new() });
            check_size(&mut report, &[], &[], NonZeroU32::new(runs as u32))
        };
        assert!(taken(MOST_RUNS) && !taken(MOST_RUNS + 1));
    }
}
