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
    /// Number of tags that a limit leaves of a set. Linux 6.1 applies it to each word of the bitmap of tags.
    pub fn of(self, tags: u32, linux: Linux) -> u32 {
        match (linux, self) {
            (Linux::V6_12, Self::Depth(depth)) => depth.min(tags),
            (Linux::V6_12, Self::Percent(percent)) => tags * percent / 100,
            (Linux::V6_1, limit) => {
                let word = word_bits(tags);
                let of_word = match limit {
                    Self::Depth(depth) => (u64::from(depth) * u64::from(word)).div_ceil(tags.into()),
                    Self::Percent(percent) => u64::from(word * percent / 100),
                };
                let of_word = of_word.min(word.into()) as u32;
                tags / word * of_word + (tags % word).min(of_word)
            }
        }
        .max(1)
    }
}

/// Bits of a word of a bitmap of so many tags.
fn word_bits(tags: u32) -> u32 {
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
        assert_eq!(of(Limit::Depth(46), 62), [48, 46]);
        assert_eq!(of(Limit::Percent(75), 62), [48, 46]);
        assert_eq!(of(Limit::Depth(1), 256), [4, 1], "a tag of each word");
        assert_eq!(of(Limit::Depth(999), 62), [62, 62]);
        assert_eq!(of(Limit::Percent(75), 2), [2, 1], "a word of 64, of which the set has 2");
        assert_eq!(of(Limit::Percent(75), 1), [1, 1], "there is always one");
    }

    #[test]
    fn flags_say_who_is_waited_for() {
        let tags = Tags { reads: 3, sync_writes: 2, async_writes: 1 };
        let open = |op, flags| tags.open_to(&Request::new(op, 0, 8).with_flags(flags));
        assert_eq!([open(Op::Read, 0), open(Op::Write, 0), open(Op::Discard, 0)], [3, 1, 1]);
        assert_eq!([Request::SYNC, Request::FUA, Request::PREFLUSH].map(|flag| open(Op::Write, flag)), [2; 3]);
    }
}
