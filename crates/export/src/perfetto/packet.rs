//! Packets of a trace of Perfetto: the messages and fields of its published format that a run needs, under their names
//! there (`protos/perfetto/trace/`), each with the field's number.

use std::io::{self, Write};

use prost::Message;

/// A packet; a trace is a sequence of them.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TracePacket {
    #[prost(uint64, optional, tag = "8")]
    pub(super) timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    pub(super) trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "11")]
    pub(super) track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "12")]
    pub(super) interned_data: Option<InternedData>,
    #[prost(uint32, optional, tag = "13")]
    pub(super) sequence_flags: Option<u32>,
    #[prost(message, optional, tag = "60")]
    pub(super) track_descriptor: Option<TrackDescriptor>,
}

/// Begin or end of a slice, or a new value of a counter.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    pub(super) debug_annotations: Vec<DebugAnnotation>,
    #[prost(int32, optional, tag = "9")]
    pub(super) r#type: Option<i32>,
    #[prost(uint64, optional, tag = "10")]
    pub(super) name_iid: Option<u64>,
    #[prost(uint64, optional, tag = "11")]
    pub(super) track_uuid: Option<u64>,
    #[prost(int64, optional, tag = "30")]
    pub(super) counter_value: Option<i64>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub(super) flow_ids: Vec<u64>,
}

impl TrackEvent {
    pub(super) const SLICE_BEGIN: i32 = 1;
    pub(super) const SLICE_END: i32 = 2;
    pub(super) const COUNTER: i32 = 4;
}

/// A number that a slice is annotated with.
#[derive(Clone, PartialEq, Message)]
pub(super) struct DebugAnnotation {
    #[prost(uint64, optional, tag = "1")]
    pub(super) name_iid: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub(super) uint_value: Option<u64>,
}

/// Names that later packets refer to by number.
#[derive(Clone, PartialEq, Message)]
pub(super) struct InternedData {
    #[prost(message, repeated, tag = "2")]
    pub(super) event_names: Vec<InternedName>,
    #[prost(message, repeated, tag = "3")]
    pub(super) debug_annotation_names: Vec<InternedName>,
}

/// A name and its number; `EventName` and `DebugAnnotationName` are alike.
#[derive(Clone, PartialEq, Message)]
pub(super) struct InternedName {
    #[prost(uint64, optional, tag = "1")]
    pub(super) iid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub(super) name: Option<String>,
}

/// A track, or a group of tracks.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    pub(super) uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub(super) name: Option<String>,
    #[prost(uint64, optional, tag = "5")]
    pub(super) parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    pub(super) counter: Option<CounterDescriptor>,
    #[prost(int32, optional, tag = "11")]
    pub(super) child_ordering: Option<i32>,
    #[prost(int32, optional, tag = "12")]
    pub(super) sibling_order_rank: Option<i32>,
}

impl TrackDescriptor {
    /// Children are in the order of their ranks.
    pub(super) const EXPLICIT: i32 = 3;
}

/// Marks a track as that of a counter.
#[derive(Clone, PartialEq, Message)]
pub(super) struct CounterDescriptor {
    #[prost(int32, optional, tag = "3")]
    pub(super) unit: Option<i32>,
}

impl CounterDescriptor {
    pub(super) const COUNT: i32 = 2;
}

/// Writes packets one by one; the first error ends the trace, and is kept.
pub(super) struct Packets<W> {
    output: Result<W, io::Error>,
    bytes: Vec<u8>,
}

impl<W: Write> Packets<W> {
    /// Field 1 of `Trace`, a message.
    const PACKET: u8 = 1 << 3 | 2;
    /// All packets of a run are one sequence.
    const SEQUENCE: u32 = 1;
    /// `SEQ_INCREMENTAL_STATE_CLEARED`: names are interned from here on.
    pub(super) const BEGINS: u32 = 1;
    /// `SEQ_NEEDS_INCREMENTAL_STATE`: the packet uses names that were interned.
    pub(super) const USES_NAMES: u32 = 2;

    pub(super) fn new(output: W) -> Self {
        Self { output: Ok(output), bytes: Vec::new() }
    }

    pub(super) fn add(&mut self, packet: TracePacket) {
        let Ok(output) = &mut self.output else { return };
        let packet = TracePacket { trusted_packet_sequence_id: Some(Self::SEQUENCE), ..packet };
        self.bytes.clear();
        self.bytes.push(Self::PACKET);
        // A vector grows, so that a message always fits.
        let written = packet.encode_length_delimited(&mut self.bytes).map_err(io::Error::other);
        if let Err(error) = written.and_then(|()| output.write_all(&self.bytes)) {
            self.output = Err(error);
        }
    }

    pub(super) fn finish(self) -> io::Result<W> {
        self.output
    }
}
