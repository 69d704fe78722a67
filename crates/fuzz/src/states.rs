//! Saved drives: small ones of every mapping and policy, loaded from any bytes and then run.

use std::sync::OnceLock;

use flashloom_config::{Catalog, Config, Experiment, Source, Timing};
use flashloom_device::{Ageing, Drive, DriveSetup, Engine, Overwrite, Preconditioned, Submitted};
use flashloom_units::Prng;
use flashloom_workload::{Op, Request};

/// Requests of a run on a loaded drive.
const REQUESTS: u32 = 400;

/// Keys of all drives: four planes of 24 blocks of eight pages.
const DRIVE: &str = "\
[device]
channels = 2
ways = 1
dies = 1
planes = 2
blocks = 24
pages = 8
page_size = \"4KiB\"
over_provisioning = 0.9
[buffer]
capacity = \"64KiB\"
[run]
precondition = \"steady\"
";

/// What is set besides, one drive a line.
const DRIVES: &str = "\
ftl.gc=greedy
ftl.gc=cost-benefit ftl.gc_pace=share
ftl.gc=d-choices ftl.preemption=none buffer.capacity=0B
ftl.gc=fifo ftl.gc_blocks=shared
ftl.gc=windowed-greedy ftl.gc_pace=share buffer.order=block-lru
ftl.superblock=die ftl.gc=cost-benefit buffer.order=fab
ftl.allocation=static buffer.order=cflru
ftl.allocation=static buffer.order=chip-aware
ftl.allocation=static buffer.order=bpac buffer.bpac.idle=0.1
ftl.allocation=slap ftl.slap.adaptive=true ftl.slap.gc_isolation=true ftl.slap.read_reorganization=true
ftl.hot_cold=multi-hash ftl.gc_pace=share
ftl.wear_levelling=static ftl.wear_threshold=2
ftl.wear_levelling=none device.program_failures=0.0005 device.erase_failures=0.0005
device.bad_blocks=0.05 ftl.superblock=die
ftl.mapping=dftl ftl.dftl.cache=512B
ftl.mapping=dftl ftl.dftl.cache=512B ftl.gc_pace=share ftl.wear_levelling=static ftl.wear_threshold=2
ftl.mapping_unit=16KiB ftl.wear_levelling=static ftl.wear_threshold=2
ftl.mapping_unit=8KiB ftl.mapping=dftl ftl.dftl.cache=512B ftl.superblock=die
ftl.mapping=sftl ftl.sftl.cache=5KiB
ftl.mapping=leaftl ftl.leaftl.cache=12KiB ftl.leaftl.buffer=20 ftl.leaftl.compaction=300
ftl.mapping=lazyftl ftl.lazyftl.cache=8KiB ftl.lazyftl.table=0.2 ftl.lazyftl.age=20
ftl.mapping=u-ftl ftl.u-ftl.cache=2200B device.page_size=1KiB device.blocks=120
ftl.mapping=u-ftl ftl.u-ftl.cache=9KiB ftl.preemption=none ftl.gc_pace=share
ftl.mapping=bast ftl.bast.log_blocks=6 ftl.preemption=none
ftl.mapping=bast ftl.bast.log_blocks=6 ftl.placement=first-touch
ftl.mapping=fast ftl.fast.log_blocks=6 device.bad_blocks=0.05
ftl.mapping=fast ftl.fast.log_blocks=6 ftl.preemption=none ftl.placement=adaptive
ftl.mapping=last ftl.last.log_blocks=6 ftl.last.sequential_log_blocks=2
ftl.mapping=sast ftl.sast.log_blocks=6 ftl.sast.k=3
ftl.mapping=kast ftl.kast.log_blocks=6 ftl.kast.k=3 ftl.placement=round-robin
ftl.mapping=kast ftl.kast.log_blocks=6 ftl.kast.k=3 ftl.kast.stream_threshold=4 ftl.preemption=none
ftl.mapping=mcsplit ftl.mcsplit.log_blocks=6
ftl.mapping=superblock-ftl ftl.superblock-ftl.log_blocks=6 ftl.superblock-ftl.tables=2 device.bad_blocks=0.05
ftl.mapping=janus-ftl ftl.janus-ftl.map=576B ftl.janus-ftl.streams=2 ftl.preemption=none
ftl.mapping=janus-ftl ftl.janus-ftl.patience=0.5 ftl.janus-ftl.sequential_pages=1 device.bad_blocks=0.05
ftl.allocation=slap ftl.slap.substreams=auto ftl.slap.delta_reads=16 ftl.slap.stream_threshold=4
ftl.allocation=slap ftl.slap.search=window ftl.slap.window=10ms ftl.slap.stream_threshold=4
ftl.mapping=dftl ftl.dftl.cache=512B device.reliability=linear device.linear.erases_a_retry=2
ftl.slc_cache=static ftl.slc_static_share=0.1 device.slc_read_time=20us device.slc_program_time=100us run.rest=never
ftl.slc_cache=dynamic ftl.mapping=dftl ftl.dftl.cache=512B ftl.slc_when_full=fold device.slc_read_time=20us \
device.slc_program_time=100us device.reliability=linear device.linear.erases_a_retry=2 device.erase_failures=0.0005
";

