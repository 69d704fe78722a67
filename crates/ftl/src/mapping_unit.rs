//! Mapping units: pages that lie together and have one entry in the map, as in drives whose whole map does not fit in
//! their memory.
//!
//! ```text
//! unit of k pages:   logical pages u k to u k + k - 1 are at k consecutive pages of a block, from a multiple of k on;
//!                    with superblocks (`crate::superblock`) of a superblock, and a unit is a number of superpages
//! store:             maps, allocates, collects and counts units: its space is one whose pages are the units
//! emitted:           pages: reads of those that are asked for, programs and copies of all k of a unit
//! ```
//!
//! Drives say the unit as the preferred write granularity (NVM Command Set Specification, NPWG) and call it indirection
//! unit: 16 KiB and more in drives of tens of terabytes, where a map of 4 KiB entries would take a thousandth of the
//! capacity in memory. What a store of units does for each page is in `mapping::page_store::unit_writes`.

use flashloom_nand::NandParams;
use flashloom_units::{PolicySpec, Refusal, format_size};

use crate::capability::MAPPING_UNITS;
use crate::capacity::Space;
use crate::params::{FtlParams, SlcCacheKind, Superblock};
use crate::slots;

/// The most pages of a unit: a bit of a word for each.
pub(crate) const MOST_PAGES: u32 = u64::BITS;

/// The most entries of a map: 5 TiB in units of 4 KiB, or 4 TiB for the host and a quarter more. Map, inverse and what
/// else has a page's number take up to 12 bytes an entry, so that a drive fits 16 GiB of memory.
const MOST_ENTRIES: u64 = 5 << 28;

const KEY: &str = "ftl.mapping_unit";

/// Refuses units under a mapping that maps pages, or as many as it likes.
pub(crate) fn suits(params: &FtlParams, mapping: &PolicySpec) -> Result<(), Refusal> {
    if params.mapping_unit_bytes == 0 || mapping.offers.contains(&MAPPING_UNITS) {
        return Ok(());
    }
    let found = format!("a mapping unit of {} under `{}`", format_size(params.mapping_unit_bytes), mapping.name);
    let refusal = Refusal::new(found, "a mapping whose units can have several pages: `page` or `dftl`");
    Err(refusal.at([KEY, slots::MAPPING.key]))
}

/// Refuses a drive whose map has more than [`MOST_ENTRIES`]. A unit that does not fit is refused by the mapping.
pub(crate) fn fits(space: &Space, params: &FtlParams, mapping: &PolicySpec) -> Result<(), Refusal> {
    if in_units(space, params).is_err() {
        return Ok(());
    }
    let page_bytes = space.nand.page_bytes;
    let (pages, unit) = (space.geometry().total_pages(), params.mapping_unit_bytes.max(page_bytes));
    let entries = pages / (unit / page_bytes);
    if entries <= MOST_ENTRIES {
        return Ok(());
    }
    let what = if unit == page_bytes { "pages" } else { "mapping units" };
    let refusal = Refusal::new(
        format!("a drive of {entries} {what} of {}, and a map with an entry for each", format_size(unit)),
        format!("a map of at most {MOST_ENTRIES} entries, which fits 16 GiB of memory"),
    );
    if mapping.offers.contains(&MAPPING_UNITS) {
        let refusal = refusal.at([KEY, "device.blocks", "device.page_size", "device.preset"]);
        let suits = |&unit: &u64| in_units(space, &FtlParams { mapping_unit_bytes: unit, ..params.clone() }).is_ok();
        let of_units = (0..=MOST_PAGES.ilog2()).map(|doublings| page_bytes << doublings);
        let larger = of_units.filter(|unit| pages / (unit / page_bytes) <= MOST_ENTRIES).find(suits);
        return Err(match larger {
            Some(unit) => refusal.help(format!("set {KEY} = \"{}\"", format_size(unit))),
            None => refusal.help("use larger pages, or fewer blocks"),
        });
    }
    let refusal = refusal.at(["device.blocks", "device.page_size", "device.preset"]);
    Err(refusal.help(format!("use larger pages or fewer blocks, or a mapping that has larger units ({KEY})")))
}

