//! The slowest requests of a run, with their latency by cause.

mod story;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use flashloom_device::{Interest, Observer, Served};
use flashloom_nand::Geometry;
use flashloom_units::Ns;

/// Observer that keeps the slowest ended requests, failed ones among them; of equally slow ones those that ended first.
/// Memory does not grow with the run.
#[derive(Clone, Debug)]
pub struct Slowest {
    count: usize,
    geometry: Option<Geometry>,
    /// The kept requests, in any order.
    kept: Vec<Served>,
    /// One rank per kept request; the fastest is on top, to be replaced first.
    ranks: BinaryHeap<Reverse<Rank>>,
    /// Number of requests that have ended.
    ended: u64,
}

/// Latency, number of requests that ended before, and index in `kept`: the greatest is the slowest.
type Rank = (Ns, Reverse<u64>, usize);

impl Slowest {
    /// Keeps the `count` slowest requests.
    pub fn new(count: usize) -> Self {
        Self { count, geometry: None, kept: Vec::new(), ranks: BinaryHeap::new(), ended: 0 }
    }

    /// Lets the story name die, block and page of operations in a drive of this geometry.
    #[must_use]
    pub fn on(mut self, geometry: Geometry) -> Self {
        self.geometry = Some(geometry);
        self
    }

    /// The story of the kept requests for people, the slowest first.
    pub fn story(&self) -> String {
        let ranks = self.ranks.clone().into_sorted_vec();
        let slowest: Vec<&Served> = ranks.iter().map(|Reverse((_, _, index))| &self.kept[*index]).collect();
        story::of(&slowest, self.ended, self.geometry.as_ref())
    }
}

impl Observer for Slowest {
    fn interest(&self) -> Interest {
        Interest { served: true, ..Interest::default() }
    }

    fn served(&mut self, served: &Served) {
        let latency_ns = served.latency_ns();
        let rank = |index| Reverse((latency_ns, Reverse(self.ended), index));
        if self.kept.len() < self.count {
            self.ranks.push(rank(self.kept.len()));
            self.kept.push(*served);
        } else if let Some(mut fastest) = self.ranks.peek_mut() {
            let Reverse((least_ns, _, index)) = *fastest;
            if latency_ns > least_ns {
                *fastest = rank(index);
                self.kept[index] = *served;
            }
        }
        self.ended += 1;
    }
}

#[cfg(test)]
mod tests;