/// A drive, and how it is aged and run.
pub struct StackSetup {
    /// The keys that are set.
    pub keys: String,
    config: Config,
    is_verified: bool,
    drive: DriveSetup,
    /// What ageing made of it.
    state: Vec<u8>,
    /// What ageing did.
    aged: Preconditioned,
}

/// All drives, aged, each with the checks of a verified run and without.
pub fn setups() -> &'static [StackSetup] {
    static SETUPS: OnceLock<Vec<StackSetup>> = OnceLock::new();
    SETUPS.get_or_init(|| {
        let lines = DRIVES.lines().flat_map(|line| [(line, true), (line, false)]);
        lines.map(|(line, is_verified)| StackSetup::new(line, is_verified)).collect()
    })
}

impl StackSetup {
    fn new(line: &str, is_verified: bool) -> Self {
        let sets: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let source = Source::text("drive.toml", DRIVE);
        let experiment = Experiment::from_source(&Catalog::builtin(), source, &sets, None);
        let config = experiment.unwrap_or_else(|problems| panic!("{line}: {problems}")).variants.remove(0).config;
        let drive = config.drive_setup(is_verified);
        let none = Preconditioned { pages: 0, waf: None, stable: true, is_worn_out: false };
        let mut setup = Self { keys: line.to_owned(), config, is_verified, drive, state: Vec::new(), aged: none };
        let mut engine = setup.engine();
        let fill_pages = setup.config.device.logical_pages();
        let prng = Prng::new(1);
        let overwrite = Overwrite { prng, window: 1.0, tolerance: 0.0, max_windows: 3, rest: false };
        let ageing = Ageing { fill_pages, fill_streams: true, overwrite: Some(overwrite) };
        setup.aged = engine.precondition(&ageing, &mut |_| ());
        setup.state = engine.save_aged().unwrap_or_else(|error| panic!("{line}: {error}"));
        setup
    }

    fn engine(&self) -> Engine {
        let drive = Drive::new(&self.drive).unwrap_or_else(|refusal| panic!("{}: {refusal:?}", self.keys));
        Engine::bare(drive, 4, 1_000)
    }

    /// What ageing made of the drive.
    pub fn state(&self) -> &[u8] {
        &self.state
    }

    /// Loads a state, and runs a workload on the drive.
    ///
    /// # Errors
    /// The state is none of such a drive, or the run fails its checks.
    pub fn run(&self, state: &[u8]) -> Result<(), String> {
        let mut engine = self.engine();
        engine.load_aged(state, self.aged).map_err(|error| error.to_string())?;
        if self.config.run.timing == Timing::Timed {
            engine.start_timing(&self.config.device.nand);
        }
        let mut prng = Prng::new(7);
        let pages = self.config.device.logical_pages();
        let sectors = engine.capacity_sectors() / pages;
        for number in 0..REQUESTS {
            let length = 1 + prng.below(3);
            let (lba, sectors) = (prng.below(pages - 2) * sectors + prng.below(sectors), length * sectors / 2);
            let op = match prng.below(8) {
                0..2 => Op::Read,
                2 => Op::Discard,
                _ => Op::Write,
            };
            let sectors = (sectors as u32).min((engine.capacity_sectors() - lba) as u32);
            let request = Request::new(op, lba, sectors).arriving_at(engine.now_ns()).of_task(number % 3);
            loop {
                let submitted =
                    engine.submit(engine.now_ns(), &request, number).map_err(|misuse| misuse.to_string())?;
                if submitted == Submitted::Accepted || !step(&mut engine)? {
                    break;
                }
            }
            // Now and then the drive is left alone, so that it works in the background.
            if number % 100 == 99 {
                for _ in 0..2_000 {
                    if !step(&mut engine)? {
                        break;
                    }
                }
            }
        }
        while step(&mut engine)? {}
        debug_assert!(self.is_verified || engine.outstanding() == 0, "all requests came back");
        Ok(engine.check()?)
    }
}