/// The space of a drive in mapping units: blocks with as many pages as they hold units, and as many logical pages as
/// the host's pages need. The space itself if a unit is a page.
///
/// # Errors
/// The unit does not fit the array or another part of the FTL.
pub fn in_units(space: &Space, params: &FtlParams) -> Result<Space, Refusal> {
    let NandParams { page_bytes, pages, planes, .. } = space.nand;
    let unit = params.mapping_unit_bytes;
    if unit == 0 || unit == page_bytes {
        return Ok(space.clone());
    }
    let found = format!("a mapping unit of {}", format_size(unit));
    if !unit.is_multiple_of(page_bytes) {
        let nearest = unit.next_multiple_of(page_bytes);
        let refusal = Refusal::new(found, format!("a multiple of the page, which has {}", format_size(page_bytes)));
        let refusal = refusal.at([KEY, "device.page_size", "device.preset"]);
        return Err(refusal.help(format!("the next is {}", format_size(nearest))));
    }
    let unit_pages = u32::try_from(unit / page_bytes).unwrap_or(u32::MAX);
    if unit_pages > MOST_PAGES {
        let expected = format!("one of at most {MOST_PAGES} pages, or {}", format_size(page_bytes * 64));
        return Err(Refusal::new(format!("{found}, or {unit_pages} pages"), expected).at([KEY, "device.page_size"]));
    }
    if !pages.is_multiple_of(unit_pages) {
        let found = format!("{found}, or {unit_pages} pages, on blocks of {pages} pages");
        let refusal = Refusal::new(found, "blocks that hold whole units").at([KEY, "device.pages", "device.preset"]);
        return Err(refusal);
    }
    if params.superblock == Superblock::Die && !unit_pages.is_multiple_of(planes) {
        let found = format!("{found}, or {unit_pages} pages, on superblocks of {planes} planes");
        let expected =
            format!("a unit of whole superpages: a multiple of {}", format_size(page_bytes * u64::from(planes)));
        let refusal = Refusal::new(found, expected).at([KEY, "ftl.superblock", "device.planes", "device.preset"]);
        return Err(refusal.help("or set ftl.superblock to \"none\", which some presets set to \"die\""));
    }
    if params.slc_cache != SlcCacheKind::None {
        let refusal = Refusal::new(format!("{found} and an SLC cache"), "one of the two");
        return Err(refusal.at([KEY, "ftl.slc_cache"]));
    }
    if space.nand.can_fail() {
        let found = format!("{found} on blocks that fail in use");
        let refusal = Refusal::new(found, "blocks that do not: a unit is programmed as a whole");
        return Err(refusal.at([KEY, "device.program_failures", "device.erase_failures", "device.preset"]));
    }
    Ok(Space {
        nand: NandParams { pages: pages / unit_pages, ..space.nand.clone() },
        logical_pages: space.logical_pages.div_ceil(unit_pages.into()),
        unit_pages,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CapacityParams, FtlSetup, mapping};
    use flashloom_units::ParamSet;

    #[test]
    fn a_map_has_as_many_entries_as_fit_and_not_one_more() {
        // 4 channels of 4 planes: 80 million blocks of 16 pages are 5 TiB of 4 KiB.
        let shape = NandParams { channels: 4, ways: 1, dies: 1, planes: 4, pages: 16, ..NandParams::defaults() };
        let refused = |blocks, unit: u64, mapping: &'static str| {
            let nand = NandParams { blocks, page_bytes: 4_096, ..shape.clone() };
            let space = Space::new(nand, &CapacityParams::of(0.25));
            let chosen = mapping::builtin().choose(mapping, &[]).unwrap();
            let params = FtlParams { mapping_unit_bytes: unit, ..FtlParams::defaults() };
            let ftl = FtlSetup { params, mapping: chosen, ..FtlSetup::with_defaults() };
            ftl.profile(&space).err().map(|refusal| (refusal.found, refusal.help.unwrap_or_default()))
        };
        let most = (MOST_ENTRIES / 256) as u32;
        for mapping in ["page", "dftl", "sftl"] {
            assert_eq!(refused(most, 0, mapping), None, "{mapping}");
        }
        let (found, help) = refused(most + 1, 0, "page").unwrap();
        assert!(found.contains("1342177536 pages of 4KiB"), "{found}");
        assert_eq!(help, "set ftl.mapping_unit = \"8KiB\"");
        assert_eq!(refused(most + 1, 8_192, "page"), None);
        assert_eq!(refused(2 * most, 8_192, "page"), None);
        let (found, help) = refused(2 * most + 2, 8_192, "dftl").unwrap();
        assert!(found.contains("1342177536 mapping units of 8KiB") && help.contains("16KiB"), "{found}; {help}");
        assert_eq!(
            refused(most + 1, 5_000, "page").map(|refusal| refusal.0.contains("a mapping unit of 5kB")),
            Some(true)
        );
        assert!(refused(most + 1, 0, "sftl").unwrap().1.contains("a mapping that has larger units"));
        assert!(refused(most + 1, 0, "bast").is_some());
    }
}
