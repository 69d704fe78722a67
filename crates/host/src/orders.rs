//! Every order in which queued requests can go to the device: a scheduler for searches, one order a run.
//!
//! ```text
//! dispatch: of the m requests that are queued, take the one that this run is to take; the first where it is not said
//! next:     at the last dispatch where another request was queued behind the one taken, take that; none is left where
//!           every dispatch took the last
//! ```
//!
//! The orders are those of all schedulers that give the device a request whenever it has room and one is queued: a
//! depth-first search over their decisions. Holding a request back is not tried, nor is merging, which the block layer
//! is to leave out. Not a policy of the table, because its runs only mean something together.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flashloom_units::{Component, Ns, Violation, ensure};

use crate::id::RequestId;
use crate::requests::{Requests, Stage};
use crate::scheduler::{Choice, Scheduler};

/// A dispatch: which of the queued requests was taken, in order of arrival, and of how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Turn {
    taken: usize,
    queued: usize,
}

/// The search.
#[derive(Clone, Debug, Default)]
pub struct Orders(Arc<Mutex<Vec<Turn>>>);

impl Orders {
    fn turns(&self) -> MutexGuard<'_, Vec<Turn>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The scheduler of the next run. It begins with the turns that [`Self::advance`] left.
    pub fn scheduler(&self) -> Box<dyn Scheduler> {
        Box::new(Chosen { orders: self.clone(), queue: Vec::new(), dispatched: 0 })
    }

    /// Goes to the next order, after a run; false where all have been tried.
    pub fn advance(&self) -> bool {
        let mut turns = self.turns();
        while let Some(Turn { taken, queued }) = turns.pop() {
            if taken + 1 < queued {
                turns.push(Turn { taken: taken + 1, queued });
                return true;
            }
        }
        false
    }
}

/// One order of the search.
struct Chosen {
    orders: Orders,
    queue: Vec<RequestId>,
    dispatched: usize,
}

impl Component for Chosen {}

impl Scheduler for Chosen {
    fn insert(&mut self, _now: Ns, _requests: &Requests, id: RequestId) -> Ns {
        self.queue.push(id);
        Ns::MAX
    }

    fn dispatch(&mut self, _now: Ns, _requests: &Requests) -> Choice {
        let queued = self.queue.len();
        if queued == 0 {
            return Choice::Idle;
        }
        let mut turns = self.orders.turns();
        if self.dispatched == turns.len() {
            turns.push(Turn { taken: 0, queued });
        }
        let turn = turns[self.dispatched];
        assert_eq!(turn.queued, queued, "the same turns before lead to the same queue");
        self.dispatched += 1;
        Choice::Request(self.queue.remove(turn.taken))
    }

    fn check_queued(&self, requests: &Requests) -> Result<(), Violation> {
        let (listed, queued) = (self.queue.len() as u64, requests.count(Stage::Queued));
        ensure!(listed == queued, "orders: {listed} listed, {queued} queued");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use flashloom_units::ParamSet;
    use flashloom_workload::{Op, Request};

    use super::*;
    use crate::{Admission, BlockLayer, Decision, HostParams};

    /// The first sectors in the order of dispatch, of three reads that are queued and a fourth that comes after the
    /// first dispatch.
    fn run(orders: &Orders) -> Vec<u64> {
        let params = HostParams { merging: false, queue_depth: 1, ..HostParams::defaults() };
        let mut layer = BlockLayer::new(&params, orders.scheduler());
        let read = |lba| Request::new(Op::Read, lba, 8);
        let mut sectors = Vec::new();
        [10, 20, 30].into_iter().for_each(|lba| assert_eq!(layer.submit(0, &read(lba), 0), Admission::Queued));
        while let Decision::Dispatch(request) = layer.dispatch(0) {
            if sectors.is_empty() {
                layer.submit(0, &read(40), 0);
            }
            sectors.push(request.lba);
            layer.complete(0, request.id, |_| {});
        }
        sectors
    }

    #[test]
    fn every_order_is_tried_once() {
        let orders = Orders::default();
        let mut seen = vec![run(&orders)];
        while orders.advance() {
            seen.push(run(&orders));
        }
        assert_eq!(seen[0], [10, 20, 30, 40]);
        let distinct: BTreeSet<&Vec<u64>> = seen.iter().collect();
        // Three for the first; then three are queued, in any order.
        assert_eq!((seen.len(), distinct.len()), (18, 18));
        assert!(seen.iter().all(|order| order[0] != 40), "a request that has not arrived is not dispatched");
    }
}
