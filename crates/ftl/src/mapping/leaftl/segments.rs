//! Learned segments of a group of entries, and the levels that they lie in.
//!
//! A point is an entry of the group and the physical page that it names. A segment predicts the page of an entry `x` as
//! `base + round(slope (x - start))`, with a slope of 15 bits between 0 and 1.

use flashloom_nand::Ppn;
use serde::{Deserialize, Serialize};

/// Most entries of a group: the place of an entry in its group is a byte.
pub(super) const GROUP: u32 = 256;

/// Bytes of a segment: start, length, slope with its kind, and base.
const SEGMENT_BYTES: u64 = 8;

/// A slope of one.
const ONE: i64 = 1 << 15;

/// A set of entries of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Members([u64; 4]);

impl Members {
    fn word(entry: u8) -> (usize, u64) {
        (usize::from(entry / 64), 1 << (entry % 64))
    }

    fn has(&self, entry: u8) -> bool {
        let (word, bit) = Self::word(entry);
        self.0[word] & bit != 0
    }

    fn insert(&mut self, entry: u8) {
        let (word, bit) = Self::word(entry);
        self.0[word] |= bit;
    }

    fn add(&mut self, others: &Self) {
        self.0.iter_mut().zip(others.0).for_each(|(own, other)| *own |= other);
    }

    fn remove(&mut self, others: &Self) {
        self.0.iter_mut().zip(others.0).for_each(|(own, other)| *own &= !other);
    }

    fn len(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    fn first(&self) -> Option<u8> {
        let at = self.0.iter().position(|&word| word != 0)?;
        Some((at as u32 * 64 + self.0[at].trailing_zeros()) as u8)
    }

    fn last(&self) -> Option<u8> {
        let at = self.0.iter().rposition(|&word| word != 0)?;
        Some((at as u32 * 64 + 63 - self.0[at].leading_zeros()) as u8)
    }
}

/// How a segment knows which entries between its first and its last it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    /// Every `stride`-th, and predicts them exactly.
    Accurate { stride: u8 },
    /// Those listed in the conflict resolution buffer.
    Approximate(Members),
}

/// A learned segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Segment {
    start: u8,
    end: u8,
    slope: u16,
    base: Ppn,
    kind: Kind,
}

impl Segment {
    /// The page predicted for an entry from `start` on.
    pub(super) fn predict(&self, entry: u8) -> Ppn {
        let distance = u32::from(entry.saturating_sub(self.start));
        Ppn(self.base.0.wrapping_add((u32::from(self.slope) * distance + ONE as u32 / 2) >> 15))
    }

    /// Whether it has an entry, of which an upper segment may have a newer page.
    pub(super) fn is_of(&self, entry: u8) -> bool {
        (self.start..=self.end).contains(&entry)
            && match self.kind {
                Kind::Accurate { stride } => (entry - self.start).is_multiple_of(stride.max(1)),
                Kind::Approximate(members) => members.has(entry),
            }
    }

