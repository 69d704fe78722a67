//! Check that the candidates of a policy are the right ones after a state was loaded.

use flashloom_nand::BlockId;
use flashloom_units::{Violation, violation};

/// The error of a policy that has the wrong number of candidates, or a block that is not a candidate.
pub(super) fn mistaken(block: Option<BlockId>) -> Violation {
    match block {
        None => Violation::new("collection policy: not every full block is a candidate"),
        Some(BlockId(block)) => {
            violation!("collection policy: block {block} is a candidate with another number of valid pages, or none")
        }
    }
}

/// Checks that a policy holds every candidate once, with the valid pages that `held` gives.
pub(super) fn check_held(
    candidates: &[Option<u32>],
    held: impl Iterator<Item = BlockId>,
    valid: impl Fn(BlockId) -> u32,
) -> Result<(), Violation> {
    let mut count = 0;
    for block in held {
        count += 1;
        if candidates.get(block.at()).copied().flatten() != Some(valid(block)) {
            return Err(mistaken(Some(block)));
        }
    }
    if candidates.iter().flatten().count() == count { Ok(()) } else { Err(mistaken(None)) }
}
