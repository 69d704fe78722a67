//! What the tests of all files use: a block layer by the name of its scheduler, and the comparison with a model.

use flashloom_host::scheduler::builtin;
use flashloom_host::{BlockLayer, Decision, Dispatched, HostParams, RequestId};
use flashloom_units::{Ns, Value};

/// A block layer above a device of `sectors` sectors, with some parameters of its scheduler set.
pub fn layer(host: &HostParams, sectors: u64, scheduler: &str, set: &[(&str, Value)]) -> BlockLayer {
    let chosen = builtin().choose(scheduler, set).expect("the scheduler takes these parameters");
    BlockLayer::new(host, chosen.build(&BlockLayer::setup(host, sectors)).expect("the parameters are in order"))
}

/// Asserts that a decision is the one that a model expects: a request, or the time until which to wait, if any. Returns
/// the request, and what the model says of it.
pub fn same<T: std::fmt::Debug>(found: Decision, expected: Result<T, Option<Ns>>, at: &str) -> Option<(Dispatched, T)> {
    match (found, expected) {
        (Decision::Dispatch(found), Ok(expected)) => return Some((found, expected)),
        (Decision::Idle, Err(None)) => {}
        (Decision::NotBefore(found), Err(Some(expected))) if found == expected => {}
        (found, expected) => panic!("{at}: {found:?}, not {expected:?}"),
    }
    None
}

/// Completes a request, and returns the cookies of its members.
pub fn complete(layer: &mut BlockLayer, now: Ns, id: RequestId) -> Vec<u32> {
    let mut cookies = Vec::new();
    layer.complete(now, id, |completed| cookies.push(completed.cookie));
    cookies
}
