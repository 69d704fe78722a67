//! Tags: the set that the requests of a blk-mq scheduler share (docs/linux-schedulers.md, "Tags and `nr_requests`").

use flashloom_workload::{Op, Request};

use crate::linux::Linux;

/// Number of tags that may be taken before a request gets one, by kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tags {
    /// For reads.
    pub reads: u32,
    /// For writes and discards that a task waits for.
    pub sync_writes: u32,
    /// For all others.
    pub async_writes: u32,
}

impl Tags {
    /// A set of `tags` that are open to all requests.
    pub fn of(tags: u32) -> Self {
        Self { reads: tags, sync_writes: tags, async_writes: tags }
    }

    /// Number of tags below which a request gets one.
    #[inline]
    pub(crate) fn open_to(&self, request: &Request) -> u32 {
        const WAITED_FOR: u8 = Request::SYNC | Request::FUA | Request::PREFLUSH;
        match request.op {
            Op::Read => self.reads,
            _ if request.flags & WAITED_FOR != 0 => self.sync_writes,
            _ => self.async_writes,
        }
    }
}

/// The set of tags of a hardware queue: a bitmap of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TagSet {
    /// Number of tags.
    pub tags: u32,
    /// Number of tags that limits are a part of.
    pub limited: u32,
    /// Number of tags that there were when the scheduler was selected.
    pub selected: u32,
    /// Bits of a word.
    word: u32,
}

impl TagSet {
    /// A set as it is made for a scheduler that is selected.
    pub fn of(tags: u32) -> Self {
        Self { tags, limited: tags, selected: tags, word: word_bits(tags) }
    }

    /// A set that was made with `selected` tags and then got another number. One that grows is made anew; one that
    /// shrinks keeps its words. Limits follow from Linux 6.18 on.
    pub fn resized(selected: u32, tags: u32, linux: Linux) -> Self {
        let limited = if linux < Linux::V6_18 { selected } else { tags };
        Self { tags, limited, selected, word: word_bits(tags.max(selected)) }
    }
}

/// A limit on the tags that some requests may take.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// A number of tags.
    Depth(u32),
    /// A share of [`TagSet::limited`], in per cent; in Linux 6.1 of each word.
    Percent(u32),
}

impl Limit {
    /// Number of tags that a limit leaves of a set. Linux 6.1 applies it to each word of the bitmap of tags, 6.12
    /// shares it out among them. A limit that comes to no tag at all is none.
    pub fn of(self, set: TagSet, linux: Linux) -> u32 {
        let TagSet { tags, limited, word, .. } = set;
        let words = (0..tags.div_ceil(word)).map(|at| (u64::from(at), u64::from(word.min(tags - at * word))));
        let of_words: u64 = if linux < Linux::V6_12 {
            let of_word = match self {
                Self::Depth(depth) => (u64::from(depth) * u64::from(word)).div_ceil(tags.into()),
                Self::Percent(percent) => u64::from(word * percent / 100),
            };
            words.map(|(_, bits)| bits.min(of_word)).sum()
        } else {
            let depth = match self {
                Self::Depth(depth) => depth,
                Self::Percent(percent) => limited * percent / 100,
            };
            let (depth, tags) = (u64::from(depth.min(tags)), u64::from(tags));
            let share = |(at, bits)| bits * depth / tags + u64::from(bits * depth % tags >= (at + 1) * bits);
            words.map(share).sum()
        };
        if of_words == 0 { tags } else { of_words as u32 }
    }
}

/// Bits of a word of a bitmap of so many tags.
pub(crate) fn word_bits(tags: u32) -> u32 {
    let halved = |&bits: &u32| 4 * bits <= tags;
    (0..=6).rev().map(|shift| 1 << shift).find(halved).filter(|_| tags >= 4).unwrap_or(64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_bitmap_has_shorter_words() {
        let words = [1, 3, 4, 7, 8, 62, 64, 128, 255, 256, 4_096].map(word_bits);
        assert_eq!(words, [64, 64, 1, 1, 2, 8, 16, 32, 32, 64, 64]);
    }

    #[test]
    fn linux_6_12_limits_all_tags_and_6_1_each_word() {
        let of = |limit: Limit, tags| [Linux::V6_1, Linux::V6_12].map(|linux| limit.of(TagSet::of(tags), linux));
        // Eight words of 8 tags, the last of 6; 46 * 8 / 62 is 5.9, so 6 of each.
        // Linux 6.12: 8 * 46 / 62 is 5 and 58 left, which is enough for a 6th of the first seven; 6 * 46 / 62 is 4.
        assert_eq!(of(Limit::Depth(46), 62), [48, 46]);
        assert_eq!(of(Limit::Percent(75), 62), [48, 46]);
        assert_eq!(of(Limit::Depth(1), 256), [4, 1], "a tag of each word");
        assert_eq!(of(Limit::Depth(999), 62), [62, 62]);
        assert_eq!(of(Limit::Percent(75), 2), [2, 1], "a word of 64, of which the set has 2");
        assert_eq!(of(Limit::Percent(75), 1), [1, 1], "a limit of none is no limit");
        assert_eq!(of(Limit::Percent(75), 7), [7, 5], "nor is one of 75 % of a word of one tag");
        assert_eq!(of(Limit::Depth(10), 19), [15, 9], "the shares of 6.12 may come to less than the limit");
    }

    #[test]
    fn tags_that_are_added_are_none_of_a_limit_and_words_of_a_set_that_shrinks_stay() {
        let of = |limit: Limit, selected, tags| {
            [Linux::V6_1, Linux::V6_12, Linux::V6_18]
                .map(|linux| limit.of(TagSet::resized(selected, tags, linux), linux))
        };
        // Eight words of 32: 62 * 32 / 256 is 7.75, so 8 of each; kyber of 6.1 has 75 % of each word, 6.12 of 62.
        assert_eq!(of(Limit::Depth(62), 62, 256), [64, 62, 62]);
        assert_eq!(of(Limit::Percent(75), 62, 256), [192, 46, 192], "6.18 has 75 % of 256");
        // Of 62 tags in words of 8, 20 are left: two words and a half.
        assert_eq!(of(Limit::Depth(62), 62, 20), [20, 20, 20]);
        // 6.18 has 15 of 20: 8 * 15 / 20 is 6, 4 * 15 / 20 is 3.
        assert_eq!(of(Limit::Percent(75), 62, 20), [16, 20, 15], "6 + 6 + 4; and 46 are more than there are");
        assert_eq!(of(Limit::Depth(10), 62, 20), [12, 10, 10]);
    }

    #[test]
    fn flags_say_who_is_waited_for() {
        let tags = Tags { reads: 3, sync_writes: 2, async_writes: 1 };
        let open = |op, flags| tags.open_to(&Request::new(op, 0, 8).with_flags(flags));
        assert_eq!([open(Op::Read, 0), open(Op::Write, 0), open(Op::Discard, 0)], [3, 1, 1]);
        assert_eq!([Request::SYNC, Request::FUA, Request::PREFLUSH].map(|flag| open(Op::Write, flag)), [2; 3]);
    }
}
