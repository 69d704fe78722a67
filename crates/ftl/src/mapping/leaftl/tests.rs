use flashloom_units::{NO_INDEX, Prng};

use super::*;

fn params(cache_bytes: u64, gamma: u32, buffer: u32) -> LeaftlParams {
    LeaftlParams { cache_bytes, gamma, buffer, compaction: 1_000 }
}

/// Two translation pages of 128 entries, and a buffer of 8.
fn cache(gamma: u32) -> (LearnedPages, Vec<Ppn>) {
    let shape = MapShape::new(256, 128, 1);
    (LearnedPages::with_capacity(shape, &params(10_000, gamma, 8)), vec![Ppn::NONE; 256])
}

fn change(cache: &mut LearnedPages, map: &mut [Ppn], changes: impl IntoIterator<Item = (u32, u32)>) {
    for (lpn, page) in changes {
        map[lpn as usize] = Ppn(page);
        cache.mark_dirty(Lpn(lpn), map);
    }
}

#[test]
fn a_full_buffer_is_learned_sorted_by_address_within_each_run_of_pages() {
    let (mut cache, mut map) = cache(0);
    assert_eq!(cache.make_room(Lpn(0), &map), None);
    cache.insert(Lpn(0), &map);
    assert_eq!(cache.bytes, 8);
    // Eight consecutive pages; their addresses are in order but for the first, which lies behind them.
    change(&mut cache, &mut map, [(7, 100)].into_iter().chain((0..6).map(|at| (at, 101 + at))));
    assert_eq!((cache.bytes, cache.predict(Lpn(3))), (8, Some(Ppn(104))), "in the buffer, exactly");
    change(&mut cache, &mut map, [(6, 107)]);
    assert_eq!((cache.bytes, cache.waiting.len()), (8 + 2 * 8, 0), "one segment of seven, and one of one");
    assert_eq!(cache.check(&map), Ok(()));
}

/// No slope predicts the pages of entries 2 and 10 exactly.
#[test]
fn with_an_error_of_one_uneven_pages_are_one_segment_and_some_are_found_at_the_second_attempt() {
    for (gamma, is_approximate) in [(0, false), (1, true)] {
        let (mut cache, mut map) = cache(gamma);
        let lpns = [0, 1, 2, 4, 5, 8, 9, 10];
        change(&mut cache, &mut map, (0..).zip(lpns).map(|(at, lpn)| (lpn, 500 + at)));
        let segments: Vec<_> = cache.groups[0].segments().collect();
        assert_eq!((segments.len() == 1, segments[0].is_approximate()), (is_approximate, is_approximate));
        let wrong = lpns.iter().filter(|&&lpn| cache.mispredicts(Lpn(lpn), &map)).count() as u64;
        assert_eq!((wrong > 0, cache.mispredictions), (is_approximate, wrong));
        assert_eq!(cache.check(&map), Ok(()));
    }
}

#[test]
fn groups_are_compacted_when_so_many_entries_were_learned_or_they_outgrow_a_map_of_pages() {
    let shape = MapShape::new(256, 128, 1);
    let of = LeaftlParams { compaction: 40, ..params(10_000, 0, 8) };
    let (mut cache, mut map) = (LearnedPages::with_capacity(shape, &of), vec![Ppn::NONE; 256]);
    // A segment of eight entries, four times over, with one on top each time that keeps it from being dropped.
    for round in 0..4 {
        change(&mut cache, &mut map, (0..8).map(|at| (16 * at, 1_000 * round + at)));
    }
    change(&mut cache, &mut map, (0..7).map(|at| (1 + 16 * at, 9_000 + 2 * at)));
    assert_eq!(cache.learned, 32);
    let before = cache.groups[0].bytes();
    change(&mut cache, &mut map, [(120, 1)]);
    assert_eq!(cache.learned, 0, "40 are learned: compacted");
    assert!(cache.groups[0].bytes() <= before + 8 * 8);
    assert_eq!(cache.check(&map), Ok(()));
}

