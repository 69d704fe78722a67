//! The JSON that fio writes of its runs (`--output-format=json`, fio 3): what each job did, how, and how long it took.
//!
//! Read are the options of a job, global ones included, the rate, the mean time of a submission (`slat_ns`) and the
//! completion latencies (`clat_ns`) of its reads and writes, and their percentiles; everything else is left. An option
//! that changes the load in a way that is not simulated is refused by its name. So are latencies that contradict one
//! another or the rate: by Little's law rate times mean latency is the number of requests outstanding, which is at most
//! `iodepth` times `numjobs`; and the mean is at least what the percentiles say.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Range, RangeInclusive};

use flashloom_units::{KIB, Lines, Ns, Problem, Refusal, SECTOR_BYTES, choice};
use serde::de::{self, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use flashloom_figures::number::{factor, time};
use flashloom_figures::result::{Unread, parse};

/// Members of a table of options or percentiles at most: fio has fewer of both.
const MOST_MEMBERS: usize = 1_024;
/// Requests outstanding beyond `iodepth` times `numjobs` that are a matter of rounding.
const ROUNDING: f64 = 1.05;
/// Share of a mean that the percentiles may exceed it by: fio's buckets are 1/64 wide.
const BUCKETS: f64 = 1.0 / 32.0;
/// Least rate: a request in a quarter of an hour.
const LEAST_IOPS: f64 = 0.001;
/// Longest mean of a submission, not included.
const MOST_SUBMISSION_NS: f64 = 1e9;
/// Longest queue that a closed load keeps.
const MOST_OUTSTANDING: u64 = 1 << 16;

/// Options that only say how, where and how long fio itself works, or that others read here already.
const WITHOUT_EFFECT: &str = "\
    name filename directory description ioengine direct rw readwrite bs blocksize iodepth numjobs rwmixread \
    rwmixwrite group_reporting size filesize io_size runtime time_based ramp_time startdelay loops number_ios \
    norandommap randrepeat allrandrepeat randseed random_generator softrandommap registerfiles fixedbufs \
    ioscheduler allow_file_create fallocate invalidate cpus_allowed cpus_allowed_policy thread stonewall \
    refill_buffers percentile_list lat_percentiles clat_percentiles gtod_reduce";
/// More of these: of logs, buffers and engines.
const OF_FIO_ITSELF: &str = "\
    exitall create_on_open create_serialize create_fsync file_service_type nrfiles openfiles \
    buffer_compress_percentage zero_buffers scramble_buffers disable_lat disable_slat disable_bw write_bw_log \
    write_lat_log write_iops_log log_avg_msec per_job_logs hipri sqthread_poll nonvectored numa_cpu_nodes mem \
    iomem_align";
/// Engines that wait for each request before the next, whatever `iodepth` says.
const ONE_AT_A_TIME: [&str; 6] = ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"];

choice! {
    /// Order in which the requests of a job go through its space.
    pub enum JobOrder {
        /// One after the other.
        Sequential = "sequential",
        /// At random.
        Random = "random",
    }
}

/// What a job did, and what was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredJob {
    /// Name of the job.
    pub name: String,
    /// JobOrder of its requests.
    pub order: JobOrder,
    /// Share of reads among them.
    pub read_share: f64,
    /// Size of each.
    pub block_bytes: u64,
    /// Requests outstanding at once, of all its processes.
    pub outstanding: u32,
    /// Processes.
    pub processes: u32,
    /// Reads, if there were any.
    pub read: Option<MeasuredDirection>,
    /// Writes, if there were any.
    pub write: Option<MeasuredDirection>,
    /// Space that the job was given, if it was not the whole device.
    pub size: Option<String>,
    /// The file or device that it ran on, or the folder of its files, if the output says so.
    pub filename: Option<String>,
}

/// Measured latencies and rate of a direction.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredDirection {
    /// Requests.
    pub requests: u64,
    /// Requests in a second.
    pub iops: f64,
    /// Mean completion latency, in nanoseconds.
    pub mean_ns: f64,
    /// Mean time of a submission (`slat_ns`), which the completion latency begins after; 0 if it was not measured.
    pub submission_ns: f64,
    /// Percentiles of the completion latency, in ascending order.
    pub percentiles: Vec<(f64, Ns)>,
}

