//! The fio jobs whose results tell the parameters of a drive apart, as files, with a page that says how to run them.
//!
//! No file names a drive: fio takes it from its command line (`--filename`), and without one it refuses a job whose
//! size is a share of the drive before it opens anything. Jobs that write have a folder of their own.

use std::fmt::Write;

use flashloom_units::choice;

choice! {
    /// How long the jobs run.
    pub enum JobTime {
        /// five minutes for the jobs that read, and five for those that write
        FiveMinutes = "5min",
        /// an hour for the jobs that read, and an hour for those that write
        Hour = "1h",
    }
}

impl JobTime {
    fn seconds(self) -> u64 {
        match self {
            JobTime::FiveMinutes => 300,
            JobTime::Hour => 3_600,
        }
    }
}

/// Name of the page.
pub const PAGE: &str = "README.md";
/// Folders of the jobs that only read, and of those that overwrite the drive.
const FOLDERS: [(&str, &[JobFile]); 2] = [("read-only", &READS), ("destructive", &WRITES)];

/// A job file.
struct JobFile {
    name: &'static str,
    /// What it tells.
    purpose: &'static str,
    /// Reason why a fit cannot use its results; none if it does.
    unused: Option<&'static str>,
    /// Options of all its jobs.
    shared: &'static str,
    /// Each job, behind a semicolon but for the first: its name, and its options.
    jobs: &'static str,
}

impl JobFile {
    fn jobs(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.jobs.split("; ").map(|job| job.split_once(' ').unwrap_or((job, "")))
    }
}

const READS: [JobFile; 4] = [
    JobFile {
        name: "latency-by-size",
        purpose: "the times of pages, of the controller and of the channels, one request at a time",
        unused: None,
        shared: "rw=randread iodepth=1",
        jobs: "4k bs=4k; 8k bs=8k; 16k bs=16k; 32k bs=32k; 64k bs=64k; 128k bs=128k; 256k bs=256k",
    },
    JobFile {
        name: "parallelism-by-depth",
        purpose: "the number of dies, and the ceilings of the channels, the link and the controller",
        unused: None,
        shared: "rw=randread",
        jobs: "4k-2 bs=4k iodepth=2; 4k-4 bs=4k iodepth=4; 4k-8 bs=4k iodepth=8; 4k-16 bs=4k iodepth=16; \
               4k-32 bs=4k iodepth=32; 4k-64 bs=4k iodepth=64; 4k-128 bs=4k iodepth=128; \
               4k-256 bs=4k iodepth=256; 16k-4 bs=16k iodepth=4; 16k-16 bs=16k iodepth=16; \
               16k-64 bs=16k iodepth=64; 128k-8 bs=128k iodepth=8; 128k-32 bs=128k iodepth=32",
    },
    JobFile {
        name: "sequential",
        purpose: "readahead and the cache of pages that were read, one request at a time; then the ceilings",
        unused: None,
        shared: "rw=read",
        jobs: "4k-1 bs=4k iodepth=1; 4k-32 bs=4k iodepth=32; 128k-1 bs=128k iodepth=1; \
               128k-32 bs=128k iodepth=32",
    },
    JobFile {
        name: "stripes-by-stride",
        purpose: "the stripe: at a stride of a whole stripe over the chips all reads meet on one of them",
        unused: Some("reads at a stride are not simulated as a cell"),
        shared: "bs=4k iodepth=32",
        jobs: "8k rw=read:4k; 16k rw=read:12k; 32k rw=read:28k; 64k rw=read:60k; 128k rw=read:124k; \
               256k rw=read:252k; 512k rw=read:508k; 1m rw=read:1020k; 2m rw=read:2044k; 4m rw=read:4092k",
    },
];

