//! Write amplification in a result, on a filled drive with blocks of 64 pages.

use std::path::PathBuf;

use flashloom_config::{Catalog, Experiment, Source};
use flashloom_run::{Prepared, Quiet};
use serde_json::Value;

/// Result of random page writes through a buffer of blocks, with or without padding.
fn result(padding: bool) -> Value {
    let text = format!(
        "[workload.synthetic]\nrequests = 2_000\nread_share = 0.0\nrequest_size = \"4KiB\"\n\
         [device]\nchannels = 2\nways = 1\nplanes = 1\nblocks = 64\npages = 64\npage_size = \"4KiB\"\n\
         [buffer]\ncapacity = \"1MiB\"\norder = \"block-lru\"\nblock-lru.padding = {padding}\n\
         [run]\nprecondition = \"fill\"\ntiming = \"counting\"\n"
    );
    let source = Source { name: "test".to_owned(), text, folder: PathBuf::new() };
    let experiment =
        Experiment::from_source(&Catalog::builtin(), source, &[], None).unwrap_or_else(|problems| panic!("{problems}"));
    let prepared = Prepared::new(&experiment).unwrap_or_else(|problems| panic!("{problems}"));
    let mut comparison = prepared.compare(true, &Quiet).unwrap_or_else(|failure| panic!("{failure}"));
    serde_json::to_value(comparison.runs.remove(0).result).expect("a result is JSON")
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
        let text = format!(
            "[workload.synthetic]\nrequests = 20_000\nread_share = 0.0\nrequest_size = \"{size}\"\n\
             [device]\nchannels = 2\nways = 1\nplanes = 1\nblocks = 64\npages = 64\npage_size = \"4KiB\"\n\
             [buffer]\ncapacity = \"0B\"\n[run]\nprecondition = \"steady\"\ntiming = \"counting\"\n"
        );
        let source = Source { name: "test".to_owned(), text, folder: PathBuf::new() };
        let experiment = Experiment::from_source(&Catalog::builtin(), source, &[], None)
            .unwrap_or_else(|problems| panic!("{problems}"));
        let prepared = Prepared::new(&experiment).unwrap_or_else(|problems| panic!("{problems}"));
        let result = prepared.run_variant(0, false, &Quiet).unwrap_or_else(|failure| panic!("{failure}"));
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