/// Goes on to the next event; false if none is left.
fn step(engine: &mut Engine) -> Result<bool, String> {
    let Some(due) = engine.next_event_ns() else { return Ok(false) };
    engine.advance_to(due).map_err(|misuse| misuse.to_string())?;
    engine.completions().for_each(drop);
    Ok(true)
}

/// Runs a drive by its number, which is the first byte, from the state that follows.
pub(crate) fn read(bytes: &[u8]) -> bool {
    let Some((&number, state)) = bytes.split_first() else { return false };
    setups().get(usize::from(number)).is_some_and(|setup| setup.run(state).is_ok())
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    (0..).zip(setups()).map(|(number, setup)| [&[number], setup.state()].concat()).collect()
}

/// How a state is damaged.
#[derive(Clone, Copy, Debug)]
pub enum Damage {
    /// One bit is turned.
    Bit,
    /// A byte becomes another.
    Byte,
    /// A byte becomes the next or the one before.
    Near,
    /// A little-endian word of 32 bits becomes zero, the greatest, or a neighbour of itself.
    Word,
    /// A few bytes become random ones.
    Bytes,
    /// Two stretches change places, so that all values are plausible.
    Swap,
    /// The rest is missing.
    Cut,
    /// A byte is taken out or put in.
    Shift,
}

impl Damage {
    const ALL: [Self; 8] =
        [Self::Bit, Self::Byte, Self::Near, Self::Word, Self::Bytes, Self::Swap, Self::Cut, Self::Shift];

    /// Damages a state at random, once or a few times.
    pub fn apply(state: &mut Vec<u8>, prng: &mut Prng) {
        let damages = if prng.chance(0.8) { 1 } else { 2 + prng.below(3) };
        for _ in 0..damages {
            Self::ALL[prng.below(Self::ALL.len() as u64) as usize].apply_once(state, prng);
        }
    }

    fn apply_once(self, state: &mut Vec<u8>, prng: &mut Prng) {
        if state.len() < 32 {
            return state.push(prng.bits() as u8);
        }
        let at = prng.below(state.len() as u64 - 16) as usize;
        match self {
            Self::Bit => state[at] ^= 1 << prng.below(8),
            Self::Byte => state[at] = prng.bits() as u8,
            Self::Near => state[at] = state[at].wrapping_add(if prng.chance(0.5) { 1 } else { u8::MAX }),
            Self::Word => {
                let word = u32::from_le_bytes([state[at], state[at + 1], state[at + 2], state[at + 3]]);
                let words = [0, u32::MAX, word.wrapping_add(1), word.wrapping_sub(1), prng.bits() as u32, u32::MAX / 2];
                let word = words[prng.below(words.len() as u64) as usize];
                state[at..at + 4].copy_from_slice(&word.to_le_bytes());
            }
            Self::Bytes => state[at..at + 8].copy_from_slice(&prng.bits().to_le_bytes()),
            Self::Swap => {
                let other = prng.below(state.len() as u64 - 16) as usize;
                let length = [1, 4, 8][prng.below(3) as usize];
                (0..length).for_each(|offset| state.swap(at + offset, other + offset));
            }
            Self::Cut => state.truncate(at),
            Self::Shift if prng.chance(0.5) => drop(state.remove(at)),
            Self::Shift => state.insert(at, prng.bits() as u8),
        }
    }
}