impl MeasuredJob {
    /// Requests outstanding on average, by Little's law.
    pub fn outstanding_on_average(&self) -> f64 {
        self.directions().map(|of| of.iops * of.mean_ns / 1e9).sum()
    }

    /// Requests that were being submitted on average.
    pub fn submitting_on_average(&self) -> f64 {
        self.directions().map(|of| of.iops * of.submission_ns / 1e9).sum()
    }

    /// Mean time that a process takes to submit a request.
    pub fn submission_ns(&self) -> f64 {
        self.submitting_on_average() * 1e9 / self.directions().map(|of| of.iops).sum::<f64>()
    }

    fn directions(&self) -> impl Iterator<Item = &MeasuredDirection> {
        self.read.iter().chain(&self.write)
    }
}

/// True if a text begins like JSON, or has the JSON of fio behind lines of text.
pub fn is_json(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().first() == Some(&b'{') || output_in(bytes).is_some()
}

/// Where a line begins an output of fio.
fn output_in(text: &[u8]) -> Option<usize> {
    let begins = |at: &usize| {
        let inside = text[*at..].strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
        inside.is_some_and(|inside| inside.starts_with(b"\"fio version\""))
    };
    let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(ends).find(begins)
}

/// The JSON among the text that fio prints around it: notes and the output in words come before and after, on lines of
/// their own. What is before is blank, so that lines keep their numbers.
///
/// # Errors
/// Several outputs, as `--status-interval` prints them.
fn json_part(text: &str) -> Result<Cow<'_, str>, Refusal> {
    let begins = text.trim_ascii_start().starts_with('{');
    let start = if begins { 0 } else { output_in(text.as_bytes()).unwrap_or(0) };
    let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<IgnoredAny>();
    let end = match values.next() {
        Some(Ok(_)) => start + values.byte_offset(),
        // The reader says what is wrong.
        _ => text.len(),
    };
    if output_in(&text.as_bytes()[end..]).is_some() {
        let refusal = Refusal::new("several outputs of fio, one after another", "the last of them alone");
        return Err(refusal.help("`--status-interval` prints one for each interval: run fio without it"));
    }
    if start == 0 {
        return Ok(Cow::Borrowed(&text[..end]));
    }
    let blank = text[..start].chars().map(|char| if char == '\n' { '\n' } else { ' ' });
    Ok(Cow::Owned(blank.chain(text[start..end].chars()).collect()))
}

/// Reads the output of fio; `name` is that of the file in errors.
///
/// # Errors
/// No JSON of fio 3, a load that cannot be simulated, or latencies that no device can have had.
pub fn read(name: &str, text: &str) -> Result<Vec<MeasuredJob>, Problem> {
    let refuse = |refusal: Refusal| refusal.in_file(name);
    let json = json_part(text).map_err(refuse)?;
    let output: Output = parse(json.as_bytes()).map_err(|unread| unreadable(name, text, unread))?;
    if !output.version.starts_with("fio-3") {
        let refusal = Refusal::new(format!("the output of `{}`", output.version), "that of fio 3");
        return Err(refuse(refusal.help("latencies have had nanoseconds (clat_ns) since then")));
    }
    if output.jobs.is_empty() {
        return Err(refuse(Refusal::new("no job", "the results of at least one")));
    }
    let measured = |(number, job): (usize, &Job)| {
        let options = Options([&output.global.0[..], &job.options.0].concat());
        measured(job, &options, number).map_err(|refusal| {
            let found = format!("job {} ({:?}): {}", number + 1, job.name, refusal.found);
            refuse(Refusal { found, ..refusal })
        })
    };
    output.jobs.iter().enumerate().map(measured).collect()
}

fn unreadable(name: &str, text: &str, Unread { found, place, is_syntax }: Unread) -> Problem {
    let what = if is_syntax { format!("this is not JSON: {found}") } else { found };
    let refusal = Refusal::new(what, "the JSON of fio: --output-format=json");
    let Some((line, column)) = place else { return refusal.in_file(name) };
    let lines = Lines::of(text);
    let Some(start) = lines.start(line - 1) else { return refusal.in_file(name) };
    let at = (start + column.saturating_sub(1)).min(text.len().saturating_sub(1));
    Problem::in_lines(name, text, &lines, Range { start: at, end: at + 1 }, refusal)
}

