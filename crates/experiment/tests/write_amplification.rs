//! Write amplification in a result, on a filled drive with blocks of 64 pages.

use std::path::PathBuf;

use flashloom_experiment::config::{Catalog, Experiment, Source};
use flashloom_experiment::run::{Prepared, Quiet};
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
        assert_eq!(figure("/buffer/padding_pages") > 0.0, padding);
        assert_eq!(figure("/ftl/host_page_writes"), evicted + figure("/buffer/padding_pages"));
        assert_eq!(figure("/ftl/waf"), programs / evicted, "with padding: {padding}");
    }
}
