//! The `[workload.filebench]` table of a configuration.

use flashloom_units::{GIB, KIB, Kind, MIB, MS, Ns, PolicySpec, S, US, Used, Value, params};

use super::layout::Layout;
use super::personality::{Figures, Personality};

params! {
    /// The parameters of a Filebench personality, `[workload.filebench]`.
    pub struct FilebenchParams {
        /// Published Filebench personality to run.
        personality: Personality => "personality", Kind::Choice(Personality::CHOICES), Value::Name("fileserver"),
            "Fileserver writes much, webserver reads, varmail waits for the journal, oltp for single pages.";
        /// Number of files in the file set; as published if it is not given.
        files: Option<u32> => "files", Kind::Count { min: 1, max: 1 << 24 }, Value::Absent,
            "More files than the page cache holds make reads reach the device.";
        /// Mean size of a file; as published if it is not given.
        file_bytes: Option<u64> => "file_size", Kind::Size { min: 4 * KIB, max: 64 * GIB }, Value::Absent,
            "Larger files make longer requests.";
        /// Shape of the gamma distribution of the file sizes, 0 for all the same; as published if it is not given.
        shape: Option<f64> => "file_size_gamma", Kind::Ratio { min: 0.0, max: 100.0 }, Value::Absent,
            "A smaller shape makes more small files and a few very large ones.";
        /// Files per directory; as published if it is not given.
        directory_width: Option<u32> => "directory_width", Kind::Count { min: 1, max: 1 << 24 }, Value::Absent,
            "Wide directories have many blocks, narrow ones an inode for every few files.";
        /// Number of threads, for oltp of the readers; as published if it is not given.
        threads: Option<u32> => "threads", Kind::Count { min: 1, max: 65_536 }, Value::Absent,
            "More threads keep more requests outstanding.";
        /// Number of database writers of oltp.
        writers: u32 => "writers", Kind::Count { min: 1, max: 1_024 }, Value::Count(10),
            "Each writes a hundred pages a round, as many at once as there are data files.",
            Used::with("personality", &["oltp"]);
        /// Size of a read or write call; as published if it is not given.
        io_bytes: Option<u64> => "io_size", Kind::Size { min: 512, max: GIB }, Value::Absent,
            "Calls below 4 KiB read a page before they write a part of it.";
        /// Maximum length of an append.
        append_bytes: u64 => "append_size", Kind::Size { min: 1, max: GIB }, Value::Size(16 * KIB),
            "The mean is half of this size.";
        /// Size of the log of webserver (at the start) and of oltp; as published if it is not given.
        log_bytes: Option<u64> => "log_size", Kind::Size { min: 4 * KIB, max: 64 * GIB }, Value::Absent,
            "The database writes at random places of its log; the web server appends to its own.",
            Used::with("personality", &["webserver", "oltp"]);
        /// Simulated duration of the workload.
        runtime_ns: Ns => "runtime", Kind::Time { min: MS, max: 1_000_000 * S }, Value::Time(60 * S),
            "The file system is cold at first, and write-back begins after half a minute.";
        /// Number of flow operations after which the run ends, if that is before `runtime`.
        operations: Option<u64> => "operations", Kind::Count { min: 1, max: u64::MAX }, Value::Absent,
            "Gives runs of equal work instead of equal time.";
        /// Processor time per flow operation.
        cpu_ns: Ns => "cpu_time", Kind::Time { min: US, max: S }, Value::Time(10 * US),
            "A slower processor leaves the device idle between operations.";
        /// Processor time per transaction of oltp.
        transaction_ns: Ns => "transaction_time", Kind::Time { min: US, max: S }, Value::Time(200 * US),
            "Filebench spins 200,000 rounds; a nanosecond each is assumed.",
            Used::with("personality", &["oltp"]);
        /// Number of processors that the threads share; one per thread if it is not given.
        processors: Option<u32> => "processors", Kind::Count { min: 1, max: 65_536 }, Value::Absent,
            "Few processors bound the operations per second, whatever the device does; unbounded, the device decides.";
        /// Placement of the files of the set.
        layout: Layout => "layout", Kind::Choice(Layout::CHOICES), Value::Name("packed"),
            "Packed, a small set lies in one part of the drive; spread, it reaches all of it.";
        /// Size of the file system, from the start of the device; the whole device if it is not given.
        size_bytes: Option<u64> => "file_system_size", Kind::Size { min: 128 * MIB, max: 1 << 44 }, Value::Absent,
            "A smaller file system writes the same blocks again sooner.";
        /// Size of the page cache.
        cache_bytes: u64 => "cache_size", Kind::Size { min: 16 * MIB, max: 1 << 40 }, Value::Size(GIB),
            "Cached pages are not read from the device again.";
        /// Share of the cache that may be dirty before write-back begins.
        background_share: f64 => "dirty_background_ratio", Kind::Ratio { min: 0.001, max: 0.9 }, Value::Ratio(0.1),
            "With later write-back more dirty data is overwritten or deleted before it reaches the device.";
        /// Share of the cache that may be dirty before writers wait.
        dirty_share: f64 => "dirty_ratio", Kind::Ratio { min: 0.001, max: 0.9 }, Value::Ratio(0.2),
            "The closer to the background share, the sooner writers wait for the device.";
        /// Maximum age of dirty data before write-back.
        expire_ns: Ns => "dirty_expire", Kind::Time { min: MS, max: 86_400 * S }, Value::Time(30 * S),
            "A shorter age loses less in a crash and writes more.";
        /// Interval at which the flusher looks for dirty data that has expired.
        flush_ns: Ns => "dirty_writeback", Kind::Time { min: MS, max: 86_400 * S }, Value::Time(5 * S),
            "Longer intervals make larger bursts.";
        /// Interval at which the journal commits when nobody asks for it.
        commit_ns: Ns => "commit_interval", Kind::Time { min: MS, max: 86_400 * S }, Value::Time(5 * S),
            "A longer interval logs blocks that change several times only once.";
        /// Maximum read-ahead window.
        read_ahead_bytes: u64 => "read_ahead", Kind::Size { min: 4 * KIB, max: 64 * MIB }, Value::Size(128 * KIB),
            "Larger windows make longer requests of whole-file reads.";
    }
}

