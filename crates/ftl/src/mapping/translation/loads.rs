//! Loads: the reads that bring entries into the cache of a map on flash.
//!
//! ```text
//! miss            the frame that the entry gets is loaded by the read of its translation page
//! hit             in a frame whose read is in flight: waits for that read; whose read has failed: not a hit
//! entry changed   its frame is known, whatever the read brings
//! ```
//!
//! A frame knows the number of its read only, which the array gives to a later operation once the read has ended. The
//! table by number tells whether the last load with that number was the frame's, and its sequence number whether that
//! read is in flight. 4 bytes a frame, and 16 bytes for each operation that was ever in flight at once; O(1) a call.

use flashloom_nand::{Emitted, Nand, OpId};
use flashloom_units::{NO_INDEX, Reader, State, StateError, Writer};
use serde::{Deserialize, Serialize};

flashloom_units::ids! {
    /// A place in a cache of the map: the memory for what one read brings, an entry or a whole translation page.
    Frame,
}

/// Marks a frame whose read has failed.
const UNREADABLE: u32 = NO_INDEX - 1;

/// The last load by an operation of some number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Load {
    sequence: u64,
    frame: Frame,
    /// Whether the frame needs what is read: none of its entries has changed since.
    is_needed: bool,
}

impl Load {
    const NONE: Self = Self { sequence: u64::MAX, frame: Frame::NONE, is_needed: false };
}

/// The loads of all frames.
pub(in crate::mapping) struct Loads {
    /// For each frame the number of the operation that loads it or did so, [`NO_INDEX`] if it is known to have ended,
    /// or [`UNREADABLE`].
    of_frames: Vec<u32>,
    by_number: Vec<Load>,
}

impl Loads {
    pub(in crate::mapping) fn new(frames: u32) -> Self {
        Self { of_frames: vec![NO_INDEX; frames as usize], by_number: Vec::new() }
    }

    /// Notes which loads have failed. Called before [`Self::awaited`].
    #[inline]
    pub(in crate::mapping) fn follow(&mut self, nand: &mut Nand) {
        while let Some(failed) = nand.take_unreadable_map() {
            self.fail(failed);
        }
    }

    #[cold]
    fn fail(&mut self, Emitted { number, sequence }: Emitted) {
        // The number has not been given to a later load, because failures are noted before each.
        if let Some(&Load { frame, is_needed: true, .. }) = self.last(number).filter(|load| load.sequence == sequence)
            && self.of_frames[frame.at()] == number
        {
            self.of_frames[frame.at()] = UNREADABLE;
        }
    }

    fn last(&self, number: u32) -> Option<&Load> {
        self.by_number.get(number as usize)
    }

    /// The operation that a request for an entry in this frame waits for; `None` if the frame could not be read.
    #[inline]
    pub(in crate::mapping) fn awaited(&mut self, frame: Frame, nand: &Nand) -> Option<OpId> {
        let number = self.of_frames[frame.at()];
        match number {
            NO_INDEX => Some(OpId::DONE),
            UNREADABLE => None,
            _ => {
                let load = self.last(number).filter(|load| load.frame == frame);
                let in_flight = |load: &Load| nand.in_flight_of(Emitted { number, sequence: load.sequence });
                let awaited = load.map_or(OpId::DONE, in_flight);
                if awaited == OpId::DONE {
                    self.of_frames[frame.at()] = NO_INDEX;
                }
                Some(awaited)
            }
        }
    }

    /// Records that a frame is loaded by a read that was just emitted.
    pub(in crate::mapping) fn begin(&mut self, frame: Frame, read: OpId, nand: &Nand) {
        self.of_frames[frame.at()] = match nand.emitted(read) {
            Some(Emitted { number, sequence }) => {
                let length = self.by_number.len().max(number as usize + 1);
                self.by_number.resize(length, Load::NONE);
                self.by_number[number as usize] = Load { sequence, frame, is_needed: true };
                number
            }
            None if read.is_unreadable() => UNREADABLE,
            None => NO_INDEX,
        };
    }

    /// Forgets all loads: they have ended. A frame that could not be read stays so.
    pub(in crate::mapping) fn rest(&mut self, nand: &mut Nand) {
        self.follow(nand);
        self.by_number.clear();
        self.of_frames.iter_mut().filter(|number| **number != UNREADABLE).for_each(|number| *number = NO_INDEX);
    }

    /// Records that an entry in a frame has changed: the frame does not need what is read.
    #[inline]
    pub(in crate::mapping) fn changed(&mut self, frame: Frame) {
        let number = self.of_frames[frame.at()];
        if number == UNREADABLE {
            self.of_frames[frame.at()] = NO_INDEX;
        } else if let Some(load) = self.by_number.get_mut(number as usize)
            && load.frame == frame
        {
            load.is_needed = false;
        }
    }
}

// Of the frames only those with a load are saved: on a drive without time there are none, unless a read has failed.
impl State for Loads {
    fn save(&self, to: &mut Writer) {
        let Self { of_frames, by_number } = self;
        to.value(by_number);
        let frames = (0..).map(Frame).zip(of_frames).filter(|(_, number)| **number != NO_INDEX);
        to.value(&frames.collect::<Vec<_>>());
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        let frames = self.of_frames.len();
        self.by_number = from.value()?;
        let loaded: Vec<(Frame, u32)> = from.value()?;
        self.of_frames.fill(NO_INDEX);
        let mut least = 0;
        for (frame, number) in loaded {
            let is_frame = (least..frames).contains(&frame.at());
            if !is_frame || (number != UNREADABLE && self.last(number).is_none()) {
                let expected = format!("a frame from {least} to {frames}, and one of {} loads", self.by_number.len());
                return Err(from.error(expected, format!("frame {} and load {number}", frame.0)));
            }
            self.of_frames[frame.at()] = number;
            least = frame.at() + 1;
        }
        match self.by_number.iter().find(|load| **load != Load::NONE && load.frame.at() >= frames) {
            Some(load) => Err(from.error(format!("a frame below {frames}"), format!("frame {}", load.frame.0))),
            None => Ok(()),
        }
    }
}
