//! Arguments of `serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ArgGroup, Args};
use flashloom::units::parse_size;

use super::choice;

/// Arguments of `serve`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("place").required(true).args(["unix", "tcp"]))]
pub struct ServeArguments {
    /// Experiment whose drive is served, a TOML file; its workload and its scheduler are not used.
    #[arg(value_name = "EXPERIMENT.toml")]
    pub experiment: String,
    /// Listen on a Unix socket of this name.
    #[arg(long, value_name = "PATH")]
    pub unix: Option<PathBuf>,
    /// Listen on a TCP port of an address of this machine, such as 127.0.0.1:10809. NBD asks nobody who they are.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub tcp: Option<SocketAddr>,
    /// Take orders at a Unix socket of this name, one JSON object a line: {"do": "status"}, result, snapshot
    /// or end.
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,
    /// Show the drive on a page at an address of this machine alone, such as 127.0.0.1:8080.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub web: Option<SocketAddr>,
    /// Set a key to another value than in the file, such as ftl.mapping=fast; the last of several for a key counts.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// How time passes.
    #[arg(long, default_value = ServePace::Fast.name(), value_parser = choice(ServePace::CHOICES, ServePace::named))]
    pub pace: ServePace,
    /// Simulated seconds that pass in a second of the wall clock, with --pace real (0.001 to 1000).
    #[arg(long, value_name = "FACTOR", value_parser = speed)]
    pub speed: Option<f64>,
    /// Let requests in that clients have already sent before time jumps, with --pace fast: the drive sees the queue
    /// depth of its clients, and serves about half as many requests a second.
    #[arg(long)]
    pub gather: bool,
    /// Requests of a connection that are inside at a time; at least the drive's queue depth, and 16, if it is left out.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Option<u32>,
    /// Most memory for data, such as 8GiB; further data lies in a file without a name in the folder for temporary
    /// files.
    #[arg(long, value_name = "SIZE", default_value = "2GiB", value_parser = size)]
    pub memory: u64,
    /// Keep drive and data in this file across services: loaded if it is there, and written at the end.
    #[arg(long, value_name = "FILE")]
    pub image: Option<String>,
    /// Put the data of the image, which may be of another drive or build, on a newly aged drive.
    #[arg(long, requires = "image")]
    pub age_anew: bool,
    /// Write a line for every request: a trace in Flashloom's own CSV which, replayed, gives the same result.
    #[arg(long, value_name = "FILE.csv")]
    pub log: Option<String>,
    /// Write the result as JSON to a file, or to standard output (-) instead of the table.
    #[arg(long, value_name = "FILE")]
    pub json: Option<String>,
    /// Age the drive anew, without the cache of aged drives (FLASHLOOM_CACHE, or the user's cache folder).
    #[arg(long)]
    pub no_cache: bool,
    /// Leave out hints, in the JSON too: warnings that a figure means less than it seems.
    #[arg(long)]
    pub no_hints: bool,
}

flashloom::units::choice! {
    /// How time passes on a drive that is served.
    pub enum ServePace {
        /// as fast as the simulation goes: time jumps from completion to completion
        Fast = "fast",
        /// by the wall clock: a request takes as long as on the drive
        Real = "real",
    }
}

/// A factor between the clocks.
fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse::<f64>().ok().filter(|speed| (0.001..=1_000.0).contains(speed));
    speed.ok_or_else(|| "expected a number from 0.001 to 1000".to_owned())
}

/// An address and a port. Names are not looked up: one may have several addresses.
fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        let expected = "expected an address and a port, such as 127.0.0.1:8080 or [::1]:8080";
        let name = text.rsplit_once(':').map_or(text, |(name, _)| name);
        let port = text.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
        match (name, port) {
            ("localhost", Some(port)) => format!("{expected}; names are not looked up: localhost is 127.0.0.1:{port}"),
            ("localhost", None) => format!("{expected}; names are not looked up: localhost is 127.0.0.1:PORT"),
            _ => expected.to_owned(),
        }
    })
}

fn size(text: &str) -> Result<u64, String> {
    parse_size(text).map_err(|refusal| refusal.to_string())
}
