//! Several targets under one host, each behind its own queue, which `Request::queue` selects.
//!
//! Each queue has its own address space. A target that spreads one address space over several, such as a RAID, is built
//! on top of this one and chooses queue and sector.

use std::collections::VecDeque;

use flashloom_units::{Ns, StateError, load_with, save_with};
use flashloom_workload::Request;

use crate::client::{Completion, Submitted};
use crate::engine::Engine;
use crate::misuse::Misuse;
use crate::target::{Target, Terms};
use crate::watchers::Watchers;

/// Several targets under one host, each behind its own queue.
///
/// ```
/// use flashloom_device::{DeviceParams, Drive, DriveSetup, Engine, Misuse, Queues, Target};
/// use flashloom_nand::NandParams;
/// use flashloom_units::ParamSet;
/// use flashloom_workload::{Op, Request};
///
/// let nand = NandParams { blocks: 64, ..NandParams::defaults() };
/// let setup = DriveSetup::with_defaults(DeviceParams { nand, ..DeviceParams::defaults() });
/// let engines = [Drive::new(&setup)?, Drive::new(&setup)?].map(|drive| Engine::bare(drive, 32, 0));
/// let mut two = Queues::new(engines.into());
/// let write = Request::new(Op::Write, 0, 16);
/// two.submit(0, &write.on_queue(0), 0)?;
/// two.submit(0, &write.on_queue(1), 1)?;
/// assert_eq!(two.submit(0, &write.on_queue(2), 2), Err(Misuse::NoQueue { queue: 2, queues: 2 }));
/// two.advance_to(0)?;
/// assert_eq!(std::iter::from_fn(|| two.take_completion()).count(), 2);
/// let writes = two.engines().into_iter().map(|engine| engine.host_report().completed_of(Op::Write));
/// assert!(writes.eq([1, 1]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Queues<T> {
    members: Vec<T>,
    /// The host's time. A target is advanced to it with its next request, or when time advances.
    now: Ns,
    /// Completions that were collected when time advanced, and not taken yet.
    completions: VecDeque<Completion>,
}

impl<T: Target> Queues<T> {
    /// A target of these, in the order of their queues.
    ///
    /// # Panics
    /// If there is no target, if there are more than queue numbers, or if their times differ.
    pub fn new(members: Vec<T>) -> Self {
        assert!((1..=1 << u8::BITS).contains(&members.len()), "a queue has a number of 8 bits");
        let now = members[0].now_ns();
        assert!(members.iter().all(|member| member.now_ns() == now), "the targets have come to the same time");
        Self { members, now, completions: VecDeque::new() }
    }

    /// The targets, in the order of their queues.
    pub fn members(&self) -> &[T] {
        &self.members
    }

    /// Advances all targets to a time not after the first pending event, and collects their completions.
    fn advance_all_to(&mut self, to_ns: Ns) -> Result<(), Misuse> {
        let Self { members, now, completions } = self;
        members.iter_mut().try_for_each(|member| member.advance_to(to_ns))?;
        *now = to_ns;
        members.iter_mut().for_each(|member| completions.extend(std::iter::from_fn(|| member.take_completion())));
        Ok(())
    }

    /// The target behind a request's queue.
    fn member(&mut self, request: &Request) -> Result<&mut T, Misuse> {
        let (queue, queues) = (request.queue, self.members.len());
        self.members.get_mut(usize::from(queue)).ok_or(Misuse::NoQueue { queue, queues })
    }

    /// Lets the targets act that `is_due` chooses; returns whether the host has to.
    fn act(
        &mut self,
        is_due: impl Fn((Ns, Ns)) -> bool,
        act: impl Fn(&mut T) -> Result<bool, Misuse>,
    ) -> Result<bool, Misuse> {
        let mut host_acts = false;
        for member in &mut self.members {
            if is_due(member.due()) {
                host_acts |= act(member)?;
                self.now = self.now.max(member.now_ns());
            }
        }
        Ok(host_acts)
    }
}

impl<T: Target> Target for Queues<T> {
    /// The capacity of the smallest target, in sectors.
    fn capacity_sectors(&self) -> u64 {
        self.members.iter().map(Target::capacity_sectors).min().expect("there is one")
    }

    fn submit(&mut self, now_ns: Ns, request: &Request, cookie: u32) -> Result<Submitted, Misuse> {
        Misuse::check_time(now_ns, self.now)?;
        if let Some(due_ns) = self.next_event_ns().filter(|&due_ns| due_ns < now_ns) {
            return Err(Misuse::Skipped { now_ns, due_ns });
        }
        let submitted = self.member(request)?.submit(now_ns, request, cookie)?;
        self.now = now_ns;
        Ok(submitted)
    }

