//! Tests that take minutes.

use crate::service::Service;

/// The measure that a drive is trusted by: random writes and trims over 10 GiB, all of it read back and checked.
#[test]
#[ignore = "takes minutes: make test-live"]
fn long_fio_verifies_ten_gibibytes_with_trims() {
    let server = Service::begin(&["--set", "device.preset=mlc-16g", "--set", "device.blocks=256"]);
    let job = "--name=verify --ioengine=nbd --rw=randtrimwrite --bs=16k --iodepth=1 --verify=crc32c --do_verify=1 \
        --verify_fatal=1 --size=10g --minimal";
    let uri = format!("--uri={}", server.uri());
    let arguments: Vec<&str> = job.split_whitespace().chain([&*uri]).collect();
    server.client("fio", &arguments);
    assert_eq!(server.end("TERM").code, Some(0));
}
