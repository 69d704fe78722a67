//! The arbiter: whose command is next, by the rules of the NVM Express Base Specification, "Command Arbitration".
//!
//! - Round robin: the queues have turns, in order of their numbers. A turn ends after as many commands as
//!   `device.front_burst` says, or when the queue is empty.
//! - Weighted round robin with urgent priority class: if an urgent queue has a command, it is next; urgent queues have
//!   turns among themselves. The other classes have credits, as many as their weights. The highest class that has a
//!   credit and a command is next and spends one; its queues have turns among themselves, which end with the credits.
//!   When no class has both, a new round begins with new credits.
//!
//! What the specification leaves open: in which order the classes are served within a round (here the highest first,
//! and again when one that was empty has a command and credits left), and that a turn of a queue among its own class
//! goes on where a higher class came between.

use flashloom_units::OrName;
use flashloom_workload::QueueClass;
use serde::{Deserialize, Serialize};

use super::params::{Arbitration, FrontParams};

/// Classes that share by weights, in order.
const WEIGHTED: [QueueClass; 3] = [QueueClass::High, QueueClass::Medium, QueueClass::Low];

/// Whose turn it is in a class.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Turn {
    /// The queue that the search for a command begins at.
    first: u32,
    /// Commands left in its turn; 0 if it has not begun.
    left: u32,
}

impl Turn {
    /// The next of `queues` queues that `has_command` says to have one.
    fn next(&mut self, queues: usize, burst: u32, has_command: impl Fn(usize) -> bool) -> Option<usize> {
        let found = (0..queues).map(|step| (self.first as usize + step) % queues).find(|&queue| has_command(queue))?;
        let goes_on = self.left > 0 && found == self.first as usize;
        (self.first, self.left) = (found as u32, if goes_on { self.left } else { burst } - 1);
        if self.left == 0 {
            self.end();
        }
        Some(found)
    }

    fn end(&mut self) {
        (self.first, self.left) = (self.first + 1, 0);
    }
}

/// The choice among queues with commands.
pub(super) struct Arbiter {
    kind: Arbitration,
    /// Most commands of a turn.
    burst: u32,
    weights: [u32; WEIGHTED.len()],
    /// Class of each queue; medium for queues behind the last.
    classes: Vec<QueueClass>,
    /// Commands that each class may still have in the round.
    credits: [u32; WEIGHTED.len()],
    /// Turns of each class; of round robin the first alone.
    turns: [Turn; 1 + WEIGHTED.len()],
}

flashloom_units::state! { Arbiter { value credits, turns; fixed kind, burst, weights, classes; } }

impl Arbiter {
    pub(super) fn new(params: &FrontParams, classes: &[QueueClass]) -> Self {
        let weights = [params.high_weight, params.medium_weight, params.low_weight];
        Self {
            kind: params.arbiter,
            burst: match params.burst {
                OrName::Number(burst) => burst,
                OrName::Name => u32::MAX,
            },
            weights,
            classes: classes.to_vec(),
            credits: weights,
            turns: Default::default(),
        }
    }

    /// The queue whose command is next; `None` if `has_command` says so of each of `queues` queues.
    pub(super) fn choose(&mut self, queues: usize, has_command: impl Fn(usize) -> bool) -> Option<usize> {
        let Self { kind, burst, classes, credits, turns: [urgent, turns @ ..], .. } = self;
        if *kind == Arbitration::RoundRobin {
            return urgent.next(queues, *burst, has_command);
        }
        let is_of = |queue: usize, class: QueueClass| {
            classes.get(queue).copied().unwrap_or(QueueClass::Medium) == class && has_command(queue)
        };
        let of_urgent = urgent.next(queues, *burst, |queue| is_of(queue, QueueClass::Urgent));
        if of_urgent.is_some() {
            return of_urgent;
        }
        for begins_round in [false, true] {
            if begins_round {
                if !(0..queues).any(&has_command) {
                    return None;
                }
                *credits = self.weights;
                turns.iter_mut().filter(|turn| turn.left > 0).for_each(Turn::end);
            }
            for ((credits, turn), class) in credits.iter_mut().zip(&mut *turns).zip(WEIGHTED) {
                if *credits > 0
                    && let Some(queue) = turn.next(queues, *burst, |queue| is_of(queue, class))
                {
                    *credits -= 1;
                    return Some(queue);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
