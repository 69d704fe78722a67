//! The setup that a drive is built from.

use flashloom_buffer::order::{self, Order, OrderSetup};
use flashloom_buffer::rate::{self, Rate, RateSetup};
use flashloom_buffer::{Admission, BufferParams, WriteBuffer};
use flashloom_ftl::{FtlSetup, mapping};
use flashloom_nand::reliability::{self, Reliability, ReliabilitySetup};
use flashloom_nand::{Geometry, Nand, NandParams, Region};
use flashloom_units::{Chosen, ParamSet, Refusal};
use flashloom_workload::QueueClass;

use super::flash::Flash;
use crate::DeviceParams;

/// The complete setup of a drive, checked by the configuration.
#[derive(Clone, Debug)]
pub struct DriveSetup {
    /// Parameters of the `[device]` section.
    pub device: DeviceParams,
    /// Policy of read reliability: retries and failed reads.
    pub reliability: Chosen<dyn Reliability>,
    /// Whether the array keeps the out-of-band data of its pages ([`Nand::out_of_band`]): 16 bytes a page.
    pub keeps_out_of_band: bool,
    /// Size of the write buffer in bytes, a whole number of pages; 0 for a drive without one.
    pub buffer_bytes: u64,
    /// Replacement policy: the page or block that the buffer evicts next.
    pub order: Chosen<dyn Order>,
    /// Policy of the eviction batch size.
    pub rate: Chosen<dyn Rate>,
    /// How a write gets in that finds the buffer full.
    pub admission: Admission,
    /// The FTL and its policies.
    pub ftl: FtlSetup,
    /// Classes of the submission queues, by their numbers; queues behind the last are medium.
    pub queue_classes: Vec<QueueClass>,
    /// Whether every command and sector is checked.
    pub verify: bool,
}

impl DriveSetup {
    /// The given device with the default buffer, FTL and policies.
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
            admission: buffer.admission,
            queue_classes: Vec::new(),
            verify: false,
        }
    }

    /// Size of the write buffer in pages.
    pub fn buffer_pages(&self) -> u32 {
        (self.buffer_bytes / self.device.nand.page_bytes) as u32
    }

    /// The setup of the replacement policy.
    pub fn order_setup(&self) -> OrderSetup {
        let NandParams { pages: pages_per_block, page_bytes, .. } = self.device.nand;
        let logical_pages = self.device.space().logical_pages as u32;
        OrderSetup { pages: self.buffer_pages(), pages_per_block, page_bytes, logical_pages }
    }

    /// The setup of the eviction batch size.
    pub fn rate_setup(&self) -> RateSetup {
        let geometry = self.device.geometry();
        RateSetup { dies: geometry.total_dies(), superpage: self.ftl.superpage(&geometry) }
    }

    /// The setup of the policy of read reliability.
    pub fn reliability_setup<'a>(&'a self, geometry: &'a Geometry) -> ReliabilitySetup<'a> {
        ReliabilitySetup { geometry, prng: &self.ftl.prng }
    }

    /// Builds the FTL on a new array.
    pub(super) fn build_flash(&self) -> Result<Flash, Refusal> {
        let (params, space, geometry) = (&self.device.nand, self.device.space(), self.device.geometry());
        let mapping::Profile { region, cells, .. } = self.ftl.profile(&space)?;
        let region = region.unwrap_or(Region::whole(&geometry));
        let reliability = self.reliability.build(&self.reliability_setup(&geometry));
        let reliability = reliability.map_err(|refusal| refusal.or_at(reliability::SLOT.key))?;
        let mut nand = Nand::new(params).with_region(&region).with_failures(params, &self.ftl.prng);
        nand = nand.with_spread(params, &self.ftl.prng).with_reliability(reliability);
        if let Some(cells) = cells {
            nand = nand.with_cells(cells);
        }
        if self.keeps_out_of_band {
            nand = nand.with_out_of_band();
        }
        if self.verify {
            nand.watch();
        }
        let ftl = self.ftl.build(&space, &nand)?;
        Ok(Flash::new(nand, ftl, space.logical_pages as u32))
    }

    /// Builds the write buffer; `None` for a drive without one.
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
