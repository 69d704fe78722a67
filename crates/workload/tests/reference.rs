//! The readers against parsers of a few lines that split a text into words: the same requests, and the same place of a
//! bad field, whatever the blanks, the ends of the lines and the compression.
//!
//! The recordings are longer than the reader's buffer and the blocks of decompression, so that lines lie across their
//! ends. Some lines are empty, some end in CR LF, the last may lack its end.

use std::sync::Arc;

use flashloom_units::{Prng, Problem};
use flashloom_workload::{Format, Op, Request, Source, TraceOptions, read_trace};
use proptest::prelude::*;

use crate::support::gzip;

/// Requests up to the first problem.
type Read = (Vec<Request>, Option<Problem>);

fn read(bytes: &[u8], format: Format) -> Read {
    let options = TraceOptions { format: Some(format), ..TraceOptions::default() };
    let bytes: Arc<[u8]> = bytes.into();
    let mut requests = Vec::new();
    let mut trace = match read_trace("t", bytes, &options) {
        Ok(trace) => trace,
        Err(problem) => return (requests, Some(problem)),
    };
    loop {
        match trace.next_request() {
            Ok(Some(request)) => requests.push(request),
            Ok(None) => return (requests, None),
            Err(problem) => return (requests, Some(problem)),
        }
    }
}

fn number(prng: &mut Prng) -> u64 {
    let digits = prng.below(14) as u32;
    prng.below(10u64.pow(digits + 1))
}

fn blanks(prng: &mut Prng, at_least: u64) -> String {
    let count = at_least + if prng.chance(0.2) { prng.below(12) } else { 0 };
    (0..count).map(|_| if prng.chance(0.1) { '\t' } else { ' ' }).collect()
}

/// A text of about `lines` lines; those at `bad` have a letter in their address.
fn text(format: Format, lines: u64, bad: Option<u64>, prng: &mut Prng) -> String {
    let (mut text, mut time) = (String::new(), 0);
    for line in 0..lines {
        time += prng.below(100_000);
        let mut lba = number(prng).to_string();
        if bad == Some(line) {
            lba.insert(prng.below(lba.len() as u64 + 1) as usize, 'x');
        }
        let (seconds, fraction, read) = (time / 1_000_000_000, time % 1_000_000_000, prng.chance(0.5));
        let sectors = 1 + prng.below(3_000);
        let task = prng.below(100_000);
        let (event, mark) = (if prng.chance(0.7) { "Q" } else { "C" }, if read { "RA" } else { "WS" });
        let words = match format {
            Format::Ssdsim => format!("{time} 0 {lba} {sectors} {}", u8::from(read)),
            _ => {
                let cpu = prng.below(128);
                format!("8,16 {cpu} {line} {seconds}.{fraction:09} {task} {event} {mark} {lba} + {sectors} [fio]")
            }
        };
        for (index, word) in words.split(' ').enumerate() {
            text += &blanks(prng, u64::from(index > 0));
            text += word;
        }
        text += &blanks(prng, 0);
        text += if line + 1 == lines && prng.chance(0.5) { "" } else { ["\n", "\r\n", "\n\n"][prng.below(3) as usize] };
    }
    text
}

/// The requests of a text, up to the first line with a word that is no number where one should be, and the place of
/// that word.
fn reference(format: Format, text: &str) -> (Vec<Request>, Option<String>) {
    let (mut requests, mut start) = (Vec::new(), None);
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = |word: usize| words[word].parse::<u64>();
        let parsed = match (format, words.as_slice()) {
            (_, []) | (Format::Blkparse, [_, _, _, _, _, "C", ..]) => continue,
            (Format::Ssdsim, _) => {
                let op = if words[4] == "1" { Op::Read } else { Op::Write };
                (at(0).unwrap(), at(2), at(3).unwrap(), 0, op, 0)
            }
            _ => {
                let time = words[3].replace('.', "").parse::<u64>().unwrap();
                let (op, flags) = if words[6] == "RA" { (Op::Read, 0) } else { (Op::Write, Request::SYNC) };
                (time, at(7), at(9).unwrap(), at(4).unwrap() as u32, op, flags)
            }
        };
        let (time_ns, Ok(lba), sectors, task, op, flags) = parsed else {
            let bad = words[if format == Format::Ssdsim { 2 } else { 7 }];
            let column = bad.as_ptr() as usize - line.as_ptr() as usize + 1;
            return (requests, Some(format!("t:{}:{column}", index + 1)));
        };
        let arrival_ns = time_ns - *start.get_or_insert(time_ns);
        let sectors = sectors as u32;
        requests.push(Request::new(op, lba, sectors).arriving_at(arrival_ns).of_task(task).with_flags(flags));
    }
    (requests, None)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn a_text_reads_as_its_words_do_whatever_its_compression(
        seed: u64,
        lines in prop_oneof![1u64..50, 5_000u64..25_000],
        bad in prop::option::of(0.0..1.0),
        of_blkparse: bool,
    ) {
        let format = if of_blkparse { Format::Blkparse } else { Format::Ssdsim };
        let bad = bad.map(|share: f64| (share * lines as f64) as u64);
        let text = text(format, lines, bad, &mut Prng::new(seed));
        let (requests, place) = reference(format, &text);
        let plain = read(text.as_bytes(), format);
        // A recording without any request is an error of another kind.
        if !requests.is_empty() {
            prop_assert!(plain.0 == requests, "{} and {} requests", plain.0.len(), requests.len());
            prop_assert_eq!(plain.1.as_ref().map(Problem::location), place);
        }
        let zstd = zstd::encode_all(text.as_bytes(), 1).unwrap();
        for (compressed, name) in [(zstd, "zstd"), (gzip(text.as_bytes()), "gzip")] {
            prop_assert!(read(&compressed, format) == plain, "{}", name);
        }
    }
}
