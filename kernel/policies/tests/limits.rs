//! The limits on a part of the tags, as the kernel's bitmap of tags has them: of as many tags as there were when the
//! scheduler was selected, and of a number that was set afterwards.

use flashloom_host::scheduler::builtin;
use flashloom_host::{AsyncLimits, BlockLayer, HostParams, Linux, Scheduler};
use flashloom_kernel_policies::{Compiled, Version};
use flashloom_units::{OrName, ParamSet, Value};

/// Queue depths, whose double is the number of tags at first.
const DEPTHS: [u32; 6] = [1, 2, 5, 31, 64, 1_023];

/// Compares the limits of one configuration.
fn compare(version: Version, name: &'static str, host: &HostParams, async_depth: Option<u32>) {
    let slot = builtin();
    let spec = slot.find(name).expect("it is built in").spec;
    let setup = BlockLayer::setup(host, 1 << 20);
    let set: Vec<_> = async_depth.map(|depth| ("async_depth", Value::Count(depth.into()))).into_iter().collect();
    let chosen = slot.choose(name, &set).expect("in range");
    let compiled = Compiled::new(version, name, spec.params, chosen.values(), &setup, 0).expect("in order");
    let built_in = chosen.build(&setup).expect("in order");
    assert_eq!(built_in.tags(), compiled.tags(), "{version:?}, {name}, {async_depth:?} of {:?}", setup.tags);
}

#[test]
fn limits_on_tags_are_those_of_the_kernels_bitmap() {
    let mut compared = 0;
    for (version, linux) in [(Version::V6_1, Linux::V6_1), (Version::V6_12, Linux::V6_12)] {
        for name in ["mq-deadline", "kyber"] {
            for tags in (1..=130).chain([200, 256, 400, 1_000]) {
                let set = HostParams { nr_requests: OrName::Number(tags), linux, ..HostParams::defaults() };
                let of_depth = |queue_depth| HostParams { queue_depth, ..set.clone() };
                let as_selected = HostParams { async_limits: AsyncLimits::NrRequests, ..set.clone() };
                let hosts: Vec<_> = DEPTHS.into_iter().map(of_depth).chain([as_selected]).collect();
                let depths = (1..tags + 2).step_by(1 + tags as usize / 40).map(Some).filter(|_| name != "kyber");
                for depth in depths.chain([None]) {
                    hosts.iter().for_each(|host| compare(version, name, host, depth));
                    compared += hosts.len();
                }
            }
        }
    }
    println!("{compared} limits compared");
}
