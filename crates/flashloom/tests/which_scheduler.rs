//! docs/which-scheduler.md and the script that writes its tables: the drives are what the script says of them, and the
//! first table counts what the others have.

use std::collections::BTreeMap;

use crate::support::{experiment, read};

/// Blocks of a preset.
fn blocks(preset: &str) -> u64 {
    experiment(preset, &[]).variants[0].config.device.nand.blocks.into()
}

#[test]
fn the_drives_of_the_script_are_an_eighth_of_the_presets() {
    let script = read("experiments/which_scheduler.py");
    let drives: Vec<Vec<&str>> = script
        .lines()
        .skip_while(|line| !line.starts_with("DRIVES = {"))
        .skip(1)
        .take_while(|line| !line.starts_with('}'))
        .map(|line| line.split(['"', '(', ')', ',', ' ']).filter(|word| !word.is_empty()).collect())
        .collect();
    assert_eq!(drives.len(), 3);
    for words in drives {
        let [.., preset, of_it] = words[..] else { panic!("{words:?}") };
        assert_eq!(of_it, ((blocks(preset) + 4) / 8).to_string(), "{preset}");
    }
}

fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

/// Of a scheduler on a drive, for a figure: cells that are told to be more and to be less, and all that are not empty.
type Counts = BTreeMap<(String, String, String), (usize, usize, usize)>;

#[test]
fn the_first_table_counts_the_cells_that_are_bold_in_the_others() {
    let page = read("docs/which-scheduler.md");
    let (mut counted, mut table) = (Counts::new(), None);
    let mut schedulers: Vec<String> = Vec::new();
    for line in page.lines() {
        if let Some((drive, figure)) =
            line.strip_suffix(", change from `none` in per cent.").and_then(|it| it.split_once(": "))
        {
            table = Some((drive.to_owned(), figure.to_owned()));
        } else if line.starts_with("| recording |") {
            schedulers = cells(line)[1..].iter().map(|&name| name.to_owned()).collect();
        } else if let (Some((drive, figure)), true) = (&table, line.contains(" ± ")) {
            for (scheduler, cell) in schedulers.iter().zip(&cells(line)[1..]).filter(|(_, cell)| **cell != "-") {
                let counts = counted.entry((drive.clone(), scheduler.clone(), figure.clone())).or_default();
                counts.0 += usize::from(cell.starts_with("**+"));
                counts.1 += usize::from(cell.starts_with("**-"));
                counts.2 += 1;
            }
        }
    }
    let mut compared = 0;
    let mut figures: Vec<&str> = Vec::new();
    for line in page.lines().filter(|line| line.starts_with("| ")) {
        let row = cells(line);
        if row[0] == "drive" {
            figures = row[2..].to_vec();
        } else if row.last().is_some_and(|cell| cell.contains(" better, ")) {
            for (&figure, cell) in figures.iter().zip(&row[2..]) {
                let numbers: Vec<usize> = cell.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
                let (more, less, of) = counted[&(row[0].to_owned(), row[1].to_owned(), figure.to_owned())];
                // More requests a second are better, and so is less latency.
                let expected = if figure == "requests/s" { [more, less, of] } else { [less, more, of] };
                assert_eq!(numbers, expected, "{line}: {figure}");
                compared += 1;
            }
        }
    }
    assert_eq!((compared, counted.len()), (36, 36), "three drives, four schedulers with the null, three figures");
}