    fn members(&self) -> Members {
        match self.kind {
            Kind::Approximate(members) => members,
            Kind::Accurate { stride } => {
                let mut members = Members::default();
                (self.start..=self.end).step_by(usize::from(stride.max(1))).for_each(|entry| members.insert(entry));
                members
            }
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }

    pub(super) fn is_approximate(&self) -> bool {
        matches!(self.kind, Kind::Approximate(_))
    }

    fn bytes(&self) -> u64 {
        let listed = match self.kind {
            Kind::Accurate { .. } => 0,
            Kind::Approximate(members) => members.len() + 1,
        };
        SEGMENT_BYTES + listed
    }

    /// The segment without some entries; none if nothing is left. An accurate one gives up entries at its ends only:
    /// who has those in between lies above it. An approximate one keeps its start, which its slope runs through.
    fn without(mut self, others: &Members) -> Option<Self> {
        let mut left = self.members();
        left.remove(others);
        let (first, last) = (left.first()?, left.last()?);
        match &mut self.kind {
            Kind::Approximate(members) => *members = left,
            Kind::Accurate { .. } => {
                self.base = self.predict(first);
                self.start = first;
            }
        }
        self.end = last;
        Some(self)
    }
}

/// Learns segments from the points of a group, in the order of their entries. Predictions are wrong by `gamma` at most.
///
/// A segment begins at a point and takes the next ones as long as some line is near all (greedy); or only those that
/// are evenly spaced, if these take fewer bytes each than all of them with their list.
pub(super) fn learn(mut points: &[(u8, Ppn)], gamma: u32) -> Vec<Segment> {
    let mut segments = Vec::new();
    while !points.is_empty() {
        let even = evenly_spaced(points);
        // A list takes a byte an entry: from eight even points on none can take fewer.
        let nearest = if even >= points.len().min(SEGMENT_BYTES as usize) { None } else { nearest(points, gamma) };
        let (taken, segment) = match nearest {
            Some((taken, segment)) if segment.bytes() * (even as u64) < SEGMENT_BYTES * taken as u64 => {
                (taken, segment)
            }
            _ => (even, accurate(&points[..even])),
        };
        segments.push(segment);
        points = &points[taken..];
    }
    segments
}

/// How many points are evenly spaced, their pages one by one: those of an accurate segment.
fn evenly_spaced(points: &[(u8, Ppn)]) -> usize {
    let (start, base) = points[0];
    let stride = points.get(1).map_or(1, |(second, _)| usize::from(second - start));
    let is_even = |(at, &(entry, page)): (usize, &(u8, Ppn))| {
        usize::from(entry - start) == at * stride && page.0 == base.0.wrapping_add(at as u32)
    };
    points.iter().enumerate().take_while(|&point| is_even(point)).count()
}

/// The accurate segment of evenly spaced points.
fn accurate(points: &[(u8, Ppn)]) -> Segment {
    let ((start, base), (end, _)) = (points[0], points[points.len() - 1]);
    let stride = points.get(1).map_or(1, |(second, _)| second - start);
    let slope = (ONE + i64::from(stride) / 2) / i64::from(stride);
    Segment { start, end, slope: slope as u16, base, kind: Kind::Accurate { stride } }
}

/// The approximate segment of most points, which predicts the first one with an error, too; of equal ones that with the
/// smallest. None if there may be no error: then only even points are on a line.
fn nearest(points: &[(u8, Ppn)], gamma: u32) -> Option<(usize, Segment)> {
    let (start, first) = points[0];
    let mut best = (0, 0, first);
    // No error, one page more, one less, two more...
    let errors = (0..=i64::from(gamma)).flat_map(|error| [error, -error]).skip(1);
    for error in errors.take_while(|_| gamma > 0) {
        let Ok(base) = u32::try_from(i64::from(first.0) + error) else { continue };
        let (taken, slope) = line(points, base, gamma);
        if taken > best.0 {
            best = (taken, slope, Ppn(base));
        }
        if taken == points.len() {
            break;
        }
    }
    let (taken, slope, base) = best;
    let &(end, _) = points[..taken].last()?;
    let mut members = Members::default();
    points[..taken].iter().for_each(|&(entry, _)| members.insert(entry));
    Some((taken, Segment { start, end, slope: slope as u16, base, kind: Kind::Approximate(members) }))
}

/// How many points some line from `base` on is near, and its slope.
fn line(points: &[(u8, Ppn)], base: u32, gamma: u32) -> (usize, i64) {
    let (mut least, mut most, mut taken) = (0, ONE, 1);
    for &(entry, page) in &points[1..] {
        let (distance, rise) = (i64::from(entry - points[0].0), i64::from(page.0) - i64::from(base));
        let (lowest, highest) = (rise - i64::from(gamma), rise + i64::from(gamma));
        // The slopes for which the rounded prediction is from the lowest to the highest.
        let from = (2 * lowest * ONE - ONE).div_euclid(2 * distance);
        let from = from + i64::from((2 * lowest * ONE - ONE).rem_euclid(2 * distance) > 0);
        let to = (2 * highest * ONE + ONE - 1).div_euclid(2 * distance);
        let (from, to) = (from.max(least), to.min(most));
        if from > to {
            break;
        }
        (least, most, taken) = (from, to, taken + 1);
    }
    (taken, (least + most) / 2)
}

/// The segments of a group in levels. Those of a level do not overlap and are in order; of two that have an entry, the
/// one in the upper level is newer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Group {
    levels: Vec<Vec<Segment>>,
}

