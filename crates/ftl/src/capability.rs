//! Capabilities that policies of an FTL may need from each other and from the layer above.

use flashloom_units::Capability;

/// A page-level mapping, which takes an allocation and a collection policy and replaces bad blocks.
pub const PAGE_MAPPING: Capability = Capability::new("a page-level mapping that takes an allocation policy");

/// Another mapping that leaves it to the store which block of the array a block is: it does without blocks that are bad
/// from the factory, and others take the place of those that fail or are too little worn.
pub const BLOCK_EXCHANGE: Capability = Capability::new("a mapping whose blocks can be exchanged");

/// Another mapping whose blocks can each be a superblock of a die (`ftl.superblock`).
pub const DIE_SUPERBLOCKS: Capability = Capability::new("a mapping whose blocks can be superblocks of a die");

/// A page-level mapping whose map can have one entry for several pages (`ftl.mapping_unit`).
pub const MAPPING_UNITS: Capability = Capability::new("a mapping whose units can have several pages");

/// A mapping that works on one chip, so that a placement chooses the chip of a logical block.
pub const SINGLE_CHIP: Capability = Capability::new("a mapping that works on one chip");

/// A mapping that writes its map to flash, in open blocks of its own.
pub const TRANSLATION_PAGES: Capability = Capability::new("a mapping with translation pages");

/// A placement that puts neighbouring logical blocks on neighbouring chips and leaves them there.
pub const FIXED_HOMES: Capability = Capability::new("a placement that leaves logical blocks where they are");

/// A write buffer above the FTL, offered if its configured capacity is at least one page.
pub const WRITE_BUFFER: Capability = Capability::new("a write buffer of at least one page");

/// Offered by policies that draw random numbers from the run's seed.
pub const RANDOM_CHOICES: Capability = Capability::new("a policy that draws random numbers");
