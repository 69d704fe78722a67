//! What a drive's interface, link and controller take.

use flashloom_units::{GIB, KIB, Kind, MIB, Ns, S, Used, Value, params};

params! {
    /// Parameters of the host interface, the link and the controller: keys of the `[device]` section.
    pub struct InterfaceParams {
        /// Data rate of the host link.
        link_rate: u64 => "link_rate", Kind::Rate { min: 1_000, max: 1_000 * GIB }, Value::Rate(3_500_000_000),
            "" => Timed;
        /// Whether the host link carries both directions at once.
        full_duplex: bool => "full_duplex", Kind::Flag, Value::Flag(true),
            "SATA takes turns, PCIe does not." => Timed;
        /// Payload of the link's packets.
        link_packet_bytes: u64 => "link_packet_size", Kind::Size { min: 1, max: MIB }, Value::Size(256),
            "The smaller the packets are, the more of the link goes to their overhead.",
            Used::without("link_packet_overhead", &["0B"]) => Timed;
        /// Bytes that the link carries with each packet besides its payload: headers and checksums.
        link_packet_overhead: u64 => "link_packet_overhead", Kind::Size { min: 0, max: 64 * KIB }, Value::Size(0),
            "Data crosses the link more slowly by overhead over payload." => Timed;
        /// Time that the link carries no data for each read or write: its command, its completion, and the turns of a
        /// half-duplex link.
        link_command_ns: Ns => "link_command_time", Kind::Time { min: 0, max: S }, Value::Time(0),
            "Bounds small requests a second, whatever the array does." => Timed;
        /// Time of a processor of the controller for each request, before anything else happens to it.
        controller_ns: Ns => "controller_time", Kind::Time { min: 0, max: S }, Value::Time(0),
            "Adds to every latency; requests queue for it if controller_processors is given." => Timed;
        /// Time of a processor of the controller for each page of a read or a write, besides.
        controller_page_ns: Ns => "controller_page_time", Kind::Time { min: 0, max: S }, Value::Time(0),
            "Large requests take longer; requests queue for it if controller_processors is given." => Timed;
        /// Processors of the controller, each with one request at a time, first come first served; absent if no request
        /// waits for one.
        controller_processors: Option<u32> => "controller_processors", Kind::Count { min: 1, max: 1_024 },
            Value::Absent, "The drive serves at most so many requests in the time that one takes." => Timed;
    }
}