/// Entry of the table of workloads.
pub(crate) static SPEC: PolicySpec = PolicySpec {
    name: "filebench",
    summary: "the Filebench personalities fileserver, webserver, varmail and oltp over a modelled file system",
    details: "Threads run flow operations in a closed loop over directories, inodes, extents in block groups, a \
              journal that commits in groups, and a page cache with read-ahead and write-back. Blocks are given to a \
              file when it is written, and their bitmaps join the journal when the data is on the device. Bitmaps are \
              in memory from the start. Threads are tasks 1 and up; the flusher and the journal follow.",
    source: "Filebench 1.5, workloads/*.f; ext4, jbd2, mm/readahead.c and mm/page-writeback.c of Linux 6.1",
    example: "workload.kind=filebench workload.filebench.personality=varmail workload.filebench.runtime=5s",
    instead: "It models four servers: for another application record its requests and use `trace`. To vary a single \
              property of the requests, use `synthetic`.",
    params: FilebenchParams::PARAMS,
    ..PolicySpec::BLANK
};

impl FilebenchParams {
    /// The published figures of the personality, with the configuration's changes.
    pub fn figures(&self) -> Figures {
        let published = self.personality.figures();
        Figures {
            files: self.files.unwrap_or(published.files),
            file_bytes: self.file_bytes.unwrap_or(published.file_bytes),
            shape: self.shape.unwrap_or(published.shape),
            directory_width: self.directory_width.unwrap_or(published.directory_width),
            preallocated: published.preallocated,
            threads: self.threads.unwrap_or(published.threads),
            io_bytes: self.io_bytes.unwrap_or(published.io_bytes),
            log_bytes: self.log_bytes.filter(|_| published.log_bytes.is_some()).or(published.log_bytes),
        }
    }
}
