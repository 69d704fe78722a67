//! The host link: one resource if half-duplex (SATA), one for each direction if full-duplex (PCIe).

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
    free_at: [Ns; 2],
}

flashloom_units::state! { Link { value free_at; fixed bytes_per_s, full_duplex; } }

impl Link {
    pub(super) fn new(params: &InterfaceParams) -> Self {
        Self { bytes_per_s: params.link_rate, full_duplex: params.full_duplex, free_at: [0; 2] }
    }

    /// Transfer time of `bytes`.
    #[inline]
    pub(super) fn transfer_ns(&self, bytes: u64) -> Ns {
        transfer_ns(bytes, self.bytes_per_s)
    }

    /// Books a transfer of `bytes` that begins at `from` or later; returns its end.
    #[inline]
    pub(super) fn transfer(&mut self, from: Ns, bytes: u64, way: Way) -> Ns {
        let lane = if self.full_duplex { way as usize } else { 0 };
        self.free_at[lane] = from.max(self.free_at[lane]) + self.transfer_ns(bytes);
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
            assert_eq!(link.transfer(0, 1_000, Way::ToDevice), 1_000);
            assert_eq!(link.transfer(0, 1_000, Way::ToDevice), 2_000);
            assert_eq!(link.transfer(1_000, 1_000, Way::ToHost), expected);
        }
    }
}