impl Group {
    /// The segment with the newest page of an entry.
    pub(super) fn find(&self, entry: u8) -> Option<&Segment> {
        self.levels.iter().find_map(|level| {
            let at = level.partition_point(|segment| segment.start <= entry);
            level[..at].last().filter(|segment| segment.is_of(entry))
        })
    }

    /// Adds a segment that is newer than all others. Those of the uppermost level lose its entries; who still overlaps
    /// it moves down, to the next level if that has room, or to a new one.
    pub(super) fn insert(&mut self, new: Segment) {
        let members = new.members();
        if self.levels.is_empty() {
            self.levels.push(Vec::new());
        }
        let (kept, met): (Vec<_>, Vec<_>) = self.levels[0].iter().partition(|segment| !segment.overlaps(&new));
        self.levels[0] = kept;
        for left in met.into_iter().filter_map(|segment| segment.without(&members)) {
            if !left.overlaps(&new) {
                put(&mut self.levels[0], left);
            } else if self.levels.get(1).is_some_and(|level| level.iter().all(|other| !other.overlaps(&left))) {
                put(&mut self.levels[1], left);
            } else {
                self.levels.insert(1, vec![left]);
            }
        }
        put(&mut self.levels[0], new);
    }

    /// Drops the entries that an upper level has, and with them segments; lifts the others as high as they can be.
    pub(super) fn compact(&mut self) {
        let mut taken = Members::default();
        let mut levels: Vec<Vec<Segment>> = Vec::new();
        for segment in self.levels.iter().flatten().filter_map(|segment| {
            let left = segment.without(&taken)?;
            taken.add(&left.members());
            Some(left)
        }) {
            let under = levels.iter().rposition(|level| level.iter().any(|other| other.overlaps(&segment)));
            let at = under.map_or(0, |under| under + 1);
            if at == levels.len() {
                levels.push(Vec::new());
            }
            put(&mut levels[at], segment);
        }
        self.levels = levels;
    }

    pub(super) fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.levels.iter().flatten()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.segments().map(Segment::bytes).sum()
    }

    /// Whether the levels are in order.
    pub(super) fn is_sound(&self) -> bool {
        let is_ordered = |level: &Vec<Segment>| level.windows(2).all(|pair| pair[0].end < pair[1].start);
        self.levels.iter().all(is_ordered) && self.segments().all(|segment| segment.start <= segment.end)
    }
}

