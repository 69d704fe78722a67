//! The limits on a part of the tags, as the kernel's bitmap of tags has them.

use flashloom_host::scheduler::builtin;
use flashloom_host::{BlockLayer, HostParams, Linux, Scheduler};
use flashloom_kernel_policies::{Compiled, Version};
use flashloom_units::{ParamSet, Value};

#[test]
fn limits_on_tags_are_those_of_the_kernels_bitmap() {
    let slot = builtin();
    let mut compared = 0;
    for (version, linux) in [(Version::V6_1, Linux::V6_1), (Version::V6_12, Linux::V6_12)] {
        for name in ["mq-deadline", "kyber"] {
            let spec = slot.find(name).expect("it is built in").spec;
            for nr_requests in (1..=130).chain([200, 256, 400, 1_000]) {
                let setup = BlockLayer::setup(&HostParams { nr_requests, linux, ..HostParams::defaults() }, 1 << 20);
                let depths = if name == "kyber" { 1..2 } else { 1..nr_requests + 2 };
                for depth in depths.step_by(1 + nr_requests as usize / 40) {
                    let set = [("async_depth", Value::Count(depth.into()))];
                    let chosen = slot.choose(name, if name == "kyber" { &[] } else { &set }).expect("in range");
                    let values = chosen.values().to_vec();
                    let built_in = chosen.build(&setup).expect("in order");
                    let compiled = Compiled::new(version, name, spec.params, &values, &setup, 0).expect("in order");
                    let at = format!("{version:?}, {name}, {depth} of {nr_requests} tags");
                    assert_eq!(built_in.tags(), compiled.tags(), "{at}");
                    compared += 1;
                }
            }
        }
    }
    println!("{compared} limits compared");
}
