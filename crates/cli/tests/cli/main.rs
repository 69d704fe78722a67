//! The program as a user meets it: on the command line, with files, and with mistakes in them.
//!
//! Output is compared with snapshots. `INSTA_UPDATE=always cargo test` rewrites all of them; look at the difference
//! before committing it.

mod anatomy;
#[cfg(unix)]
mod apart;
mod bounds;
mod cache;
mod combinations;
mod commands;
mod compare;
mod errors;
mod explained;
mod fio;
mod hints;
#[cfg(unix)]
mod hostile;
mod inputs;
mod install;
mod lab;
mod log;
mod memory;
mod misleading;
mod newcomers;
#[cfg(unix)]
mod outputs;
mod recordings;
mod report;
mod reproduce;
mod unused;
#[cfg(target_os = "linux")]
mod unwritten;