/// What a job did and measured.
fn measured(job: &Job, options: &Options, number: usize) -> Result<MeasuredJob, Refusal> {
    if job.error != 0 {
        return Err(Refusal::new(format!("it ended with error {}", job.error), "a job that ran to its end"));
    }
    for (option, value) in &options.0 {
        let is_default = option == "random_distribution" && value == "random";
        let known = || WITHOUT_EFFECT.split(' ');
        if !is_default && !known().chain(OF_FIO_ITSELF.split(' ')).any(|known| known == option) {
            let refusal = Refusal::new(format!("the option `{option}` = {value:?}"), "options that are simulated");
            return Err(refusal.suggesting(option, known()).help(
                "it may change the load: of these, only the pattern, block size, depth and number of jobs are taken \
                 over",
            ));
        }
    }
    if !options.is_set("direct") {
        return Err(Refusal::new("no `direct` = 1: its latencies are those of the page cache", "direct I/O"));
    }
    let processes = options.count("numjobs", 1)?;
    if processes > 1 && !options.is_set("group_reporting") {
        let refusal = Refusal::new(format!("`numjobs` = {processes} without `group_reporting`"), "one result of all");
        return Err(refusal.help("its processes ran side by side, and each result is that of one of them"));
    }
    if number > 0 && !options.is_set("stonewall") {
        let found = "it ran beside the job before it (no `stonewall`)";
        return Err(Refusal::new(found, "jobs that ran one after another, or a file for each"));
    }
    let filename = options.get(&["filename"]);
    if let Some(names) = filename.filter(|names| names.replace("\\:", "").contains(':')) {
        let refusal = Refusal::new(format!("`filename` = {names:?}, several files"), "the measurement of one drive");
        return Err(refusal.help("fio takes `:` between the names of files, and spreads the requests over them"));
    }
    let (order, read_share) = pattern(options)?;
    let depth = match options.get(&["ioengine"]) {
        None => 1,
        Some(engine) if ONE_AT_A_TIME.contains(&engine) => 1,
        Some(_) => options.count("iodepth", 1)?,
    };
    let outstanding = depth.saturating_mul(processes);
    if outstanding > MOST_OUTSTANDING {
        let found = format!("`iodepth` times `numjobs` is {outstanding}");
        return Err(Refusal::new(found, format!("at most {MOST_OUTSTANDING}")));
    }
    let size = options.get(&["size"]).filter(|size| *size != "100%" && *size != "0").map(str::to_owned);
    let measured = MeasuredJob {
        name: job.name.clone(),
        order,
        read_share,
        block_bytes: block_bytes(options)?,
        outstanding: outstanding as u32,
        processes: processes as u32,
        read: direction("read", job.read.as_ref())?,
        write: direction("write", job.write.as_ref())?,
        size,
        filename: filename.or(options.get(&["directory"])).map(str::to_owned),
    };
    for (name, direction, has) in
        [("read", &measured.read, read_share > 0.0), ("write", &measured.write, read_share < 1.0)]
    {
        if direction.is_some() != has {
            let found = format!("{} {name}s", if has { "no" } else { "there are" });
            return Err(Refusal::new(found, format!("those of a load of which {read_share} are reads")));
        }
    }
    let average = measured.outstanding_on_average();
    if average > ROUNDING * outstanding as f64 {
        let found = format!(
            "rate times mean latency is {} requests outstanding (Little's law), and `iodepth` times `numjobs` is \
             {outstanding}: the latencies are not those of these requests",
            factor(average)
        );
        return Err(Refusal::new(found, "a mean latency that the rate allows"));
    }
    Ok(measured)
}

fn pattern(options: &Options) -> Result<(JobOrder, f64), Refusal> {
    let rw = options.get(&["rw", "readwrite"]).unwrap_or("read");
    let mixed = || -> Result<f64, Refusal> {
        let percent = match options.get(&["rwmixwrite"]) {
            Some(_) => 100 - options.percent("rwmixwrite", 50)?,
            None => options.percent("rwmixread", 50)?,
        };
        Ok(percent as f64 / 100.0)
    };
    Ok(match rw {
        "read" => (JobOrder::Sequential, 1.0),
        "write" => (JobOrder::Sequential, 0.0),
        "rw" | "readwrite" => (JobOrder::Sequential, mixed()?),
        "randread" => (JobOrder::Random, 1.0),
        "randwrite" => (JobOrder::Random, 0.0),
        "randrw" => (JobOrder::Random, mixed()?),
        _ => {
            let expected = "one of read, write, rw, randread, randwrite, randrw";
            return Err(Refusal::new(format!("`rw` = {rw:?}"), expected));
        }
    })
}