/// Puts a segment among others that it does not overlap.
fn put(level: &mut Vec<Segment>, segment: Segment) {
    let at = level.partition_point(|other| other.start < segment.start);
    level.insert(at, segment);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(of: &[(u8, u32)]) -> Vec<(u8, Ppn)> {
        of.iter().map(|&(entry, page)| (entry, Ppn(page))).collect()
    }

    fn group(batches: &[&[(u8, u32)]], gamma: u32) -> Group {
        let mut group = Group::default();
        for batch in batches {
            learn(&points(batch), gamma).into_iter().for_each(|segment| group.insert(segment));
        }
        group
    }

    fn shape(group: &Group) -> Vec<Vec<(u8, u8)>> {
        group.levels.iter().map(|level| level.iter().map(|segment| (segment.start, segment.end)).collect()).collect()
    }

    #[test]
    fn pages_in_order_are_one_segment_of_eight_bytes_whatever_their_stride() {
        for stride in [1, 2, 5, 127] {
            let run: Vec<_> = (0..=255 / stride).map(|at| (at * stride, Ppn(1_000 + u32::from(at)))).collect();
            let segments = learn(&run, 0);
            assert_eq!(segments.len(), 1, "stride {stride}");
            assert_eq!((segments[0].bytes(), segments[0].is_approximate()), (8, false));
            assert!(run.iter().all(|&(entry, page)| segments[0].predict(entry) == page));
            assert!(!segments[0].is_of(1) || stride == 1);
        }
    }

    /// The pages of entries 0, 1, 3, 4, 6 are consecutive: with an error of one they are on a line.
    #[test]
    fn an_error_joins_uneven_entries_into_an_approximate_segment_that_lists_them() {
        let uneven = points(&[(0, 50), (1, 51), (3, 52), (4, 53), (6, 54), (9, 55)]);
        assert!(learn(&uneven, 0).iter().all(|segment| !segment.is_approximate()), "without an error even ones alone");
        let [segment] = learn(&uneven, 1)[..] else { panic!("one segment") };
        assert_eq!(segment.bytes(), 8 + 6 + 1);
        assert!(segment.is_of(3) && !segment.is_of(2) && !segment.is_of(5));
        assert!(uneven.iter().all(|&(entry, page)| segment.predict(entry).0.abs_diff(page.0) <= 1));
    }

    /// Addresses 0 to 99 and 105 on consecutive pages: on a line with an error of four, whose list takes 102 bytes.
    #[test]
    fn even_entries_are_a_segment_of_their_own_where_a_list_of_all_would_take_more() {
        let run: Vec<_> = (0..100).chain([105]).zip(500..).map(|(entry, page)| (entry, Ppn(page))).collect();
        for gamma in [0, 1, 4] {
            let segments = learn(&run, gamma);
            assert_eq!(segments.iter().map(Segment::bytes).collect::<Vec<_>>(), [8, 8], "{gamma}");
            assert!(
                run.iter()
                    .all(|&(entry, page)| segments.iter().any(|one| one.is_of(entry) && one.predict(entry) == page))
            );
        }
    }

    /// The first page is two before the line of the others: a line through it is near the next few only.
    #[test]
    fn a_line_need_not_go_through_the_first_page() {
        let line: Vec<_> = (1..=20).map(|at| (2 * at, Ppn(8 + u32::from(at)))).collect();
        let bent = [vec![(0, Ppn(10))], line].concat();
        let [segment] = learn(&bent, 1)[..] else { panic!("one segment") };
        assert_eq!(segment.predict(0), Ppn(9));
        assert!(bent.iter().all(|&(entry, page)| segment.predict(entry).0.abs_diff(page.0) <= 1));
    }

    #[test]
    fn older_segments_are_cut_at_their_ends_and_move_down_where_the_new_one_lies_within_them() {
        let all: Vec<(u8, u32)> = (0..100).map(|at| (at, 500 + u32::from(at))).collect();
        let group = group(&[&all, &[(0, 7), (1, 8)], &[(50, 9), (51, 10)]], 0);
        assert_eq!(shape(&group), [vec![(0, 1), (50, 51)], vec![(2, 99)]]);
        assert_eq!([1, 2, 49, 50, 52].map(|entry| group.find(entry).unwrap().predict(entry).0), [8, 502, 549, 9, 552]);
    }

    #[test]
    fn a_segment_that_finds_no_room_in_the_next_level_gets_one_of_its_own() {
        let all: Vec<(u8, u32)> = (0..100).map(|at| (at, 500 + u32::from(at))).collect();
        let middle: Vec<(u8, u32)> = (40..60).map(|at| (at, 700 + u32::from(at))).collect();
        let group = group(&[&all, &middle, &[(50, 9)]], 0);
        assert_eq!(shape(&group), [vec![(50, 50)], vec![(40, 59)], vec![(0, 99)]]);
    }

    #[test]
    fn compaction_drops_what_lies_under_newer_entries_and_lifts_the_rest() {
        let low: Vec<(u8, u32)> = (10..20).map(|at| (at, 500 + u32::from(at))).collect();
        let high: Vec<(u8, u32)> = (5..30).map(|at| (at, 700 + u32::from(at))).collect();
        let mut group = group(&[&low, &[(15, 9)], &high, &[(40, 1)]], 0);
        assert_eq!(shape(&group), [vec![(5, 29), (40, 40)], vec![(10, 19)]]);
        group.compact();
        assert_eq!(shape(&group), [vec![(5, 29), (40, 40)]]);
        assert_eq!(group.bytes(), 16);
    }
}
