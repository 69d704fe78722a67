//! What a drive is built from.

use flashloom_buffer::order::{self, Order, OrderSetup};
use flashloom_buffer::rate::{self, Rate, RateSetup};
use flashloom_buffer::{BufferParams, WriteBuffer};
use flashloom_ftl::FtlSetup;
use flashloom_nand::reliability::{self, Reliability, ReliabilitySetup};
use flashloom_nand::{Geometry, Nand, NandParams, Region};
use flashloom_units::{Chosen, ParamSet, Refusal};

use super::flash::Flash;
use crate::DeviceParams;

/// Everything that a drive is built from, checked by the configuration.
#[derive(Clone, Debug)]
pub struct DriveSetup {
    /// The `[device]` section.
    pub device: DeviceParams,
    /// Which reads are repeated, and which fail.
    pub reliability: Chosen<dyn Reliability>,
    /// Whether the array keeps the out-of-band data of its pages ([`Nand::out_of_band`]): 16 bytes a page.
    pub keeps_out_of_band: bool,
    /// Bytes that the write buffer holds: whole pages; none for a drive without one.
    pub buffer_bytes: u64,
    /// Which page or block the buffer evicts next.
    pub order: Chosen<dyn Order>,
    /// How many victims it evicts at a time.
    pub rate: Chosen<dyn Rate>,
    /// The FTL and its policies.
    pub ftl: FtlSetup,
    /// Whether to follow every command and sector.
    pub verify: bool,
}

impl DriveSetup {
    /// That device under the default buffer and FTL, with every default of their policies.
    pub fn with_defaults(device: DeviceParams) -> Self {
        let buffer = BufferParams::defaults();
        const OF_TABLE: &str = "a default names a policy of its table";
        Self {
            reliability: reliability::builtin().choose(device.nand.reliability, &[]).expect(OF_TABLE),
            device,
            keeps_out_of_band: false,
            order: order::builtin().choose(buffer.order, &[]).expect(OF_TABLE),
            rate: rate::builtin().choose(buffer.rate, &[]).expect(OF_TABLE),
            ftl: FtlSetup::with_defaults(),
            buffer_bytes: buffer.capacity_bytes,
            verify: false,
        }
    }

    /// Pages that the write buffer holds.
    pub fn buffer_pages(&self) -> u32 {
        (self.buffer_bytes / self.device.nand.page_bytes) as u32
    }

    /// What the order of eviction is built for.
    pub fn order_setup(&self) -> OrderSetup {
        let NandParams { pages: pages_per_block, page_bytes, .. } = self.device.nand;
        let logical_pages = self.device.space().logical_pages as u32;
        OrderSetup { pages: self.buffer_pages(), pages_per_block, page_bytes, logical_pages }
    }

    /// What the rate of eviction is built for.
    pub fn rate_setup(&self) -> RateSetup {
        let geometry = self.device.geometry();
        RateSetup { dies: geometry.total_dies(), superpage: self.ftl.superpage(&geometry) }
    }

    /// What the policy of reliability is built for.
    pub fn reliability_setup<'a>(&'a self, geometry: &'a Geometry) -> ReliabilitySetup<'a> {
        ReliabilitySetup { geometry, prng: &self.ftl.prng }
    }

    /// The FTL over a new array.
    pub(super) fn build_flash(&self) -> Result<Flash, Refusal> {
        let (params, space, geometry) = (&self.device.nand, self.device.space(), self.device.geometry());
        let region = self.ftl.profile(&space)?.region.unwrap_or(Region::whole(&geometry));
        let reliability = self.reliability.build(&self.reliability_setup(&geometry));
        let reliability = reliability.map_err(|refusal| refusal.or_at(reliability::SLOT.key))?;
        let mut nand = Nand::new(params).with_region(&region).with_failures(params, &self.ftl.prng);
        nand = nand.with_spread(params, &self.ftl.prng).with_reliability(reliability);
        if self.keeps_out_of_band {
            nand = nand.with_out_of_band();
        }
        if self.verify {
            nand.watch();
        }
        let ftl = self.ftl.build(&space, &nand)?;
        Ok(Flash::new(nand, ftl, space.logical_pages as u32))
    }

    /// The write buffer; nothing for a drive without one.
    pub(super) fn build_buffer(&self) -> Result<Option<WriteBuffer>, Refusal> {
        let pages = self.buffer_pages();
        if pages == 0 {
            return Ok(None);
        }
        let order = self.order.build(&self.order_setup()).map_err(|refusal| refusal.or_at(order::SLOT.key))?;
        let rate = self.rate.build(&self.rate_setup()).map_err(|refusal| refusal.or_at(rate::SLOT.key))?;
        Ok(Some(WriteBuffer::new(pages, order, rate)))
    }
}
