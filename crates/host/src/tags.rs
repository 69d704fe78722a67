//! Tags: the set that the requests of a blk-mq scheduler share (docs/linux-schedulers.md, "Tags and `nr_requests`").

use flashloom_workload::{Op, Request};

use crate::params::Linux;

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

/// A limit on the tags that some requests may take.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// A number of tags.
    Depth(u32),
    /// A share of the tags, in per cent.
    Percent(u32),
}

impl Limit {
    /// Number of tags that a limit leaves of a set. Linux 6.1 applies it to each word of the bitmap of tags, 6.12
    /// shares it out among them. A limit that comes to no tag at all is none.
    pub fn of(self, tags: u32, linux: Linux) -> u32 {
        let word = word_bits(tags);
        let words = (0..tags.div_ceil(word)).map(|at| (u64::from(at), u64::from(word.min(tags - at * word))));
        let of_words: u64 = match (linux, self) {
            (Linux::V6_1, limit) => {
                let of_word = match limit {
                    Self::Depth(depth) => (u64::from(depth) * u64::from(word)).div_ceil(tags.into()),
                    Self::Percent(percent) => u64::from(word * percent / 100),
                };
                words.map(|(_, bits)| bits.min(of_word)).sum()
            }
            (Linux::V6_12, limit) => {
                let depth = match limit {
                    Self::Depth(depth) => u64::from(depth.min(tags)),
                    Self::Percent(percent) => u64::from(tags) * u64::from(percent) / 100,
                };
                let share = |(at, bits): (u64, u64)| {
                    let (whole, rest) = (bits * depth / u64::from(tags), bits * depth % u64::from(tags));
                    whole + u64::from(rest >= (at + 1) * bits)
                };
                words.map(share).sum()
            }
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
        let of = |limit: Limit, tags| [limit.of(tags, Linux::V6_1), limit.of(tags, Linux::V6_12)];
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
    fn flags_say_who_is_waited_for() {
        let tags = Tags { reads: 3, sync_writes: 2, async_writes: 1 };
        let open = |op, flags| tags.open_to(&Request::new(op, 0, 8).with_flags(flags));
        assert_eq!([open(Op::Read, 0), open(Op::Write, 0), open(Op::Discard, 0)], [3, 1, 1]);
        assert_eq!([Request::SYNC, Request::FUA, Request::PREFLUSH].map(|flag| open(Op::Write, flag)), [2; 3]);
    }
}
