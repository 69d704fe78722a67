//! `flashloom serve` under real clients: nbdinfo, nbdcopy, libnbd's shell, qemu-img and fio. They need nbdkit and its
//! plugin, so that they are left out of `cargo test`: `make live` builds the plugin and runs them, and `make test-live`
//! the long ones too (`long_`).
#![allow(missing_docs)]

mod clients;
mod control;
mod endings;
mod faults;
mod long;
mod nbd;
mod page;
mod service;
mod tutorial;
