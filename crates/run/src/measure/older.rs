//! Fields that a result had before its policies described their figures: each has the value of a statistic of that
//! meaning, whichever policy of the FTL counts it. A mapping from outside that counts under these names has them too.

use flashloom_ftl::mapping;
use flashloom_units::{Figure, Figures, Latency, SlotSpec};

use flashloom_config::Config;
use flashloom_figures::result::{BlockingResult, MapCacheResult, MergesResult, StreamsResult, TallyResult, WaitResult};

/// The values of the statistics of the FTL's policies, by name.
pub(super) struct Older<'a>(Vec<(&'static str, &'a Figure)>);

impl<'a> Older<'a> {
    pub(super) fn of(config: &Config, figures: &'a Figures) -> Self {
        let is_of_ftl = |slot: &SlotSpec| slot.key.split('.').next() == mapping::SLOT.key.split('.').next();
        let of_slot = |(slot, values): (&'static SlotSpec, &'a [Figure])| {
            slot.statistics_of(config.policy(slot.key).0).map(|statistic| statistic.name).zip(values)
        };
        let all = figures.iter().filter(|(slot, _)| is_of_ftl(slot)).flat_map(of_slot);
        Self(all.filter(|(_, value)| !matches!(value, Figure::Absent)).collect())
    }

    fn named(&self, name: &str) -> Option<&'a Figure> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    fn whole(&self, name: &str) -> Option<u64> {
        self.named(name)?.whole()
    }

    pub(super) fn migrated_pages(&self) -> Option<u64> {
        self.whole("migrated_pages")
    }

    pub(super) fn reserved_pages(&self) -> Option<u64> {
        self.whole("reserved_pages")
    }

    pub(super) fn merges(&self) -> Option<MergesResult> {
        Some(MergesResult {
            switch: self.whole("switch_merges")?,
            partial: self.whole("partial_merges")?,
            full: self.whole("full_merges")?,
            filler_pages: self.whole("filler_pages").unwrap_or(0),
            migrated_pages: self.migrated_pages().unwrap_or(0),
        })
    }

    pub(super) fn associativity(&self) -> Option<TallyResult> {
        match self.named("associativity")? {
            Figure::Histogram(histogram) => TallyResult::of(histogram),
            _ => None,
        }
    }

    pub(super) fn blocking_ns(&self) -> Option<BlockingResult> {
        let Figure::Times(all) = self.named("blocking_ns")? else { return None };
        Some(blocking(all, self.whole("blocking_bound_ns")?))
    }

    pub(super) fn wait_ns(&self) -> Option<WaitResult> {
        Some(WaitResult { max: self.whole("longest_wait_ns")?, bound: self.whole("wait_bound_ns")? })
    }

    pub(super) fn map_cache(&self) -> Option<MapCacheResult> {
        let Figure::Ratio(hit_ratio) = *self.named("map_hit_ratio")? else { return None };
        Some(MapCacheResult {
            hits: self.whole("map_hits")?,
            misses: self.whole("map_misses")?,
            hit_ratio,
            reads: self.whole("map_reads")?,
            writes: self.whole("map_writes")?,
        })
    }

    pub(super) fn streams(&self) -> Option<StreamsResult> {
        Some(StreamsResult {
            detected: self.whole("streams")?,
            pages: self.whole("stream_pages")?,
            threshold: self.whole("stream_threshold")?,
            substreams: self.whole("substreams"),
            spread_pages: self.whole("spread_pages").unwrap_or(0),
        })
    }
}

fn blocking(all: &Latency, bound: u64) -> BlockingResult {
    let some = (all.count() > 0).then_some(all);
    BlockingResult {
        mean: some.map(Latency::mean),
        p99: some.map(|all| all.percentile(99.0)),
        max: some.map(Latency::max),
        bound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_merges_there_is_a_bound_and_nothing_to_compare_with_it() {
        assert_eq!(blocking(&Latency::new(), 7), BlockingResult { mean: None, p99: None, max: None, bound: 7 });
    }
}
