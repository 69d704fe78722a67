//! The program as a user meets it: on the command line, with files, and with mistakes in them.
//!
//! What it prints is held against snapshots. `INSTA_UPDATE=always cargo test` writes all of them anew; look at the
//! difference before committing it.

mod anatomy;
mod bounds;
mod combinations;
mod commands;
mod compare;
mod errors;
mod explained;
mod fio;
mod hints;
mod lab;
mod log;
mod reproduce;
mod unused;