/// The block size: a number with a unit of powers of 1,024.
fn block_bytes(options: &Options) -> Result<u64, Refusal> {
    let text = options.get(&["bs", "blocksize"]).unwrap_or("4k");
    let lower = text.to_ascii_lowercase();
    let end = lower.bytes().take_while(u8::is_ascii_digit).count();
    let unit = match &lower[end..] {
        "" | "b" => Some(1),
        "k" | "kb" | "kib" => Some(KIB),
        "m" | "mb" | "mib" => Some(KIB * KIB),
        _ => None,
    };
    let bytes = unit.and_then(|unit| lower[..end].parse::<u64>().ok()?.checked_mul(unit));
    let sound = bytes.filter(|bytes| *bytes > 0 && bytes.is_multiple_of(SECTOR_BYTES) && *bytes <= 1 << 30);
    sound.ok_or_else(|| {
        let expected = "one size for reads and writes, a multiple of 512 bytes up to 1 GiB, such as 4k";
        Refusal::new(format!("`bs` = {text:?}"), expected)
    })
}

/// Checks what was measured of a direction; `None` if there were no requests.
fn direction(name: &str, of: Option<&Direction>) -> Result<Option<MeasuredDirection>, Refusal> {
    let Some(of) = of.filter(|of| of.requests > 0) else { return Ok(None) };
    let Some(clat) = &of.clat else {
        return Err(Refusal::new(format!("no `clat_ns` of its {name}s"), "completion latencies in nanoseconds"));
    };
    let Some(Percentiles(percentiles)) = clat.percentiles.as_ref().filter(|of| !of.0.is_empty()) else {
        let refusal = Refusal::new(format!("no percentiles of its {name}s"), "percentiles of completion latencies");
        return Err(refusal.help("fio writes them unless `clat_percentiles` or `gtod_reduce` says otherwise"));
    };
    let is_sound = of.iops >= LEAST_IOPS && clat.mean >= 1.0;
    if !is_sound {
        let found = format!("{name}s at a rate of {} a second, of {} ns each", of.iops, clat.mean);
        return Err(Refusal::new(found, "a rate of at least 0.001 and a mean latency of at least 1 ns"));
    }
    if let Some(pair) = percentiles.windows(2).find(|pair| pair[0].0 >= pair[1].0 || pair[0].1 > pair[1].1) {
        let found = format!("{name}s: p{} is {} ns, then p{} is {} ns", pair[0].0, pair[0].1, pair[1].0, pair[1].1);
        return Err(Refusal::new(found, "percentiles in ascending order"));
    }
    // A share of the requests takes at least as long as the percentile below it.
    let ends = percentiles.iter().skip(1).map(|(percent, _)| *percent).chain([100.0]);
    let least_ns: f64 = percentiles.iter().zip(ends).map(|((from, ns), to)| (to - from) / 100.0 * *ns as f64).sum();
    if least_ns > clat.mean * (1.0 + BUCKETS) {
        let found = format!(
            "{name}s: the mean is {}, and by the percentiles (p{} {}) it is at least {}: a broken latency column",
            time(clat.mean),
            percentiles[0].0,
            time(percentiles[0].1 as f64),
            time(least_ns)
        );
        return Err(Refusal::new(found, "percentiles that fit the mean"));
    }
    let submission_ns = of.slat.as_ref().map_or(0.0, |slat| slat.mean);
    if !(0.0..MOST_SUBMISSION_NS).contains(&submission_ns) {
        let found = format!("{name}s of which a submission takes {submission_ns} ns (`slat_ns`)");
        return Err(Refusal::new(found, "a mean from 0 to below 1 s"));
    }
    let percentiles = percentiles.clone();
    Ok(Some(MeasuredDirection { requests: of.requests, iops: of.iops, mean_ns: clat.mean, submission_ns, percentiles }))
}

