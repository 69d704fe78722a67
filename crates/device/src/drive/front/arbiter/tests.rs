use std::collections::VecDeque;

use flashloom_units::{ParamSet, Prng};

use super::*;

/// An arbiter written from the specification's sentences, one queue after the other.
struct Naive {
    burst: u32,
    weights: [u32; 3],
    /// Queues of each class, the one whose turn it is first; all in the first for round robin.
    rings: [VecDeque<usize>; 4],
    /// Commands of the turn so far.
    taken: [u32; 4],
    credits: [u32; 3],
}

/// What a choice was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chose {
    Nothing,
    InTurn,
    Urgent,
    High,
    Medium,
    Low,
    OfNewRound,
    FurtherOfTurn,
}

impl Chose {
    const ALL: [Self; 8] = [
        Self::Nothing,
        Self::InTurn,
        Self::Urgent,
        Self::High,
        Self::Medium,
        Self::Low,
        Self::OfNewRound,
        Self::FurtherOfTurn,
    ];
}

impl Naive {
    fn new(params: &FrontParams, classes: &[QueueClass]) -> Self {
        let mut rings: [VecDeque<usize>; 4] = Default::default();
        for (queue, class) in classes.iter().enumerate() {
            rings[if params.arbiter == Arbitration::RoundRobin { 0 } else { *class as usize }].push_back(queue);
        }
        let burst = if let OrName::Number(burst) = params.burst { burst } else { u32::MAX };
        let weights = [params.high_weight, params.medium_weight, params.low_weight];
        Self { burst, weights, rings, taken: [0; 4], credits: weights }
    }

    fn has_any(&self, class: usize, has_command: &[bool]) -> bool {
        self.rings[class].iter().any(|&queue| has_command[queue])
    }

    fn pass_on(&mut self, class: usize) {
        self.rings[class].rotate_left(1);
        self.taken[class] = 0;
    }

    fn take(&mut self, class: usize, has_command: &[bool], chose: &mut Vec<Chose>) -> usize {
        while !has_command[self.rings[class][0]] {
            self.pass_on(class);
        }
        let queue = self.rings[class][0];
        chose.extend((self.taken[class] > 0).then_some(Chose::FurtherOfTurn));
        self.taken[class] += 1;
        if self.taken[class] == self.burst {
            self.pass_on(class);
        }
        queue
    }

    fn choose(&mut self, is_weighted: bool, has_command: &[bool]) -> (Option<usize>, Vec<Chose>) {
        let mut chose = Vec::new();
        if self.has_any(0, has_command) {
            chose.push(if is_weighted { Chose::Urgent } else { Chose::InTurn });
            return (Some(self.take(0, has_command, &mut chose)), chose);
        }
        if !(1..4).any(|class| self.has_any(class, has_command)) {
            return (None, vec![Chose::Nothing]);
        }
        if !(1..4).any(|class| self.has_any(class, has_command) && self.credits[class - 1] > 0) {
            chose.push(Chose::OfNewRound);
            self.credits = self.weights;
            for class in 1..4 {
                if self.taken[class] > 0 {
                    self.pass_on(class);
                }
            }
        }
        let may = |class: &usize| self.has_any(*class, has_command) && self.credits[class - 1] > 0;
        let class = (1..4).find(may).expect("a new round has credits");
        self.credits[class - 1] -= 1;
        chose.push([Chose::High, Chose::Medium, Chose::Low][class - 1]);
        (Some(self.take(class, has_command, &mut chose)), chose)
    }
}

fn params(arbiter: Arbitration, burst: OrName<u32>, weights: [u32; 3]) -> FrontParams {
    let [high_weight, medium_weight, low_weight] = weights;
    FrontParams { arbiter, burst, high_weight, medium_weight, low_weight, ..FrontParams::defaults() }
}

#[test]
fn a_million_choices_are_those_of_an_arbiter_written_from_the_specification() {
    let mut prng = Prng::new(61);
    let mut counts = [0_u64; Chose::ALL.len()];
    for _ in 0..2_000 {
        let mut below = |bound: u64| prng.below(bound) as u32;
        let kind = [Arbitration::RoundRobin, Arbitration::Weighted][below(2) as usize];
        let burst = if below(8) == 0 { OrName::Name } else { OrName::Number(1 << below(4)) };
        let params = params(kind, burst, [0; 3].map(|_| 1 + below(6)));
        let classes: Vec<_> = (0..1 + below(8))
            .map(|_| [QueueClass::Urgent, QueueClass::High, QueueClass::Medium, QueueClass::Low][below(4) as usize])
            .collect();
        let (mut arbiter, mut naive) = (Arbiter::new(&params, &classes), Naive::new(&params, &classes));
        let busy = 1 + below(6);
        for _ in 0..500 {
            let has_command: Vec<bool> = classes.iter().map(|_| below(6) < busy).collect();
            let (queue, chose) = naive.choose(kind == Arbitration::Weighted, &has_command);
            assert_eq!(arbiter.choose(classes.len(), |queue| has_command[queue]), queue, "{params:?} {classes:?}");
            Chose::ALL.iter().zip(&mut counts).for_each(|(kind, count)| *count += u64::from(chose.contains(kind)));
        }
    }
    assert!(counts.iter().all(|&count| count > 1_000), "{:?}", Chose::ALL.iter().zip(counts).collect::<Vec<_>>());
}

/// The choices of queues that always have commands.
fn backlogged(params: &FrontParams, classes: &[QueueClass], choices: usize) -> Vec<usize> {
    let mut arbiter = Arbiter::new(params, classes);
    (0..choices).map(|_| arbiter.choose(classes.len(), |_| true).expect("each has a command")).collect()
}

#[test]
fn backlogged_queues_have_turns_of_a_burst() {
    let of = |burst| params(Arbitration::RoundRobin, burst, [1; 3]);
    let classes = [QueueClass::Medium; 3];
    assert_eq!(backlogged(&of(OrName::Number(1)), &classes, 5), [0, 1, 2, 0, 1]);
    assert_eq!(backlogged(&of(OrName::Number(2)), &classes, 8), [0, 0, 1, 1, 2, 2, 0, 0]);
    assert_eq!(backlogged(&of(OrName::Name), &classes, 4), [0; 4]);
}

/// By hand: in a round three commands of class high in turns of two, the last cut by the credits, and one of low.
#[test]
fn a_round_has_as_many_commands_of_a_class_as_its_weight() {
    let params = params(Arbitration::Weighted, OrName::Number(2), [3, 1, 1]);
    let classes = [QueueClass::High, QueueClass::Low, QueueClass::High];
    assert_eq!(backlogged(&params, &classes, 8), [0, 0, 2, 1, 0, 0, 2, 1]);
    let one = [QueueClass::High, QueueClass::Medium];
    assert_eq!(backlogged(&params, &one, 8), [0, 0, 0, 1, 0, 0, 0, 1], "alone in its class it has turn after turn");
}

#[test]
fn an_urgent_queue_is_next_whenever_it_has_a_command() {
    let params = params(Arbitration::Weighted, OrName::Number(4), [4; 3]);
    let classes = [QueueClass::High, QueueClass::Urgent];
    let mut arbiter = Arbiter::new(&params, &classes);
    let chosen: Vec<_> = (0..6).map(|at| arbiter.choose(2, |queue| queue == 0 || at % 3 == 1)).collect();
    assert_eq!(chosen, [Some(0), Some(1), Some(0), Some(0), Some(1), Some(0)]);
}
