//! A combination of listed values, and the smaller drive on which it is simulated.
//!
//! ```text
//! blocks of the drive      those of the start, times its dies and planes over those of the combination, so that the
//!                          capacity stays; as they are if `device.blocks` is a parameter
//! simulated drive          as many blocks, and for reads alone as many pages a block, as the inputs take: random
//!                          requests over 256 times the outstanding pages and 256 times the buffer hardly ever meet;
//!                          the addresses of a recording stay as they are. As it is if a recording writes: its free
//!                          pages last as long as there are of them
//! ```
//! Blocks in which pages are collected keep their pages, because a collection takes as long as a block has pages, and a
//! plane keeps [`FEWEST_BLOCKS`] at least.

use flashloom_config::{Config, KeyId, toml_value};
use flashloom_units::{SECTOR_BYTES, Value};

use super::space::Space;

/// Outstanding pages, or buffers, that a simulated drive is larger than.
const LARGER_THAN: u64 = 256;
/// Blocks that a plane has at least where pages are collected.
const FEWEST_BLOCKS: u32 = 64;
/// Pages that a block has at least.
const FEWEST_PAGES: u32 = 48;

/// Values of the keys with lists, and the options that set them.
#[derive(Clone, Debug)]
pub struct Combination {
    /// One value for each list.
    pub values: Vec<Value>,
    /// Options of the drive, such as `device.ways=4`, with the number of blocks that keeps its capacity.
    pub of_drive: Vec<String>,
    /// Options of the simulated drive.
    pub sets: Vec<String>,
}

/// What the inputs take of a drive.
#[derive(Clone, Copy, Debug, Default)]
pub struct Footprint {
    /// Most requests outstanding, in bytes.
    pub outstanding_bytes: u64,
    /// True if something is written.
    pub writes: bool,
    /// Bytes of the drive that a recording reaches up to.
    pub span_bytes: u64,
    /// True if the drive keeps its size.
    pub keeps_size: bool,
}

impl Footprint {
    /// What two loads take.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            outstanding_bytes: self.outstanding_bytes.max(other.outstanding_bytes),
            writes: self.writes || other.writes,
            span_bytes: self.span_bytes.max(other.span_bytes),
            keeps_size: self.keeps_size || other.keeps_size,
        }
    }
}

impl Combination {
    /// The options that set it and a point of the space.
    pub fn options(&self, space: &Space, values: &[Value]) -> Vec<String> {
        let ranges = space.ranges.iter().map(|range| range.key).zip(values);
        let set = |(key, value): (KeyId, &Value)| Some(format!("{}={}", key.path(), toml_value(value)?));
        self.sets.iter().cloned().chain(ranges.filter_map(set)).collect()
    }

    /// The options of a combination; `config` is the start.
    pub fn of_drive(space: &Space, values: Vec<Value>, config: &Config) -> Self {
        let set =
            |(list, value): (&super::space::List, &Value)| Some(format!("{}={}", list.key.path(), toml_value(value)?));
        let mut of_drive: Vec<String> = space.lists.iter().zip(&values).filter_map(set).collect();
        let path = "device.blocks";
        let is_given = space.lists.iter().any(|list| list.key.path() == path);
        let planes = |geometry: [u64; 4]| geometry.iter().product::<u64>();
        let geometry = config.device.geometry();
        let own = [geometry.channels, geometry.ways, geometry.dies, geometry.planes].map(u64::from);
        let keys = ["device.channels", "device.ways", "device.dies", "device.planes"];
        let chosen = |key: &str| {
            let list = space.lists.iter().position(|list| list.key.path() == key)?;
            if let Value::Count(count) = values[list] { Some(count) } else { None }
        };
        let others = [0, 1, 2, 3].map(|index| chosen(keys[index]).unwrap_or(own[index]));
        if !is_given && planes(others) != planes(own) {
            let blocks = (u64::from(geometry.blocks) * planes(own)).div_ceil(planes(others));
            of_drive.push(format!("{path}={blocks}"));
        }
        Self { values, sets: of_drive.clone(), of_drive }
    }

    /// Makes the simulated drive as small as the inputs let it be; `config` has the options of the drive.
    pub fn shrink(&mut self, config: &Config, footprint: Footprint) {
        if footprint.keeps_size {
            return;
        }
        let geometry = config.device.geometry();
        let pages = |bytes: u64| bytes.div_ceil(u64::from(geometry.page_bytes));
        let buffer = config.buffer.capacity_bytes;
        let needed = LARGER_THAN.saturating_mul(pages(footprint.outstanding_bytes).max(pages(buffer)));
        // Physical pages of that many logical ones, and a sixteenth: a plane reserves whole blocks.
        let span_bytes = footprint.span_bytes.min(config.device.capacity_sectors() * SECTOR_BYTES);
        let physical = geometry.total_pages() as f64 / config.device.logical_pages().max(1) as f64;
        let needed = needed.max((pages(span_bytes) as f64 * physical * 17.0 / 16.0).ceil() as u64);
        let planes = geometry.total_pages() / (u64::from(geometry.blocks) * u64::from(geometry.pages));
        let of_plane = needed.div_ceil(planes.max(1));
        let bits = config.device.nand.bits_per_cell.max(1);
        let fewest_pages = if footprint.writes { geometry.pages } else { FEWEST_PAGES.next_multiple_of(bits) };
        let candidates = |pages: u32| {
            let fewest = of_plane.div_ceil(u64::from(pages)).max(FEWEST_BLOCKS.into());
            (fewest..u64::from(geometry.blocks)).take(1).chain([u64::from(geometry.blocks)])
        };
        let mut pages = fewest_pages.min(geometry.pages);
        while pages < geometry.pages && of_plane.div_ceil(pages.into()) > geometry.blocks.into() {
            pages = pages.saturating_mul(2).min(geometry.pages);
        }
        let sound = |blocks: &u64| {
            let blocks = u32::try_from(*blocks).ok()?;
            let reshaped = config.reshaped(blocks, pages)?;
            (reshaped.device.capacity_sectors() * SECTOR_BYTES >= span_bytes).then_some(blocks)
        };
        if let Some(blocks) = candidates(pages).find_map(|blocks| sound(&blocks)) {
            self.sets.extend([format!("device.blocks={blocks}"), format!("device.pages={pages}")]);
        }
    }
}