const WRITES: [JobFile; 7] = [
    JobFile {
        name: "1-fill",
        purpose: "a sequential fill, whose rate falls where an SLC cache is full; the other jobs want a drive that is \
                  written",
        unused: Some(
            "its one rate is the mean over the phases of an SLC cache; the log of the rate (write_bw_log) has them",
        ),
        shared: "rw=write bs=1m iodepth=32 write_bw_log=fill log_avg_msec=500",
        jobs: "fill",
    },
    JobFile {
        name: "2-recovery-by-pause",
        purpose: "how much of an SLC cache is free again after a pause between stretches of writes",
        unused: Some("pauses (thinktime) are not simulated as a cell"),
        shared: "rw=write bs=1m iodepth=32 thinktime_blocks=4096 write_bw_log=pause log_avg_msec=100",
        jobs: "1s thinktime=1s; 10s thinktime=10s",
    },
    JobFile {
        name: "3-writes",
        purpose: "the times of programs, and the cost of collection",
        unused: None,
        shared: "rw=randwrite",
        jobs: "4k-1 bs=4k iodepth=1; 4k-4 bs=4k iodepth=4; 4k-16 bs=4k iodepth=16; 4k-64 bs=4k iodepth=64; \
               16k-16 bs=16k iodepth=16; 64k-16 bs=64k iodepth=16",
    },
    JobFile {
        name: "4-reads-among-writes",
        purpose: "what reads wait for: programs, erases, collection",
        unused: None,
        shared: "rw=randrw bs=4k",
        jobs: "95-4 rwmixread=95 iodepth=4; 95-16 rwmixread=95 iodepth=16; 70-1 rwmixread=70 iodepth=1; \
               70-4 rwmixread=70 iodepth=4; 70-16 rwmixread=70 iodepth=16; 70-64 rwmixread=70 iodepth=64",
    },
    JobFile {
        name: "5-reads-beside-a-writer",
        purpose: "what reads wait for beside a stream of writes at a steady rate",
        unused: Some("jobs that run side by side are not simulated as a cell"),
        shared: "",
        jobs: "writer rw=write bs=128k iodepth=4 rate=100m; reader rw=randread bs=4k iodepth=1",
    },
    JobFile {
        name: "6-buffer-by-burst",
        purpose: "the write buffer: bursts that it holds end at once, longer ones at the rate of the flash",
        unused: Some("pauses (thinktime) are not simulated as a cell"),
        shared: "rw=randwrite bs=4k iodepth=16 thinktime=200ms",
        jobs: "64 thinktime_blocks=64; 1024 thinktime_blocks=1024; 16384 thinktime_blocks=16384",
    },
    JobFile {
        name: "7-flushes",
        purpose: "the cost of a flush after each write, and after sixteen",
        unused: Some("flushes (fsync) are not simulated as a cell"),
        shared: "rw=randwrite bs=4k iodepth=1",
        jobs: "every fsync=1; sixteenth fsync=16",
    },
];

/// Files that run one job beside the other.
const SIDE_BY_SIDE: &str = "5-reads-beside-a-writer";

/// The job files and the page beside them, each with its path in a folder; the page comes first.
pub fn job_files(time: JobTime) -> Vec<(String, String)> {
    let of_folder = |(index, (folder, files)): (usize, (&'static str, &'static [JobFile]))| {
        files.iter().map(move |file| (format!("{folder}/{}.fio", file.name), text(index, file, time)))
    };
    let files = FOLDERS.into_iter().enumerate().flat_map(of_folder);
    std::iter::once((PAGE.to_owned(), page(time))).chain(files).collect()
}

/// Seconds of each turn of a folder; the fill has as long as all others together.
fn seconds(folder: usize, file: &JobFile, time: JobTime) -> u64 {
    let turns = |file: &JobFile| if file.name == SIDE_BY_SIDE { 1 } else { file.jobs().count() as u64 };
    let others = FOLDERS[folder].1.iter().filter(|other| other.name != "1-fill").map(turns);
    match (file.name, folder) {
        ("1-fill", _) => time.seconds() / 2,
        (_, 0) => time.seconds() / others.sum::<u64>(),
        _ => time.seconds() / 2 / others.sum::<u64>(),
    }
}

