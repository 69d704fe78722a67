//! The host link: one resource if half-duplex (SATA), one for each direction if full-duplex (PCIe).
//!
//! ```text
//! time of a transfer = (bytes + packets * overhead) / rate
//! packets            = bytes / payload of a packet, rounded up
//! first transfer of a command: + link_command_time
//! ```

use flashloom_units::{Ns, transfer_ns};

use super::interface::InterfaceParams;

/// Direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    ToDevice,
    ToHost,
}

/// The link. Transfers of a direction are served first come, first served.
pub(super) struct Link {
    bytes_per_s: u64,
    full_duplex: bool,
    /// Bytes of a packet's payload, and of what comes with it.
    payload: u64,
    overhead: u64,
    /// What a command takes besides its data.
    command_ns: Ns,
    free_at: [Ns; 2],
}

flashloom_units::state! { Link { value free_at; fixed bytes_per_s, full_duplex, payload, overhead, command_ns; } }

impl Link {
    pub(super) fn new(params: &InterfaceParams) -> Self {
        let (payload, overhead) = (params.link_packet_bytes, params.link_packet_overhead);
        let (bytes_per_s, full_duplex, command_ns) = (params.link_rate, params.full_duplex, params.link_command_ns);
        Self { bytes_per_s, full_duplex, payload, overhead, command_ns, free_at: [0; 2] }
    }

    /// Transfer time of `bytes`, with that of their command if they are the first of it.
    #[inline]
    pub(super) fn transfer_ns(&self, bytes: u64, is_first: bool) -> Ns {
        let overhead = if self.overhead > 0 { bytes.div_ceil(self.payload) * self.overhead } else { 0 };
        let command_ns = if is_first { self.command_ns } else { 0 };
        transfer_ns(bytes + overhead, self.bytes_per_s) + command_ns
    }

    /// Books a transfer of `bytes`, the first of its command or not, that begins at `from` or later; returns its end.
    #[inline]
    pub(super) fn transfer(&mut self, from: Ns, bytes: u64, is_first: bool, way: Way) -> Ns {
        let lane = if self.full_duplex { way as usize } else { 0 };
        self.free_at[lane] = from.max(self.free_at[lane]) + self.transfer_ns(bytes, is_first);
        self.free_at[lane]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_units::ParamSet;

    #[test]
    fn directions_share_a_half_duplex_link_and_not_a_full_duplex_one() {
        for (full_duplex, expected) in [(false, 3_000), (true, 2_000)] {
            let params = InterfaceParams { link_rate: 1_000_000_000, full_duplex, ..InterfaceParams::defaults() };
            let mut link = Link::new(&params);
            assert_eq!(link.transfer(0, 1_000, false, Way::ToDevice), 1_000);
            assert_eq!(link.transfer(0, 1_000, false, Way::ToDevice), 2_000);
            assert_eq!(link.transfer(1_000, 1_000, true, Way::ToHost), expected);
        }
    }
    #[test]
    fn packets_and_commands_add_their_overhead() {
        let params = InterfaceParams {
            link_rate: 1_000_000_000,
            link_packet_bytes: 256,
            link_packet_overhead: 24,
            link_command_ns: 700,
            ..InterfaceParams::defaults()
        };
        let mut link = Link::new(&params);
        assert_eq!([1, 256, 257, 4_096].map(|bytes| link.transfer_ns(bytes, false)), [25, 280, 305, 4_096 + 16 * 24]);
        assert_eq!(link.transfer(0, 4_096, true, Way::ToHost), 4_096 + 16 * 24 + 700);
        assert_eq!(link.transfer(0, 4_096, false, Way::ToHost), 2 * (4_096 + 16 * 24) + 700);
    }
}
