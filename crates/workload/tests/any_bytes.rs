//! Robustness: whatever bytes a recording holds, in whatever format it is declared, every reader returns and none
//! panics.

use std::sync::Arc;

use flashloom_units::ProblemPlace;
use flashloom_workload::{Event, FORMATS, Op, Request, Source, TraceOptions, read_trace};
use proptest::prelude::*;

use crate::support;

/// Asserts the invariants of every request, whatever its source.
fn check(request: &Request) {
    assert_eq!(request.sectors == 0, request.op == Op::Flush, "{request:?}");
    assert!(request.end() <= u64::MAX / 512, "{request:?}");
}

/// Reads to the end or to the first problem, and formats the problem.
fn exhaust(bytes: &[u8], options: &TraceOptions) {
    let bytes: Arc<[u8]> = bytes.into();
    let problems = match read_trace("t", bytes, options) {
        Err(problem) => vec![problem],
        Ok(mut trace) => loop {
            match trace.next_request() {
                Ok(Some(request)) => check(&request),
                Ok(None) => break trace.skipped().first.clone(),
                Err(problem) => break vec![problem],
            }
        },
    };
    for problem in problems {
        assert!(problem.to_string().starts_with("error: ") && !problem.refusal.found.is_empty(), "{problem:?}");
        if let ProblemPlace::Text { line, column, width, source } = &problem.place {
            let end = source.chars().count() as u64 + 1;
            assert!(*line >= 1 && (1..=end).contains(column) && column + width <= end.max(column + 1), "{problem:?}");
        }
    }
}

fn in_every_format(bytes: &[u8], sort: bool, skip_bad_lines: bool) {
    let formats = FORMATS.iter().map(|spec| Some(spec.format)).chain([None]);
    for format in formats {
        for (event, completions) in [(Event::Queue, false), (Event::Issue, false), (Event::Queue, true)] {
            let device = sort.then(|| "0".to_owned());
            let options =
                TraceOptions { format, event, completions, sort, skip_bad_lines, device, ..TraceOptions::default() };
            exhaust(bytes, &options);
        }
    }
}

/// Lines assembled from pieces of the formats, so that parsers get further than their first field.
fn nearly_lines() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        any::<u64>().prop_map(|number| number.to_string()),
        (0u32..99).prop_map(|number| number.to_string()),
        "[0-9]{1,12}\\.[0-9]{0,12}",
        prop::sample::select(
            "R|W|D|F|Q|FWFS|FN|+|[x]|(00|8,16|Read|Write|read|sync|wait|-1||x|ä|1e9|99999999999999999999|\
             fio version 2 iolog|fio version 3 iolog|CPU0|timestamp_ns|op|lba|sectors|task|device"
                .split('|')
                .collect::<Vec<_>>(),
        )
        .prop_map(str::to_owned),
    ];
    let line = (prop::collection::vec(word, 0..12), prop::sample::select(vec![",", " ", "\t", "  "]));
    let lines = prop::collection::vec(line.prop_map(|(words, separator)| words.join(separator)), 0..12);
    lines.prop_map(|lines| lines.join("\n").into_bytes())
}

/// An example of a format, with bytes changed in places.
fn changed_examples() -> impl Strategy<Value = Vec<u8>> {
    let edits = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
    (0..FORMATS.len(), 1usize..6, edits).prop_map(|(format, times, edits)| {
        let example = FORMATS[format].example;
        let last = example.lines().last().unwrap_or_default();
        let mut bytes = format!("{example}\n{}", format!("{last}\n").repeat(times)).into_bytes();
        for (place, byte) in edits {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes
    })
}

/// Records of the binary formats with random contents after a valid beginning.
fn nearly_records() -> impl Strategy<Value = Vec<u8>> {
    let record = (any::<bool>(), any::<[u8; 48]>(), 0u8..4, 0u16..20).prop_map(|(big, mut bytes, kind, extra)| {
        match kind {
            0 => bytes[14..16].copy_from_slice(&[0, 1]),
            1 => bytes[2..4].copy_from_slice(&[0, 2]),
            _ => {
                bytes[..4].copy_from_slice(&if big {
                    0x6561_7407u32.to_be_bytes()
                } else {
                    0x6561_7407u32.to_le_bytes()
                });
                bytes[46..].copy_from_slice(&if big { extra.to_be_bytes() } else { extra.to_le_bytes() });
            }
        }
        let bytes = bytes.to_vec();
        if kind < 2 {
            bytes[..32 + 8 * usize::from(kind)].to_vec()
        } else {
            [bytes, vec![7; usize::from(extra)]].concat()
        }
    });
    (prop::collection::vec(record, 0..6), 0usize..60).prop_map(|(records, cut)| {
        let bytes = records.concat();
        bytes[..bytes.len().saturating_sub(cut)].to_vec()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn random_bytes(bytes: Vec<u8>, sort: bool, skip: bool) {
        in_every_format(&bytes, sort, skip);
    }

    #[test]
    fn nearly_good_lines(bytes in nearly_lines(), sort: bool, skip: bool) {
        in_every_format(&bytes, sort, skip);
    }

    #[test]
    fn changed_examples_of_every_format(bytes in changed_examples(), sort: bool, skip: bool) {
        in_every_format(&bytes, sort, skip);
    }

    #[test]
    fn nearly_good_records(bytes in nearly_records(), sort: bool, skip: bool) {
        in_every_format(&bytes, sort, skip);
    }

    #[test]
    fn damaged_compression(
        text in changed_examples(), gzip: bool, place: prop::sample::Index, byte: u8, cut in 0usize..20,
    ) {
        let zstd = || zstd::encode_all(&text[..], 1).expect("memory can be compressed");
        let mut bytes = if gzip { support::gzip(&text) } else { zstd() };
        let place = place.index(bytes.len());
        bytes[place] = byte;
        bytes.truncate(bytes.len().saturating_sub(cut));
        in_every_format(&bytes, false, true);
    }
}
