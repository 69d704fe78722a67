//! Rested: greedy among the blocks that have been full for a while.
//!
//! ```text
//! rested = candidates of the plane after which `rest` others were filled there, or all if none has rested
//! victim = the one of them with the fewest valid pages, the one filled first among equals
//! ```

use flashloom::ftl::collection::Collection;
use flashloom::units::{
    BlockId, Figure, Kind, ParamSet, PlaneId, Policy, PolicySpec, Statistic, Value, params,
};

params! {
    /// The parameters of this collection policy.
    pub struct Params {
        /// Blocks of the plane that are filled after a block before it is collected.
        rest: u64 => "rest", Kind::Count { min: 0, max: 1 << 20 }, Value::Count(8),
            "A longer rest lets more pages of young blocks die, and leaves fewer blocks to choose from.";
    }
}

static SPEC: PolicySpec = PolicySpec {
    name: "rested",
    summary: "the block with the fewest valid pages of those that have rested",
    details: "A block rests until `rest` others of its plane were filled. Where none has, all count.",
    source: "the example of the tutorial",
    params: Params::PARAMS,
    statistics: &[Statistic::count("unrested", "Victims taken though none had rested.")],
    ..PolicySpec::BLANK
};

/// The collection policy as a policy.
pub fn policy() -> Policy<dyn Collection> {
    Policy::<dyn Collection>::new(&SPEC, |values, on| {
        let planes = vec![Plane::default(); on.geometry.total_planes() as usize];
        let rest = Params::from_values(values).rest;
        Ok(Box::new(Rested { geometry: *on.geometry, rest, planes, unrested: 0 }))
    })
}

#[derive(Clone, Default)]
struct Plane {
    /// In the order in which they were filled: the block, its valid pages, and which of the plane's it was.
    candidates: Vec<(BlockId, u32, u64)>,
    filled: u64,
}

struct Rested {
    geometry: flashloom::nand::Geometry,
    rest: u64,
    planes: Vec<Plane>,
    unrested: u64,
}

impl Rested {
    fn plane(&mut self, block: BlockId) -> &mut Plane {
        &mut self.planes[self.geometry.plane_of(block).at()]
    }
}

impl Collection for Rested {
    fn closed(&mut self, block: BlockId, valid: u32) {
        let plane = self.plane(block);
        plane.filled += 1;
        plane.candidates.push((block, valid, plane.filled));
    }

    fn invalidated(&mut self, block: BlockId, valid: u32) {
        let mut candidates = self.plane(block).candidates.iter_mut();
        candidates.find(|(id, ..)| *id == block).expect("it was closed").1 = valid;
    }

    fn victim(&mut self, plane: PlaneId) -> Option<BlockId> {
        let (rest, pages) = (self.rest, self.geometry.pages);
        let Plane { candidates, filled } = &self.planes[plane.at()];
        let dead = candidates.iter().filter(|(_, valid, _)| *valid < pages);
        let rested = dead.clone().filter(|(.., at)| filled - at >= rest);
        let best = rested.min_by_key(|(_, valid, _)| *valid);
        self.unrested += u64::from(best.is_none());
        let victim = best.or_else(|| dead.min_by_key(|(_, valid, _)| *valid))?.0;
        self.withdraw(victim);
        Some(victim)
    }

    fn withdraw(&mut self, block: BlockId) {
        self.plane(block).candidates.retain(|(id, ..)| *id != block);
    }

    fn figures(&self) -> Vec<Figure> {
        vec![Figure::Count(self.unrested)]
    }
}
