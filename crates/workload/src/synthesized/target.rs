//! Target of a synthesised workload: published characterisations, and the configuration's changes to them.

use flashloom_units::{GIB, KIB, Kind, MIB, PolicySpec, Value, choice, params};

choice! {
    /// A characterisation from a paper.
    pub enum Characterisation {
        /// CAVE, Table 3: OLTP at a financial institution.
        Oltp = "oltp",
        /// CAVE, Table 3: five days of a laptop.
        General = "general",
        /// CAVE, Table 3: SYSmark 2007 Preview.
        Sysmark = "sysmark",
        /// KAST, section IV: a web browser, many small random requests.
        WebBrowser = "web-browser",
        /// KAST, section IV: applications of a desktop PC, sequential and random.
        PcApplications = "pc-applications",
        /// SLAP, section 4.1: the synthetic sequential workload.
        Sequential = "sequential",
        /// SLAP, section 4.1: the synthetic random workload.
        Random = "random",
    }
}

params! {
    /// The parameters of a synthesised workload, `[workload.synthesized]`.
    pub struct SynthesizedParams {
        /// Published characterisation that sets the keys which are not given.
        preset: Characterisation => "preset", Kind::Choice(Characterisation::CHOICES), Value::Name("oltp"),
            "CAVE publishes figures, KAST and SLAP little more than words; what is assumed is in `details`.";
        /// Share of the requests that do not begin where the previous one ended.
        random_share: Option<f64> => "random_share", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Absent,
            "Random writes raise the cost of merging log blocks and of garbage collection.";
        /// Mean size of a request.
        mean_bytes: Option<u64> => "mean_request_size", Kind::Size { min: KIB, max: 64 * MIB }, Value::Absent,
            "Sizes are uniform between a sector and twice the mean.";
        /// Share of the requests that are reads.
        read_share: Option<f64> => "read_share", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Absent,
            "More reads mean less wear.";
        /// Number of requests.
        requests: Option<u64> => "requests", Kind::Count { min: 100, max: 1 << 40 }, Value::Absent,
            "Fewer requests than published run sooner; the footprint has to shrink with them.";
        /// Size of the footprint: the distinct 4 KiB pages that are touched.
        footprint_bytes: Option<u64> => "footprint", Kind::Size { min: 64 * KIB, max: 1 << 44 }, Value::Absent,
            "A smaller footprint is overwritten more often.";
        /// Distance from the start of the device to the end of the last sector that is touched.
        span_bytes: Option<u64> => "span", Kind::Size { min: 64 * KIB, max: 1 << 44 }, Value::Absent,
            "The footprint lies in zones that are spread over the span.";
    }
}

/// Entry of the table of workloads.
pub(crate) static SPEC: PolicySpec = PolicySpec {
    name: "synthesized",
    summary: "requests that fit a published characterisation: random share, mean size, footprint, span",
    details: "Reads and jumps are drawn without replacement, so that their shares are met exactly; sizes come in pairs \
              whose sum is twice the mean; jumps go to untouched addresses as fast as the footprint has to grow, \
              and else to addresses that were touched. CAVE gives storage, random share, mean size and number of \
              writes: storage is taken as the span, a quarter of it as the footprint, and there are no reads. KAST and \
              SLAP give no figures: shares, sizes and footprints of their presets are assumed from their words.",
    source: "CAVE, Table 3; KAST, section IV; SLAP, section 4.1",
    example: "workload.kind=synthesized workload.synthesized.preset=web-browser",
    instead: "It stands in for recordings that were never published: where there is a recording, use `trace`. To set \
              each property by itself, use `synthetic`.",
    params: SynthesizedParams::PARAMS,
    ..PolicySpec::BLANK
};

/// Characterisation of a stream, as asked for or as measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Character {
    /// Share of the requests after the first that do not begin where the previous one ended.
    pub random_share: f64,
    /// Mean bytes of a request.
    pub mean_bytes: f64,
    /// Share of the requests that are reads.
    pub read_share: f64,
    /// Number of requests.
    pub requests: u64,
    /// Bytes of the distinct 4 KiB pages that are touched.
    pub footprint_bytes: u64,
    /// Bytes from the start of the device to the end of the last sector that is touched.
    pub span_bytes: u64,
}

impl Characterisation {
    const fn character(self) -> Character {
        const fn cave(random_share: f64, mean_bytes: f64, requests: u64, storage_bytes: u64) -> Character {
            let (span_bytes, footprint_bytes) = (storage_bytes, storage_bytes / 4);
            Character { random_share, mean_bytes, read_share: 0.0, requests, footprint_bytes, span_bytes }
        }
        const fn assumed(random_share: f64, mean_bytes: u64, read_share: f64, footprint_bytes: u64) -> Character {
            let (mean_bytes, span_bytes) = (mean_bytes as f64, 4 * footprint_bytes);
            Character { random_share, mean_bytes, read_share, requests: 400_000, footprint_bytes, span_bytes }
        }
        match self {
            Self::Oltp => cave(0.987, 5.3 * 1024.0, 11_639_536, 25 * GIB / 2),
            Self::General => cave(0.69, 24.9 * 1024.0, 7_933_879, 32 * GIB),
            Self::Sysmark => cave(0.47, 47.1 * 1024.0, 2_131_747, 32 * GIB),
            Self::WebBrowser => assumed(0.9, 4 * KIB, 0.5, 256 * MIB),
            Self::PcApplications => assumed(0.6, 16 * KIB, 0.5, GIB),
            Self::Sequential => assumed(0.05, 32 * KIB, 0.0, GIB),
            Self::Random => assumed(0.95, 8 * KIB, 0.0, GIB),
        }
    }
}

impl SynthesizedParams {
    /// Characterisation that the stream has to meet.
    pub fn target(&self) -> Character {
        let preset = self.preset.character();
        Character {
            random_share: self.random_share.unwrap_or(preset.random_share),
            mean_bytes: self.mean_bytes.map_or(preset.mean_bytes, |bytes| bytes as f64),
            read_share: self.read_share.unwrap_or(preset.read_share),
            requests: self.requests.unwrap_or(preset.requests),
            footprint_bytes: self.footprint_bytes.unwrap_or(preset.footprint_bytes),
            span_bytes: self.span_bytes.unwrap_or(preset.span_bytes),
        }
    }
}
