//! Write amplification in a result, on a filled drive with blocks of 64 pages.

use crate::support::run;
use serde_json::Value;

/// Random writes, all of the run in counting mode.
const WRITES: &str = "[workload.synthetic]\nread_share = 0.0\n\
    [device]\nchannels = 2\nways = 1\nplanes = 1\nblocks = 64\npages = 64\npage_size = \"4KiB\"\n\
    [run]\ntiming = \"counting\"\n";

/// Result of random page writes through a buffer of blocks, with or without padding.
fn result(padding: bool) -> Value {
    let few = ["workload.synthetic.requests=2000", "workload.synthetic.request_size=4KiB", "run.precondition=fill"];
    let padding = format!("buffer.block-lru.padding={padding}");
    let buffer = ["buffer.capacity=1MiB", "buffer.order=block-lru", &padding];
    serde_json::to_value(run(WRITES, &[few, buffer].concat(), true)).expect("a result is JSON")
}

#[test]
fn pages_that_pad_a_block_amplify_what_the_host_wrote() {
    for padding in [false, true] {
        let result = result(padding);
        let figure = |path: &str| result.pointer(path).and_then(Value::as_f64).unwrap_or_default();
        let (programs, evicted) = (figure("/nand/programs/total"), figure("/buffer/evicted_pages"));
        assert_eq!(figure("/buffer/order/padding_pages") > 0.0, padding);
        assert_eq!(figure("/ftl/host_page_writes"), evicted + figure("/buffer/order/padding_pages"));
        assert_eq!(figure("/ftl/waf"), programs / evicted, "with padding: {padding}");
    }
}

/// 512 bytes program a page of 4 KiB: as many pages are copied, and eight times the bytes are written for each.
#[test]
fn bytes_tell_what_pages_do_not() {
    let of = |size: &str| {
        let size = format!("workload.synthetic.request_size={size}");
        let many = ["workload.synthetic.requests=20000", &size, "buffer.capacity=0B", "run.precondition=steady"];
        let result = run(WRITES, &many, false);
        let programmed = result.nand.programs.total as f64 * 4_096.0;
        let (pages, bytes) = (result.ftl.waf.expect("pages"), result.ftl.waf_bytes.expect("bytes"));
        assert_eq!(bytes, programmed / result.host.write_bytes as f64);
        (pages, bytes)
    };
    let [small, whole] = ["512B", "4KiB"].map(of);
    // A few requests are neighbours in a page that is written once.
    assert!((small.1 / small.0 - 8.0).abs() < 0.01 && (whole.1 / whole.0 - 1.0).abs() < 1e-9, "{small:?} {whole:?}");
    assert!((small.0 / whole.0 - 1.0).abs() < 0.03, "{small:?} {whole:?}");
}