/// Most points that a line is near, of all that begin at most `gamma` pages from the first.
fn near_a_line(points: &[(u8, Ppn)], gamma: u32) -> usize {
    let (start, first) = points[0];
    let rise = |slope: u32, entry: u8| (f64::from(slope) / 32_768.0 * f64::from(entry - start) + 0.5).floor() as i64;
    let lines = (0..=2 * gamma).flat_map(|error| (0..=32_768).map(move |slope| (i64::from(error), slope)));
    let near = lines.map(|(error, slope)| {
        let base = i64::from(first.0) + error - i64::from(gamma);
        let is_near = |&&(entry, page): &&(u8, Ppn)| {
            (base + rise(slope, entry) - i64::from(page.0)).unsigned_abs() <= u64::from(gamma)
        };
        points.iter().take_while(is_near).count()
    });
    near.max().expect("there are lines")
}

#[test]
fn a_segment_takes_points_as_long_as_some_line_is_near_or_even_ones_where_these_take_fewer_bytes() {
    let (mut even, mut uneven) = (0, 0);
    for seed in 0..40 {
        let mut prng = Prng::new(seed);
        let gamma = prng.below(4) as u32;
        let (mut entry, mut page) = (0, 1_000);
        let mut points = Vec::new();
        while entry < 200 && points.len() < 24 {
            points.push((entry as u8, Ppn(page)));
            entry += if prng.chance(0.6) { 1 } else { 1 + prng.below(5) };
            page += 1;
        }
        let mut left = &points[..];
        for segment in learn(&points, gamma) {
            let stride = left.get(1).map_or(0, |(second, _)| second - left[0].0);
            let is_even = |&at: &usize| usize::from(left[at].0 - left[0].0) == at * usize::from(stride);
            let accurate = (0..left.len()).take_while(is_even).count();
            let approximate = if gamma > 0 { near_a_line(left, gamma) } else { 1 };
            // Bytes an entry: 8 for all, or 8, one each and one more.
            let is_listed = (9 + approximate) as f64 / (approximate as f64) < 8.0 / accurate as f64;
            let taken = if is_listed { approximate } else { accurate };
            let (own, rest) = left.split_at(taken);
            assert_eq!(segment.is_approximate(), is_listed, "seed {seed}");
            let is_near = |&(entry, page): &(u8, Ppn)| {
                segment.is_of(entry) && segment.predict(entry).0.abs_diff(page.0) <= if is_listed { gamma } else { 0 }
            };
            assert!(own.iter().all(is_near), "seed {seed}");
            assert!(rest.first().is_none_or(|&(entry, _)| !segment.is_of(entry)), "seed {seed}");
            (even, uneven) = (even + usize::from(!is_listed), uneven + usize::from(is_listed));
            left = rest;
        }
        assert_eq!(left, [], "seed {seed}");
    }
    assert!(even > 60 && uneven > 20, "{even} even segments, {uneven} others");
}

/// A naive model: every segment that was ever learned, newest last, and the entries that it was learned from.
type Learned = Vec<(Vec<u32>, Vec<(u32, Ppn)>)>;

