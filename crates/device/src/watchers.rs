//! The observers of a run, and the calls to them.

use flashloom_units::Ns;

use crate::anatomy::Served;
use crate::event::{Event, Interest};
use crate::observer::Observer;
use crate::outcome::Sample;
use crate::target::Target;

/// The observers of a run, each with its interest.
pub struct Watchers<'a, 'b> {
    observers: &'a mut [&'b mut dyn Observer],
    interests: Vec<Interest>,
    look_ns: Ns,
}

impl<'a, 'b> Watchers<'a, 'b> {
    pub(crate) fn new(observers: &'a mut [&'b mut dyn Observer]) -> Self {
        let interests = observers.iter().map(|each| each.interest()).collect();
        Self { observers, interests, look_ns: Ns::MAX }
    }

    /// Passes an event to the observers that want events.
    pub fn event(&mut self, now: Ns, event: &Event) {
        self.who(|interest| interest.events).for_each(|each| each.event(now, event));
    }

    /// Passes a request that has ended to the observers that want them.
    pub fn served(&mut self, served: &Served) {
        self.who(|interest| interest.served).for_each(|each| each.served(served));
    }

    fn who(&mut self, asked: fn(Interest) -> bool) -> impl Iterator<Item = &mut &'b mut dyn Observer> {
        let each = self.observers.iter_mut().zip(&self.interests);
        each.filter_map(move |(observer, &interest)| asked(interest).then_some(observer))
    }

    /// The union of their interests.
    pub(crate) fn interest(&self) -> Interest {
        let any = |asked: fn(Interest) -> bool| self.interests.iter().any(|&interest| asked(interest));
        Interest {
            samples: any(|interest| interest.samples),
            events: any(|interest| interest.events),
            served: any(|interest| interest.served),
        }
    }

    pub(crate) fn begin(&mut self, target: &dyn Target) {
        self.observers.iter_mut().for_each(|each| each.begin(target));
        self.look_ns = self.next_look_ns();
    }

    pub(crate) fn sample(&mut self, sample: &Sample) {
        self.who(|interest| interest.samples).for_each(|each| each.sample(sample));
    }

    /// Time of the first look that any of them wants.
    pub(crate) fn look_ns(&self) -> Ns {
        self.look_ns
    }

    fn next_look_ns(&self) -> Ns {
        self.observers.iter().map(|each| each.next_look_ns()).min().unwrap_or(Ns::MAX)
    }

    /// Shows the target to the observers whose look is due.
    pub(crate) fn look(&mut self, time_ns: Ns, target: &dyn Target) {
        let due = self.observers.iter_mut().filter(|each| each.next_look_ns() <= time_ns);
        due.for_each(|each| each.look(time_ns, target));
        self.look_ns = self.next_look_ns();
        debug_assert!(self.look_ns > time_ns, "an observer looks at a time once");
    }

    /// Shows the target to all observers that look, at the end of the run.
    pub(crate) fn look_last(&mut self, time_ns: Ns, target: &dyn Target) {
        let looking = self.observers.iter_mut().filter(|each| each.next_look_ns() < Ns::MAX);
        looking.for_each(|each| each.look(time_ns, target));
    }
}
