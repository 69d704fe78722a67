//! What nbdkit says, passed on within bounds: some of it comes from clients, who decide how much that is.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};

/// Lines that are passed on at once.
const FIRST_LINES: u64 = 1_000;
/// Lines that are passed on at the end, if there are more than the first ones. Why a service has ended is among them.
const LAST_LINES: usize = 100;
/// Most bytes of a line; what is longer counts as several.
const LINE_BYTES: u64 = 16 << 10;

/// Passes lines on until there are no more: the first ones at once, and the last ones at the end.
pub fn pass_on(said: impl Read, mut tell: impl FnMut(&str)) {
    let (mut said, mut line) = (BufReader::new(said), Vec::new());
    let (mut told, mut left_out, mut last) = (0, 0_u64, VecDeque::new());
    while (&mut said).take(LINE_BYTES).read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
        let text = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(&line)).into_owned();
        line.clear();
        if told < FIRST_LINES {
            told += 1;
            tell(&text);
            continue;
        }
        if left_out == 0 && last.is_empty() {
            tell("note: nbdkit says more than that; the last of it follows at the end");
        }
        last.push_back(text);
        if last.len() > LAST_LINES {
            last.pop_front();
            left_out += 1;
        }
    }
    if left_out > 0 {
        tell(&format!("note: {left_out} lines of nbdkit are left out here"));
    }
    last.iter().for_each(|line| tell(line));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(said: &[u8]) -> Vec<String> {
        let mut told = Vec::new();
        pass_on(said, |line| told.push(line.to_owned()));
        told
    }

    fn lines(count: usize) -> String {
        (1..=count).map(|number| format!("line {number}\n")).collect()
    }

    #[test]
    fn the_last_lines_are_told_however_many_came_before() {
        let all = told(format!("{}the reason", lines(5_000)).as_bytes());
        assert_eq!((&*all[0], &*all[999]), ("line 1", "line 1000"));
        assert_eq!(all[1_000], "note: nbdkit says more than that; the last of it follows at the end");
        assert_eq!(all[1_001], "note: 3901 lines of nbdkit are left out here");
        assert_eq!((&*all[1_002], all.len()), ("line 4902", 1_102));
        assert_eq!(all.last().map(String::as_str), Some("the reason"));
    }

    #[test]
    fn few_lines_are_all_told_once() {
        assert_eq!(told(b""), [""; 0]);
        assert_eq!(told(b"a\n\n\xff"), ["a", "", "\u{fffd}"]);
        assert_eq!(told(lines(1_100).as_bytes()).len(), 1_101, "and a note");
        let long = told(&vec![b'x'; 3 * LINE_BYTES as usize + 1]);
        assert_eq!(long.iter().map(String::len).collect::<Vec<_>>(), [16_384, 16_384, 16_384, 1]);
    }
}
