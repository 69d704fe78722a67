//! Static wear levelling of page-level mappings: the lane of data that was moved.
//!
//! What little-worn blocks hold is moved by a job like a collection, at a pace of two steps per page written, to the
//! lane of cold data, whose blocks are the most worn free ones. Neither its erase nor that of a map block causes
//! another move, so that write-backs of a map on flash come to an end.

use crate::lane::{DeclaredLane, Lane};
use crate::{FtlParams, WearLevelling};

/// The lane of moved data; `None` without static wear levelling.
pub(super) fn lane(params: &FtlParams) -> Option<DeclaredLane> {
    (params.wear_levelling == WearLevelling::Static).then_some(DeclaredLane::collected(Lane::COLD).on_worn_blocks())
}
