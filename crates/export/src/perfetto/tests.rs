//! Traces decoded: slices add up to what the result says, and arrows lead from requests to flash operations.

use std::collections::BTreeMap;
use std::io;

use flashloom_config::{Catalog, Experiment, Source};
use flashloom_figures::result::RunResult;
use flashloom_run::{Prepared, Quiet};
use prost::Message;

use super::packet::{CounterDescriptor, TracePacket, TrackEvent};
use super::*;

const BUSY: &str = r#"
[workload.synthetic]
requests = 4000
read_share = 0.4
request_size = "8KiB"

[device]
channels = 2
ways = 2
planes = 2
blocks = 96
pages = 32
over_provisioning = 0.25

[buffer]
capacity = "1MiB"
"#;

/// A trace as a whole.
#[derive(Clone, PartialEq, Message)]
struct Whole {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<TracePacket>,
}

fn run(sets: &[&str]) -> (Whole, RunResult) {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let experiment = Experiment::from_source(&Catalog::builtin(), Source::text("busy.toml", BUSY), &sets, None);
    let experiment = experiment.unwrap_or_else(|problems| panic!("{problems}"));
    let prepared = Prepared::new(&experiment).unwrap_or_else(|problems| panic!("{problems}"));
    let mut perfetto = Perfetto::new(Vec::new());
    let result = prepared.run(true, &Quiet, &mut [&mut perfetto]).unwrap_or_else(|failure| panic!("{failure}")).result;
    let bytes = perfetto.finish().expect("memory takes everything");
    (Whole::decode(&bytes[..]).expect("it is a trace"), result)
}

/// A slice: its track, its name, its flows.
#[derive(Debug)]
struct Slice {
    track: String,
    name: String,
    flows: Vec<u64>,
    begin: Ns,
    end: Ns,
    depth: usize,
}

/// Every slice of a trace, as a viewer would find it: in order of time, and of the file within a moment.
fn slices(trace: &Whole) -> Vec<Slice> {
    let (mut tracks, mut names, mut events) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::<u64, Vec<_>>::new());
    for packet in &trace.packet {
        if let Some(track) = &packet.track_descriptor {
            tracks.insert(track.uuid(), track.name().to_owned());
        }
        for name in packet.interned_data.iter().flat_map(|data| &data.event_names) {
            names.insert(name.iid(), name.name().to_owned());
        }
        if let Some(event) = &packet.track_event {
            events.entry(event.track_uuid()).or_default().push((packet.timestamp(), event));
        }
    }
    let mut slices: Vec<Slice> = Vec::new();
    for (track, mut events) in events {
        events.sort_by_key(|&(at, _)| at);
        let mut open: Vec<usize> = Vec::new();
        for (at, event) in events {
            match event.r#type() {
                TrackEvent::SLICE_BEGIN => {
                    let (track, name) = (tracks[&track].clone(), names[&event.name_iid()].clone());
                    let flows = event.flow_ids.clone();
                    open.push(slices.len());
                    slices.push(Slice { track, name, flows, begin: at, end: at, depth: open.len() - 1 });
                }
                TrackEvent::SLICE_END => slices[open.pop().expect("what ends has begun")].end = at,
                other => assert_eq!(other, TrackEvent::COUNTER),
            }
        }
        // A drive that has rested may be at a collection when the run ends.
        assert!(open.iter().all(|&at| slices[at].track == "job"), "what has begun ends");
    }
    slices
}

#[test]
fn slices_of_dies_and_channels_add_up_to_their_utilization() {
    for sets in
        [vec![], vec!["device.cache_program=true", "device.suspend=program-erase"], vec!["device.copyback=true"]]
    {
        let (trace, result) = run(&[&["run.series=1s", "run.drain=true"], &sets[..]].concat());
        let (slices, nand) = (slices(&trace), &result.nand);
        let end_ns = *result.series.as_ref().and_then(|series| series.end_ns.last()).expect("it has a series") as f64;
        for (part, count, utilization) in
            [("die ", 4.0, nand.die_utilization), ("channel ", 2.0, nand.channel_utilization)]
        {
            let of_part = slices.iter().filter(|slice| slice.track.starts_with(part) && slice.depth == 0);
            let busy_ns: Ns = of_part.map(|slice| slice.end - slice.begin).sum();
            let share = busy_ns as f64 / (end_ns * count);
            assert!((share - utilization.expect("time passes")).abs() < 1e-12, "{part}: {share}, {utilization:?}");
        }
        let on_top = slices.iter().filter(|slice| slice.track.starts_with("die ") && slice.depth > 0);
        assert!(on_top.clone().all(|slice| slice.name == "read"), "what suspends an operation is a read of the host");
        assert_eq!(on_top.count() > 0, sets.len() == 2);
    }
}

#[test]
fn every_request_is_a_slice_and_leads_to_its_flash_operations() {
    let (trace, result) = run(&["run.drain=true", "run.precondition=steady"]);
    let slices = slices(&trace);
    let of = |track: &'static str| slices.iter().filter(move |slice| slice.track == track);
    assert_eq!(of("request").count() as u64, result.host.completed);
    let dispatched = result.host.scheduler.as_ref().and_then(|scheduler| scheduler.whole("dispatched"));
    assert_eq!(Some(of("command").count() as u64), dispatched);
    assert_eq!(of("eviction").count() as u64, result.buffer.as_ref().expect("there is a buffer").evicted_pages);
    let collections = of("job").filter(|slice| slice.name == "collection").count();
    assert!(collections > 0, "{} blocks erased", result.nand.erases.gc);
    let mut flows: BTreeMap<u64, Vec<&Slice>> = BTreeMap::new();
    slices.iter().flat_map(|slice| slice.flows.iter().map(move |flow| (*flow, slice))).for_each(|(flow, slice)| {
        flows.entry(flow).or_default().push(slice);
    });
    for request in of("request") {
        let [flow] = request.flows[..] else { panic!("{request:?} has one command") };
        let steps = &flows[&flow];
        assert!(steps.iter().any(|step| step.track == "command" && step.begin >= request.begin));
        assert!(steps.iter().all(|step| step.begin >= request.begin || step.track == "request"));
        let in_flash = steps.iter().filter(|step| step.track.starts_with("die ") && step.name == request.name);
        if request.name == "read" {
            // A read of several planes ends when the last of them has crossed the channel.
            assert!(in_flash.clone().all(|step| step.begin < request.end), "{request:?}: {steps:?}");
        }
    }
    let programs = slices.iter().filter(|slice| slice.name == "program");
    assert!(programs.clone().count() > 100);
    assert!(programs.clone().all(|program| !program.flows.is_empty()), "each is for a page that some write stored");
}

#[test]
fn the_schedulers_counter_is_a_count_above_its_group() {
    let (trace, _) = run(&[]);
    let tracks = trace.packet.iter().filter_map(|packet| packet.track_descriptor.as_ref());
    let counters: Vec<_> = tracks.filter(|track| track.name() == "requests in the scheduler").collect();
    let [counter] = counters[..] else { panic!("there is one: {counters:?}") };
    let unit = counter.counter.as_ref().and_then(|counter| counter.unit);
    assert_eq!((unit, counter.sibling_order_rank), (Some(CounterDescriptor::COUNT), Some(-1)));
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let [one, other] = [run(&[]).0, run(&[]).0];
    assert!(one == other);
}

#[test]
fn the_first_error_of_the_output_is_told_at_the_end() {
    let error = Perfetto::new(&mut [][..]).finish().map(drop).expect_err("nothing could be written");
    assert_eq!(error.kind(), io::ErrorKind::WriteZero);
}