fn text(folder: usize, file: &JobFile, time: JobTime) -> String {
    let mut text = format!("# {}: {}.\n", file.name, file.purpose);
    if folder == 1 {
        text.push_str("# It OVERWRITES the drive that the command line of fio names.\n");
    }
    text.push_str("[global]\nioengine=libaio\ndirect=1\nsize=100%\nnorandommap=1\ngroup_reporting=1\n");
    let _ = writeln!(text, "time_based=1\nruntime={}", seconds(folder, file, time));
    if file.name != SIDE_BY_SIDE {
        text.push_str("stonewall=1\n");
    }
    file.shared.split_whitespace().for_each(|option| _ = writeln!(text, "{option}"));
    for (name, options) in file.jobs() {
        let _ = writeln!(text, "\n[{name}]");
        options.split_whitespace().for_each(|option| _ = writeln!(text, "{option}"));
    }
    text
}

fn page(time: JobTime) -> String {
    let mut text = format!(
        "# Measurements of a drive\n\n\
         Job files of fio 3, made by flashloom {} for {} each of reads and of writes. What fio writes of them tells \
         the parameters of a drive apart: `flashloom fit` takes it.\n\n\
         No file names a drive. fio takes it from its command line; without `--filename` it refuses every job. Look \
         twice which one you name: the jobs in `destructive` overwrite it from its first sector on. Those in \
         `read-only` write nothing, and with `--readonly` fio would refuse to.\n",
        env!("CARGO_PKG_VERSION"),
        time.name(),
    );
    let run = |folder: &str, options: &str| {
        format!(
            "```\ncd {folder}\nfor job in *.fio; do\n  fio {options}--filename=/dev/YOUR-DRIVE --output-format=json \
             --output=\"${{job%.fio}}.json\" \"$job\"\ndone\n```\n"
        )
    };
    for ((folder, files), options, heading, state) in [
        (
            FOLDERS[0],
            "--readonly ",
            "Reads",
            "A read of what was never written, or trimmed, does not reach the flash: the drive should be written once \
             from end to end, as `destructive/1-fill.fio` does in time. It should be idle, and its file systems \
             unmounted.",
        ),
        (
            FOLDERS[1],
            "",
            "Writes, which destroy what is on the drive",
            "They run in the order of their numbers, and what each finds is the state that those before have left. A \
             drive that has been written at random for hours is slower than after these.",
        ),
    ] {
        let _ = write!(text, "\n## {heading}\n\n{state}\n\n{}\n", run(folder, options));
        text.push_str("| file | jobs | tells | used by `flashloom fit` |\n|---|--:|---|---|\n");
        for file in files {
            let used = file.unused.map_or("yes".to_owned(), |reason| format!("not yet: {reason}"));
            let _ = writeln!(text, "| `{}.fio` | {} | {} | {used} |", file.name, file.jobs().count(), file.purpose);
        }
    }
    let json = |index: usize| {
        let (folder, files) = FOLDERS[index];
        let used = files.iter().filter(|file| file.unused.is_none());
        used.map(|file| format!("{folder}/{}.json", file.name)).collect::<Vec<_>>().join(" ")
    };
    let _ = write!(
        text,
        "\n## The fit\n\n\
         The start is the preset that is likest to the drive, with the state in which it was; `flashloom list devices` \
         has them. Reads by themselves say nothing of writes, and take less time to fit:\n\n\
         ```\nflashloom fit {} --start nvme-tlc-512g -o mydrive.toml\n\
         flashloom fit {} {} --start start.toml -o mydrive.toml\n```\n\n\
         A file that a fit cannot use is refused with the option that is not simulated. To run a job file on a \
         simulated drive (`workload.kind = \"fio\"`), write `filename=/dev/nvme0n1` below its `[global]`.\n",
        json(0),
        json(0),
        json(1),
    );
    text
}