    fn now_ns(&self) -> Ns {
        self.now
    }

    fn next_event_ns(&mut self) -> Option<Ns> {
        self.members.iter_mut().filter_map(Target::next_event_ns).min()
    }

    fn advance_to(&mut self, to_ns: Ns) -> Result<(), Misuse> {
        Misuse::check_time(to_ns, self.now)?;
        while let Some(next_ns) = self.next_event_ns().filter(|&next_ns| next_ns < to_ns) {
            self.advance_all_to(next_ns)?;
        }
        self.advance_all_to(to_ns)
    }

    fn take_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front().or_else(|| self.members.iter_mut().find_map(Target::take_completion))
    }

    fn snapshot(&self) -> Result<Vec<u8>, StateError> {
        let members = self.members.iter().map(Target::snapshot).collect::<Result<Vec<_>, _>>()?;
        save_with(|to| {
            to.value(&members);
            to.value(&self.now);
            to.value(&self.completions);
        })
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        load_with(state, |from| {
            let members: Vec<Vec<u8>> = from.list(self.members.len() as u64)?;
            if members.len() < self.members.len() {
                return Err(from.error(format!("{} targets", self.members.len()), members.len().to_string()));
            }
            self.members.iter_mut().zip(&members).try_for_each(|(member, state)| member.restore(state))?;
            self.now = from.value()?;
            self.completions = from.value()?;
            Ok(())
        })
    }

    fn engines(&self) -> Vec<&Engine> {
        self.members.iter().flat_map(Target::engines).collect()
    }

    fn begin(&mut self, terms: Terms) {
        self.members.iter_mut().for_each(|member| member.begin(terms));
    }

    fn has_stopped(&self) -> bool {
        self.members.iter().any(Target::has_stopped)
    }

    fn come_to(&mut self, now_ns: Ns) -> Result<(), Misuse> {
        self.now = now_ns;
        self.members.iter_mut().try_for_each(|member| member.come_to(now_ns))
    }

    fn arrived(&mut self, request: &Request) {
        if let Ok(member) = self.member(request) {
            member.arrived(request);
        }
    }

    fn offer(&mut self, now_ns: Ns, request: &Request, cookie: u32) -> Result<Submitted, Misuse> {
        let member = self.member(request)?;
        Misuse::check_sectors(request, member.capacity_sectors())?;
        // A backlog is offered again at a time to which perhaps only another target has come.
        member.come_to(now_ns)?;
        member.offer(now_ns, request, cookie)
    }

    fn line_of(&self, request: &Request) -> u32 {
        self.members.get(usize::from(request.queue)).map_or(0, |member| member.line_of(request))
    }

    fn due(&mut self) -> (Ns, Ns) {
        let first = |first: (Ns, Ns), due: (Ns, Ns)| (first.0.min(due.0), first.1.min(due.1));
        self.members.iter_mut().map(Target::due).fold((Ns::MAX, Ns::MAX), first)
    }

    fn step(&mut self, at_ns: Ns, until_ns: Ns) -> Result<bool, Misuse> {
        // With several targets the next event may be another's.
        let until_ns = if self.members.len() == 1 { until_ns } else { at_ns };
        self.act(|(ends_ns, _)| ends_ns == at_ns, |member| member.step(at_ns, until_ns))
    }

    fn wake(&mut self, at_ns: Ns) -> Result<bool, Misuse> {
        self.act(|(_, begins_ns)| begins_ns == at_ns, |member| member.wake(at_ns))
    }

    fn complete(&mut self) {
        self.members.iter_mut().for_each(Target::complete);
    }

    fn dispatch(&mut self) -> bool {
        self.members.iter_mut().fold(false, |sent, member| sent | member.dispatch())
    }

    // No short circuit: the call may make an idle target schedule its background work.
    fn rest(&mut self) -> bool {
        self.members.iter_mut().fold(true, |rest, member| rest & member.rest())
    }

    fn finish(&mut self) -> bool {
        self.members.iter_mut().fold(true, |over, member| over & member.finish())
    }

    // The checks of verified drives see their last events here.
    fn tell(&mut self, watchers: &mut Watchers<'_, '_>) {
        self.members.iter_mut().for_each(|member| member.tell(watchers));
    }

    fn end(&mut self) {
        self.members.iter_mut().for_each(Target::end);
    }
}