#[test]
fn levels_find_what_the_newest_segment_of_all_ever_learned_says_and_the_cache_is_a_list() {
    let (mut approximate, mut written) = (0, 0);
    for seed in 0..2_000 {
        let mut prng = Prng::new(seed);
        let shape = MapShape::new(512 - prng.below(90) as u32, 128, 1).with_blocks(1 << 20, 64);
        let (gamma, buffer) = (prng.below(5) as u32, 1 + prng.below(40) as u32);
        let compaction = 1 + prng.below(400) as u32;
        let cache_bytes = u64::from(8 * buffer) + 1_288 + prng.below(800);
        let of = LeaftlParams { cache_bytes, gamma, buffer, compaction };
        let mut cache = LearnedPages::with_capacity(shape, &of);
        let mut map = vec![Ppn::NONE; shape.entries() as usize];
        let (mut learned, mut waiting): (Learned, Vec<(u32, Ppn)>) = (Vec::new(), Vec::new());
        let (mut cached, mut dirty): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
        let mut place = 0;
        for step in 0..60 {
            let first = prng.below(u64::from(shape.entries())) as u32;
            let stride = 1 + prng.below(3) as u32;
            let length = if prng.chance(0.5) { 1 + prng.below(40) as u32 } else { 1 };
            let lpns = (0..length).map(|at| first + at * stride).filter(|&lpn| lpn < shape.entries());
            for lpn in lpns {
                let page = lpn / 128;
                let is_cached = cached.contains(&page);
                assert_eq!(cache.touch(Lpn(lpn)).is_some(), is_cached, "seed {seed}, step {step}");
                cached.retain(|&other| other != page);
                if !is_cached {
                    while let Some(WriteBack { page, whole }) = cache.make_room(Lpn(lpn), &map) {
                        assert!(dirty.contains(&page.0) && whole == Some(Frame(page.0)), "seed {seed}, step {step}");
                        written += 1;
                        cache.clean(page);
                    }
                    cache.insert(Lpn(lpn), &map);
                }
                cached.push(page);
                if prng.chance(0.02) {
                    map[lpn as usize] = Ppn(NO_INDEX);
                } else {
                    map[lpn as usize] = Ppn(place);
                    waiting.push((lpn, Ppn(place)));
                }
                place += 1 + u32::from(prng.chance(0.1)) * prng.below(9) as u32;
                cache.mark_dirty(Lpn(lpn), &map);
                dirty.push(page);
                if waiting.len() == buffer as usize {
                    learn_naively(&mut learned, std::mem::take(&mut waiting), gamma, shape.pages_a_block());
                }
                while let Some(WriteBack { page, whole }) = cache.overflow() {
                    assert!(dirty.contains(&page.0) && whole == Some(Frame(page.0)), "seed {seed}, step {step}");
                    written += 1;
                    cache.clean(page);
                }
                // What left is the front of the list.
                while cached.iter().map(|&page| cache.size(TranslationPage(page))).sum::<u64>() > cache.capacity {
                    let left = cached.remove(0);
                    dirty.retain(|&other| other != left);
                }
                let held: Vec<u32> = cache.recency.iter(0).collect();
                if held != cached {
                    // A page that came needs room beside it before it is there.
                    let gone = cached.len() - held.len();
                    assert_eq!(held, cached[gone..], "seed {seed}, step {step}");
                    cached = held;
                }
            }
            for lpn in 0..shape.entries() {
                let waits = waiting.iter().rev().find(|(other, _)| *other == lpn).map(|&(_, page)| page);
                let newest = || {
                    let (_, predicted) = learned.iter().rev().find(|(lpns, _)| lpns.contains(&lpn))?;
                    predicted.iter().find(|(other, _)| *other == lpn).map(|&(_, page)| page)
                };
                assert_eq!(cache.predict(Lpn(lpn)), waits.or_else(newest), "seed {seed}, step {step}, {lpn}");
            }
            assert_eq!(cache.check(&map), Ok(()), "seed {seed}, step {step}");
        }
        approximate += cache.groups.iter().flat_map(Group::segments).filter(|one| one.is_approximate()).count();
    }
    assert!(approximate > 2_000 && written > 1_000, "{approximate} approximate segments, {written} pages written");
}

/// Sorts by page, cuts where pages are not consecutive in a block and where groups end, and learns each part.
fn learn_naively(learned: &mut Learned, waiting: Vec<(u32, Ppn)>, gamma: u32, pages_a_block: u32) {
    let is_last = |at: usize| !waiting[at + 1..].iter().any(|(lpn, _)| *lpn == waiting[at].0);
    let mut points: Vec<(u32, Ppn)> = (0..waiting.len()).filter(|&at| is_last(at)).map(|at| waiting[at]).collect();
    points.sort_by_key(|&(_, page)| page);
    while !points.is_empty() {
        let run = (1..points.len())
            .find(|&at| {
                let (before, page) = (points[at - 1].1.0, points[at].1.0);
                page != before + 1 || page % pages_a_block == 0
            })
            .unwrap_or(points.len());
        let mut run: Vec<(u32, Ppn)> = points.drain(..run).collect();
        run.sort_by_key(|&(lpn, _)| lpn);
        for page in 0..4 {
            let own: Vec<_> = run.iter().filter(|(lpn, _)| lpn / 128 == page).collect();
            let points: Vec<(u8, Ppn)> = own.iter().map(|&&(lpn, page)| ((lpn % 128) as u8, page)).collect();
            let mut at = 0;
            for segment in learn(&points, gamma) {
                let taken = (at..points.len()).take_while(|&at| segment.is_of(points[at].0)).count();
                let lpns: Vec<u32> = own[at..at + taken].iter().map(|&&(lpn, _)| lpn).collect();
                let predict = |&lpn: &u32| (lpn, segment.predict((lpn % 128) as u8));
                learned.push((lpns.clone(), lpns.iter().map(predict).collect()));
                at += taken;
            }
        }
    }
}
