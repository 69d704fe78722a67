//! Which chip the pages of a logical block go to, where every chip has an FTL of its own.
//!
//! The write buffer decides what is evicted together, the placement where each of its logical blocks goes (the channel
//! allocator of CAVE, section 4.2). Pages that a logical block has on another chip are moved, which is counted and takes
//! its time. Adding a placement is one file here and one line in the table below.

use flashloom_units::{Lbn, Slot, Value};

/// A policy of placement.
pub trait Placement: Send {
    /// The chip for the pages of a logical block that are written together; `home` is where its pages are, if it has any.
    /// A chip that is full is passed over for the next.
    fn place(&mut self, lbn: Lbn, home: Option<u32>) -> u32;

    /// Whether a logical block may be sent away from its home. Then its pages among those that are written together are
    /// brought together first, so that it is placed, and moves, once.
    fn moves(&self) -> bool {
        false
    }

    /// Most chips that the pages of a logical block are spread over: a power of two, and the logical blocks of a region.
    fn widest(&self) -> u32 {
        1
    }

    /// Pages of a region that are written before its span is asked for again.
    fn window(&self) -> u32 {
        u32::MAX
    }

    /// How many chips the logical blocks of a region span from now on: a power of two, [`Self::widest`] at most.
    fn span(&mut self, region: &Region) -> u32 {
        region.span
    }
}

/// What was seen of consecutive logical blocks since their span was last asked for.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// Chips that each of them spans.
    pub span: u32,
    /// Pages written.
    pub pages: u32,
    /// How often some were written together.
    pub runs: u32,
    /// Pages of them that merges copied.
    pub copies: u32,
}

macro_rules! placements {
    ($($module:ident),+ $(,)?) => {
        $(mod $module;)+

        /// All placements.
        pub static SLOT: Slot = Slot {
            name: "placements",
            key: "buffer.placement",
            help: "which chip an evicted logical block goes to, where every chip has an FTL of its own",
            policies: &[$(&$module::SPEC),+],
        };

        /// Builds the placement of that name over `chips`, which the configuration has checked.
        pub fn build(name: &str, values: &[Value], chips: u32) -> Box<dyn Placement> {
            $(if name == $module::SPEC.name {
                return Box::new($module::State::new(values, chips));
            })+
            unreachable!("the configuration accepts only names of the table")
        }
    };
}

placements! { r#static, round_robin, adaptive }
