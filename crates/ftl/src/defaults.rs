//! The default FTL.

use flashloom_units::{Chosen, ParamSet, Prng, Refusal, Role};

use crate::params::FtlParams;
use crate::setup::FtlSetup;
use crate::{allocation, collection, mapping, placement};

impl FtlSetup {
    /// The default policies with the defaults of their parameters.
    pub fn with_defaults() -> Self {
        let params = FtlParams::defaults();
        Self {
            mapping: first(mapping::builtin().choose(params.mapping, &[])),
            allocation: first(allocation::builtin().choose(params.allocation, &[])),
            collection: first(collection::builtin().choose(params.gc, &[])),
            placement: first(placement::builtin().choose(params.placement, &[])),
            prng: Prng::new(1),
            params,
        }
    }
}

/// Unwraps the choice of a default, which is in the tables of built-in policies.
fn first<P: Role + ?Sized>(chosen: Result<Chosen<P>, Refusal>) -> Chosen<P> {
    chosen.unwrap_or_else(|refusal| panic!("a default is in its table: {refusal}"))
}