#[derive(Deserialize)]
struct Output {
    #[serde(rename = "fio version")]
    version: String,
    #[serde(rename = "global options", default)]
    global: Options,
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    #[serde(rename = "jobname")]
    name: String,
    #[serde(default)]
    error: i64,
    #[serde(rename = "job options", default)]
    options: Options,
    read: Option<Direction>,
    write: Option<Direction>,
}

#[derive(Deserialize)]
struct Direction {
    #[serde(rename = "total_ios")]
    requests: u64,
    iops: f64,
    #[serde(rename = "slat_ns")]
    slat: Option<Slat>,
    #[serde(rename = "clat_ns")]
    clat: Option<Clat>,
}

#[derive(Deserialize)]
struct Slat {
    mean: f64,
}

#[derive(Deserialize)]
struct Clat {
    mean: f64,
    #[serde(rename = "percentile")]
    percentiles: Option<Percentiles>,
}

/// Options with their values as fio writes them; of two alike, global and of a job, the later counts.
#[derive(Clone, Default)]
struct Options(Vec<(String, String)>);

impl Options {
    fn get(&self, names: &[&str]) -> Option<&str> {
        let found = self.0.iter().rev().find(|(name, _)| names.contains(&&name[..]));
        found.map(|(_, value)| &value[..])
    }

    fn is_set(&self, name: &str) -> bool {
        self.get(&[name]).is_some_and(|value| value != "0")
    }

    fn percent(&self, name: &str, default: u64) -> Result<u64, Refusal> {
        self.number(name, default, 0..=100, "a whole number from 0 to 100")
    }

    fn count(&self, name: &str, default: u64) -> Result<u64, Refusal> {
        self.number(name, default, 1..=u32::MAX.into(), "a whole number from 1")
    }

    fn number(&self, name: &str, default: u64, of: RangeInclusive<u64>, expected: &str) -> Result<u64, Refusal> {
        let Some(value) = self.get(&[name]) else { return Ok(default) };
        let number = value.parse().ok().filter(|number| of.contains(number));
        number.ok_or_else(|| Refusal::new(format!("`{name}` = {value:?}"), expected))
    }
}

impl<'de> Deserialize<'de> for Options {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members(PhantomData)).map(Self)
    }
}

/// Percentiles by their names, such as `"99.900000"`.
#[derive(Clone)]
struct Percentiles(Vec<(f64, Ns)>);

impl<'de> Deserialize<'de> for Percentiles {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let members: Vec<(String, Ns)> = deserializer.deserialize_map(Members(PhantomData))?;
        let percentile = |(name, ns): (String, Ns)| {
            let percent = name.parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
            percent.map(|percent| (percent, ns)).ok_or_else(|| de::Error::custom(format!("the percentile {name:?}")))
        };
        members.into_iter().map(percentile).collect::<Result<_, _>>().map(Self)
    }
}

