//! The host above a drive: a block layer, or a bare host that forwards commands unchanged.

use flashloom_host::{
    Admission, BlockLayer, Class, Completed, Decision, Dispatched, RequestId, Requests, SchedulerStats, Stage,
    scheduler,
};
use flashloom_units::{Figures, Ns, Reader, State, StateError, Violation, Writer, violation};
use flashloom_workload::Request;

/// The host side of an engine.
pub(crate) enum Host {
    /// Block layer: merges, schedules, and queues requests.
    Layer(Box<BlockLayer>),
    /// Bare host: a list of outstanding commands.
    Bare(Box<Bare>),
}

/// Result of passing a request to the host.
pub(crate) enum Entry {
    /// Queued in the block layer, alone or merged into another request.
    Queued,
    /// Dispatched to the drive at once, as this command.
    Sent(Dispatched),
    /// Refused: no room.
    Full,
}

/// Outstanding commands of a drive without a block layer; each is one submitted request.
pub(crate) struct Bare {
    requests: Requests,
    stats: SchedulerStats,
    queue_depth: u32,
}

flashloom_units::state! { Bare { nested requests, stats; fixed queue_depth; } }

impl Bare {
    /// A host with this queue depth.
    pub(crate) fn new(queue_depth: u32) -> Self {
        Self { requests: Requests::new(queue_depth), stats: SchedulerStats::default(), queue_depth }
    }

    fn held(&self) -> u64 {
        self.stats.inserted - self.stats.completed
    }

    /// The command of a request; `None` if `queue_depth` commands are outstanding.
    fn submit(&mut self, now: Ns, request: &Request, cookie: u32) -> Option<Dispatched> {
        if self.held() >= u64::from(self.queue_depth) {
            return None;
        }
        let member = self.requests.admit(request, cookie);
        let id = self.requests.queue(request, member);
        self.requests.start(id, now);
        self.stats.inserted += 1;
        self.stats.dispatched += 1;
        Some(Dispatched::new(id, request))
    }

    #[inline(never)]
    fn finish(&mut self, id: RequestId, each: &mut dyn FnMut(&Completed)) {
        self.stats.completed += 1;
        self.requests.finish(id, each);
    }

    fn check(&self) -> Result<(), Violation> {
        match (self.held(), self.requests.count(Stage::InFlight)) {
            (held, in_pool) if held == in_pool => Ok(()),
            (held, in_pool) => Err(violation!("host: {held} commands held, but {in_pool} in the pool")),
        }
    }
}

impl Host {
    /// Accepts a request, if there is room.
    #[inline]
    pub(crate) fn submit(&mut self, now: Ns, request: &Request, cookie: u32) -> Entry {
        match self {
            Self::Layer(layer) => match layer.submit(now, request, cookie) {
                Admission::Queued | Admission::Merged => Entry::Queued,
                Admission::Full => Entry::Full,
            },
            Self::Bare(bare) => bare.submit(now, request, cookie).map_or(Entry::Full, Entry::Sent),
        }
    }

    /// The next command to dispatch. A bare host has dispatched everything already.
    #[inline]
    pub(crate) fn dispatch(&mut self, now: Ns) -> Decision {
        match self {
            Self::Layer(layer) => layer.dispatch(now),
            Self::Bare(_) => Decision::Idle,
        }
    }

    /// True if [`Self::dispatch_unplugged`] has to be called, see [`BlockLayer::is_unplugged`].
    #[inline]
    pub(crate) fn is_unplugged(&self) -> bool {
        matches!(self, Self::Layer(layer) if layer.is_unplugged())
    }

    /// The next command to dispatch before the moment is over.
    pub(crate) fn dispatch_unplugged(&mut self, now: Ns) -> Option<Dispatched> {
        match self {
            Self::Layer(layer) => layer.dispatch_unplugged(now),
            Self::Bare(_) => None,
        }
    }

    /// Ends a command that the drive completed; calls `each` for every original request in it.
    #[inline]
    pub(crate) fn complete(&mut self, now: Ns, id: RequestId, mut each: impl FnMut(&Completed)) {
        match self {
            Self::Layer(layer) => layer.complete(now, id, each),
            // Passed by reference, so that `each` has a single place where it can be inlined.
            Self::Bare(bare) => bare.finish(id, &mut each),
        }
    }

    /// Ends a command that the drive failed; calls `each` for every original request in it.
    pub(crate) fn fail(&mut self, now: Ns, id: RequestId, mut each: impl FnMut(&Completed)) {
        match self {
            Self::Layer(layer) => layer.fail(now, id, each),
            Self::Bare(bare) => bare.finish(id, &mut each),
        }
    }

    /// The id of the outstanding request that was accepted last.
    #[inline]
    pub(crate) fn newest_member(&self) -> u32 {
        match self {
            Self::Layer(layer) => layer.newest_member(),
            Self::Bare(bare) => bare.requests.newest_member(),
        }
    }

    /// The line that a request waits in while it is refused, see [`BlockLayer::line_of`].
    #[inline]
    pub(crate) fn line_of(&self, request: &Request) -> u32 {
        match self {
            Self::Layer(layer) => layer.line_of(request),
            Self::Bare(_) => Class::of(request).at() as u32,
        }
    }

    /// Sectors of a request at most; more are split. Commands of a bare host are as they are.
    pub(crate) fn most_sectors(&self) -> u32 {
        match self {
            Self::Layer(layer) => layer.most_sectors(),
            Self::Bare(_) => u32::MAX,
        }
    }

    /// Maximum number of outstanding commands.
    pub(crate) fn queue_depth(&self) -> u32 {
        match self {
            Self::Layer(layer) => layer.queue_depth(),
            Self::Bare(bare) => bare.queue_depth,
        }
    }

    /// Accepted requests that have neither completed nor failed.
    pub(crate) fn held(&self) -> u64 {
        let stats = self.stats();
        stats.inserted - stats.completed
    }

    pub(crate) fn stats(&self) -> &SchedulerStats {
        match self {
            Self::Layer(layer) => layer.stats(),
            Self::Bare(bare) => &bare.stats,
        }
    }

    /// Values of the scheduler's statistics; empty without a scheduler.
    pub(crate) fn figures(&self) -> Figures {
        match self {
            Self::Layer(layer) => Figures::default().with(&scheduler::SLOT, layer.figures()),
            Self::Bare(bare) => Figures::default().with(&scheduler::SLOT, bare.stats.figures(false)),
        }
    }

    pub(crate) fn check(&self) -> Result<(), Violation> {
        match self {
            Self::Layer(layer) => layer.check(),
            Self::Bare(bare) => bare.check(),
        }
    }
}

impl State for Host {
    fn save(&self, to: &mut Writer) {
        to.value(&matches!(self, Self::Bare(_)));
        match self {
            Self::Layer(layer) => layer.save(to),
            Self::Bare(bare) => bare.save(to),
        }
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        let is_bare: bool = from.value()?;
        match (self, is_bare) {
            (Self::Layer(layer), false) => layer.load(from),
            (Self::Bare(bare), true) => bare.load(from),
            (Self::Layer(_), true) => Err(from.error("a block layer".to_owned(), "a drive without one".to_owned())),
            (Self::Bare(_), false) => Err(from.error("a drive without a block layer".to_owned(), "one".to_owned())),
        }
    }
}
