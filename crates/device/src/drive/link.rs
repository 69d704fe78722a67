//! The host link: SATA or PCIe as one resource, or one for each direction.

use flashloom_units::{Ns, transfer_ns};

use super::interface::InterfaceParams;

/// Which way data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    ToDevice,
    ToHost,
}

/// Transfers one after the other, in the order in which they are asked for.
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

    /// Time that `bytes` take.
    #[inline]
    pub(super) fn transfer_ns(&self, bytes: u64) -> Ns {
        transfer_ns(bytes, self.bytes_per_s)
    }

    /// Transfers `bytes`, not before `from`; returns when the last of them has crossed.
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