/// Members of a table, each of whose names is there once.
struct Members<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
    type Value = Vec<(String, T)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members: Vec<(String, T)> = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if members.iter().any(|(known, _)| *known == name) {
                return Err(de::Error::custom(format!("{name:?} is there twice")));
            }
            if members.len() >= MOST_MEMBERS {
                return Err(de::Error::custom(format!("a table of more than {MOST_MEMBERS} members")));
            }
            members.push((name, map.next_value()?));
        }
        Ok(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output of a job of random reads, with these options beside its own, and this direction.
    fn output(options: &str, read: &str) -> String {
        format!(
            r#"{{"fio version": "fio-3.35", "global options": {{"direct": "1", "ioengine": "libaio"{options}}},
            "jobs": [{{"jobname": "a", "job options": {{"rw": "randread", "bs": "4k", "iodepth": "4"}},
            "read": {read}, "write": {{"total_ios": 0, "iops": 0.0}}, "unknown": [1, {{}}]}}]}}"#
        )
    }

    fn direction_of(mean: f64, percentiles: &str) -> String {
        format!(
            r#"{{"total_ios": 9000, "iops": 40000.0, "clat_ns": {{"mean": {mean}, "percentile": {{{percentiles}}}}}}}"#
        )
    }

    const SOUND: &str = r#""1.000000": 50000, "50.000000": 90000, "99.900000": 300000"#;

    fn refused(text: &str) -> String {
        read("fio.json", text).expect_err("it is refused").to_string()
    }

    #[test]
    fn a_job_is_what_its_options_and_the_global_ones_say() {
        let text =
            output(r#", "numjobs": "2", "group_reporting": "1", "iodepth": "64""#, &direction_of(98_000.0, SOUND));
        let jobs = read("fio.json", &text).unwrap();
        let [job] = &jobs[..] else { panic!("one job") };
        assert_eq!((job.order, job.read_share, job.block_bytes), (JobOrder::Random, 1.0, 4_096));
        assert_eq!((job.outstanding, job.processes, job.write.as_ref()), (8, 2, None));
        let read = job.read.as_ref().unwrap();
        assert_eq!((read.requests, read.iops, read.percentiles[2]), (9_000, 40_000.0, (99.9, 300_000)));
        assert!((job.outstanding_on_average() - 3.92).abs() < 1e-9);
    }

    #[test]
    fn the_json_is_found_between_the_lines_that_fio_prints_around_it() {
        let sound = output("", &direction_of(90_000.0, SOUND)).replace("{\"fio version\"", "{\n  \"fio version\"");
        let sound = sound.strip_suffix('}').unwrap().to_owned() + "\n}\n";
        let around =
            format!("note: both iodepth >= 1 and synchronous I/O engine\nfio: {{x}}\n{sound}\na: (groupid=0)\n");
        assert!(is_json(around.as_bytes()) && !is_json(b"fio: {\"fio version\"\n"));
        assert_eq!(read("fio.json", &around).unwrap(), read("fio.json", &sound).unwrap());
        let flush_left = around.replace("}, \"", "\n}, \"");
        assert_eq!(read("fio.json", &flush_left).unwrap(), read("fio.json", &sound).unwrap());
        let wrong = refused(&around.replace("\"unknown\": [1, {}]", "\"unknown\": [1, ?]"));
        assert!(wrong.contains("fio.json:6:"), "{wrong}");
        let twice = refused(&format!("{sound}{sound}"));
        assert!(twice.contains("several outputs of fio") && twice.contains("--status-interval"), "{twice}");
    }

    #[test]
    fn a_rate_and_a_latency_that_contradict_each_other_are_refused() {
        // Of four outstanding requests 40,000 a second take 100 us each.
        read("fio.json", &output("", &direction_of(104_000.0, SOUND))).unwrap();
        let found = refused(&output("", &direction_of(106_000.0, SOUND)));
        assert!(found.contains("is 4.24 requests outstanding (Little's law)"), "{found}");
    }

    #[test]
    fn percentiles_that_contradict_the_mean_are_refused() {
        let polled = r#""1.000000": 17179869184, "50.000000": 17179869184, "99.900000": 17179869184"#;
        let found = refused(&output("", &direction_of(90_000.0, polled)));
        assert!(
            found.contains("the mean is 90.0 us, and by the percentiles (p1 17.2 s) it is at least 17.0 s"),
            "{found}"
        );
        let found = refused(&output("", &direction_of(90_000.0, r#""50.0": 90000, "1.0": 5"#)));
        assert!(found.contains("p50 is 90000 ns, then p1 is 5 ns"), "{found}");
    }

    #[test]
    fn a_load_that_is_not_simulated_is_refused_by_the_name_of_its_option() {
        let sound = direction_of(90_000.0, SOUND);
        for (option, found) in [
            (r#", "rate_iops": "500""#, "the option `rate_iops` = \"500\""),
            (r#", "bssplit": "4k/50:8k/50""#, "the option `bssplit`"),
            (r#", "random_distribution": "zipf:1.2""#, "the option `random_distribution` = \"zipf:1.2\""),
            (r#", "numjobs": "4""#, "`numjobs` = 4 without `group_reporting`"),
            (r#", "filename": "/dev/nvme0n1:/dev/nvme1n1""#, "several files"),
            (r#", "numjobs": "0""#, "`numjobs` = \"0\""),
            (r#", "numjobs": "20000", "group_reporting": "1""#, "`iodepth` times `numjobs` is 80000"),
        ] {
            let problem = refused(&output(option, &sound));
            assert!(problem.contains(found) && problem.contains("job 1 (\"a\")"), "{problem}");
        }
        read("fio.json", &output(r#", "random_distribution": "random", "runtime": "60""#, &sound)).unwrap();
        let changed = |from: &str, to: &str| refused(&output("", &sound).replace(from, to));
        assert!(changed(r#""direct": "1""#, r#""direct": "0""#).contains("no `direct` = 1"));
        assert!(changed("randread", "randtrim").contains("`rw` = \"randtrim\""));
        assert!(changed("\"4k\"", "\"4k,8k\"").contains("`bs` = \"4k,8k\""));
        assert!(changed("\"4k\"", "\"100\"").contains("`bs` = \"100\""));
        assert!(changed("randread", "randwrite").contains("there are reads"));
        assert!(changed("randread", "randrw").contains("no writes"));
        assert!(changed("fio-3.35", "fio-2.1").contains("the output of `fio-2.1`"));
        assert!(changed("\"jobname\"", "\"error\": 5, \"jobname\"").contains("it ended with error 5"));
        assert!(changed("clat_ns", "clat_us").contains("no `clat_ns` of its reads"));
        assert!(changed("40000.0", "0.0").contains("reads at a rate of 0 a second"));
        assert!(changed(SOUND, "").contains("no percentiles of its reads"));
    }

    #[test]
    fn a_share_of_reads_is_a_percentage() {
        let sound = direction_of(90_000.0, SOUND);
        let text = |percent: &str| {
            let both = format!("\"rw\": \"randrw\", \"rwmixread\": \"{percent}\"");
            output("", &sound).replace("\"rw\": \"randread\"", &both)
        };
        assert!(refused(&text("101")).contains("`rwmixread` = \"101\""));
        assert!(refused(&text("0")).contains("there are reads"), "0 is a percentage");
        assert_eq!(read("fio.json", &text("100")).unwrap()[0].read_share, 1.0);
    }

    #[test]
    fn an_engine_of_one_request_at_a_time_has_a_depth_of_one() {
        let sound = direction_of(20_000.0, r#""50.0": 20000"#);
        let text = output("", &sound).replace("libaio", "psync");
        assert_eq!(read("fio.json", &text).unwrap()[0].outstanding, 1);
    }

    #[test]
    fn jobs_that_ran_side_by_side_are_refused() {
        let text = output("", &direction_of(90_000.0, SOUND));
        let (head, job) = text.split_once("\"jobs\": [").unwrap();
        let job = job.strip_suffix("]}").unwrap();
        let two = |second: &str| format!("{head}\"jobs\": [{job}, {second}]}}");
        let problem = refused(&two(job));
        assert!(problem.contains("job 2 (\"a\"): it ran beside the job before it"), "{problem}");
        let after = job.replace("\"rw\"", "\"stonewall\": \"1\", \"rw\"");
        assert_eq!(read("fio.json", &two(&after)).unwrap().len(), 2);
    }

    #[test]
    fn a_text_that_is_not_the_json_of_fio_is_refused_at_its_place() {
        let sound = output("", &direction_of(90_000.0, SOUND));
        let problem = refused(&sound.replace("\"unknown\": [1, {}]", "\"unknown\": [1, ?]"));
        assert!(problem.contains("fio.json:3:") && problem.contains("this is not JSON"), "{problem}");
        assert!(refused(&sound.replace("40000.0", "1e999")).contains("number out of range"));
        assert!(refused(&sound.replace("\"iops\": 40000.0, ", "")).contains("missing field `iops`"));
        assert!(
            refused(&sound.replace("\"iops\": 40000.0", "\"iops\": 1.0, \"iops\": 2.0")).contains("duplicate field")
        );
        assert!(refused(&sound.replace("\"50.000000\"", "\"1.000000\"")).contains("\"1.000000\" is there twice"));
        assert!(refused(&sound.replace("\"bs\"", "\"rw\"")).contains("\"rw\" is there twice"));
        assert!(refused(&sound.replace("\"50.000000\"", "\"p50\"")).contains("the percentile \"p50\""));
        assert!(refused(r#"{"fio version": "fio-3.1", "jobs": []}"#).contains("no job"));
        assert!(refused("{}").contains("missing field `fio version`"));
    }
}
