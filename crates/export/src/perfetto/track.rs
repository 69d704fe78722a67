//! Tracks of a trace: groups, tracks of dies and channels, counters, and lanes for what overlaps.

use std::io::Write;

use flashloom_units::Ns;

use super::packet::{
    CounterDescriptor, DebugAnnotation, InternedData, InternedName, Packets, TracePacket, TrackDescriptor, TrackEvent,
};

/// Identifier of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Track(u64);

/// What a slice says about itself: the name and value of each annotation.
pub(super) type Notes<'a> = &'a [(&'static str, u64)];

/// A trace that is being written.
pub(super) struct Trace<W> {
    packets: Packets<W>,
    tracks: u64,
    /// Interned names, each at the place of its number, from 1.
    names: Vec<&'static str>,
    notes: Vec<&'static str>,
    /// Names that no packet has introduced yet.
    introduced: (usize, usize),
}

/// The number of a name, which is added if it is new. There are a few dozen.
fn number(names: &mut Vec<&'static str>, name: &'static str) -> u64 {
    let at = names.iter().position(|known| *known == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    });
    at as u64 + 1
}

impl<W: Write> Trace<W> {
    /// Starts a trace on an output.
    pub(super) fn new(output: W) -> Self {
        let mut packets = Packets::new(output);
        packets.add(TracePacket { sequence_flags: Some(Packets::<W>::BEGINS), ..TracePacket::default() });
        Self { packets, tracks: 0, names: Vec::new(), notes: Vec::new(), introduced: (0, 0) }
    }

    /// Returns the output.
    ///
    /// # Errors
    /// Its first error.
    pub(super) fn finish(self) -> std::io::Result<W> {
        self.packets.finish()
    }

    fn describe(&mut self, descriptor: TrackDescriptor) -> Track {
        self.tracks += 1;
        let descriptor = TrackDescriptor { uuid: Some(self.tracks), ..descriptor };
        self.packets.add(TracePacket { track_descriptor: Some(descriptor), ..TracePacket::default() });
        Track(self.tracks)
    }

    /// A group of tracks, at a place among the groups.
    pub(super) fn group(&mut self, name: &str, rank: i32) -> Track {
        self.describe(TrackDescriptor {
            name: Some(name.to_owned()),
            child_ordering: Some(TrackDescriptor::EXPLICIT),
            sibling_order_rank: Some(rank),
            ..TrackDescriptor::default()
        })
    }

    /// A track of slices, at a place in its group.
    pub(super) fn track(&mut self, parent: Track, name: &str, rank: u32) -> Track {
        self.describe(TrackDescriptor {
            name: Some(name.to_owned()),
            parent_uuid: Some(parent.0),
            sibling_order_rank: i32::try_from(rank).ok(),
            ..TrackDescriptor::default()
        })
    }

    /// A track of a number, which is 0.
    pub(super) fn counter(&mut self, parent: Track, name: &str) -> (Track, i64) {
        let track = self.describe(TrackDescriptor {
            name: Some(name.to_owned()),
            parent_uuid: Some(parent.0),
            sibling_order_rank: Some(-1),
            counter: Some(CounterDescriptor { unit: Some(CounterDescriptor::COUNT) }),
            ..TrackDescriptor::default()
        });
        (track, 0)
    }

    /// A slice begins. Slices of a track that carry a flow are joined by arrows, in order of time.
    pub(super) fn begin(&mut self, at: Ns, track: Track, name: &'static str, flows: &[Flow], notes: Notes<'_>) {
        let name_iid = Some(number(&mut self.names, name));
        let annotations = notes.iter().map(|&(name, value)| DebugAnnotation {
            name_iid: Some(number(&mut self.notes, name)),
            uint_value: Some(value),
        });
        let event = TrackEvent {
            r#type: Some(TrackEvent::SLICE_BEGIN),
            name_iid,
            debug_annotations: annotations.collect(),
            flow_ids: flows.iter().map(|flow| flow.0).filter(|&flow| flow != Flow::NONE.0).collect(),
            ..TrackEvent::default()
        };
        let interned_data = self.introduce();
        self.event(at, track, event, interned_data);
    }

    /// The slice of a track that began last ends.
    pub(super) fn end(&mut self, at: Ns, track: Track) {
        let event = TrackEvent { r#type: Some(TrackEvent::SLICE_END), ..TrackEvent::default() };
        self.event(at, track, event, None);
    }

    /// A number changes.
    pub(super) fn count(&mut self, at: Ns, (track, value): &mut (Track, i64), more: i64) {
        *value += more;
        let counter_value = Some(*value);
        let event = TrackEvent { r#type: Some(TrackEvent::COUNTER), counter_value, ..TrackEvent::default() };
        self.event(at, *track, event, None);
    }

    fn event(&mut self, at: Ns, track: Track, event: TrackEvent, interned_data: Option<InternedData>) {
        self.packets.add(TracePacket {
            timestamp: Some(at),
            track_event: Some(TrackEvent { track_uuid: Some(track.0), ..event }),
            interned_data,
            sequence_flags: Some(Packets::<W>::USES_NAMES),
            ..TracePacket::default()
        });
    }

    /// Names that are used for the first time.
    fn introduce(&mut self) -> Option<InternedData> {
        let (names, notes) = (self.names.len(), self.notes.len());
        if self.introduced == (names, notes) {
            return None;
        }
        let new = |names: &[&str], from: usize| {
            let new = (1..).zip(names).skip(from);
            new.map(|(iid, name)| InternedName { iid: Some(iid), name: Some((*name).to_owned()) }).collect()
        };
        let data = InternedData {
            event_names: new(&self.names, self.introduced.0),
            debug_annotation_names: new(&self.notes, self.introduced.1),
        };
        self.introduced = (names, notes);
        Some(data)
    }
}

/// Arrow from slice to slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flow(pub(super) u64);

impl Flow {
    /// No arrow.
    pub(super) const NONE: Self = Self(0);
}

/// Tracks of one name for slices that overlap: each slice takes the first that is free.
pub(super) struct Lanes {
    group: Track,
    name: &'static str,
    lanes: Vec<(Track, bool)>,
}

impl Lanes {
    pub(super) fn new(group: Track, name: &'static str) -> Self {
        Self { group, name, lanes: Vec::new() }
    }

    /// Takes a lane.
    pub(super) fn take<W: Write>(&mut self, trace: &mut Trace<W>) -> usize {
        let lane = self.lanes.iter().position(|&(_, is_taken)| !is_taken).unwrap_or_else(|| {
            let rank = self.lanes.len() as u32;
            self.lanes.push((trace.track(self.group, self.name, rank), false));
            self.lanes.len() - 1
        });
        self.lanes[lane].1 = true;
        lane
    }

    /// The track of a lane that was taken.
    pub(super) fn track(&self, lane: usize) -> Track {
        self.lanes[lane].0
    }

    /// Gives a lane back; returns its track.
    pub(super) fn free(&mut self, lane: usize) -> Track {
        self.lanes[lane].1 = false;
        self.lanes[lane].0
    }
}
