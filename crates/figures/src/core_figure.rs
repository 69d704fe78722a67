//! Core figures: those that every result can have, whatever its policies are, of any layer or the workload, with what
//! tables, axes and fronts say of them. Figures that policies count are described by the policies themselves
//! ([`flashloom_units::Statistic`]).

use flashloom_units::Best;
use serde_json::Value;

use crate::number::Format::{self, Count, Energy, Factor, Rate, Share, Time};
use crate::result::field;
use Best::{Highest, Lowest, Neither};
use Place::{Bounds, Buffer, Drive, Host};

/// A number of a result that tables show.
#[derive(Clone, Copy, Debug)]
pub struct CoreFigure {
    /// Its path in a result, which is its column in a data set.
    pub path: &'static str,
    /// Heading of its column.
    pub label: &'static str,
    /// How it is written.
    pub format: Format,
    /// Direction in which it is better.
    pub best: Best,
    /// Its place among the columns of a comparison; none if that has it only by its path.
    pub place: Option<Place>,
    /// Its name on an axis and in a sentence of a page; empty if pages do not have it.
    pub title: &'static str,
}

/// Places of columns in a comparison, around those of policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Before the figures of the scheduler.
    Host,
    /// Before the figures of all other policies, if a key of the write buffer varies.
    Buffer,
    /// Behind the figures of policies.
    Drive,
    /// Last, if bounds are worked out.
    Bounds,
}

impl CoreFigure {
    const fn new(path: &'static str, label: &'static str, format: Format, best: Best) -> Self {
        Self { path, label, format, best, place: None, title: "" }
    }

    /// Comparisons have it as a column.
    const fn at(self, place: Place) -> Self {
        Self { place: Some(place), ..self }
    }

    /// Pages have it, under this name.
    const fn titled(self, title: &'static str) -> Self {
        Self { title, ..self }
    }

    /// Its value in a result as JSON.
    pub fn value(&self, result: &Value) -> Option<f64> {
        field(result, self.path)?.as_f64()
    }
}

/// All of them, in the order of columns.
pub const CORE_FIGURES: [CoreFigure; 20] = [
    CoreFigure::new("filebench.operations_per_second", "operations/s", Factor, Highest).at(Host),
    CoreFigure::new("host.iops", "requests/s", Factor, Highest).at(Host).titled("requests a second"),
    CoreFigure::new("host.throughput_bytes_per_s", "throughput", Rate, Highest).at(Host).titled("throughput"),
    CoreFigure::new("host.latency_ns.read.p50", "read p50", Time, Lowest).at(Host).titled("p50 of reads"),
    CoreFigure::new("host.latency_ns.read.p99", "read p99", Time, Lowest).at(Host).titled("p99 of reads"),
    CoreFigure::new("host.latency_ns.write.p50", "write p50", Time, Lowest).at(Host).titled("p50 of writes"),
    CoreFigure::new("host.latency_ns.write.p99", "write p99", Time, Lowest).at(Host).titled("p99 of writes"),
    CoreFigure::new("host.latency_ns.all.p99_9", "all p99.9", Time, Lowest).titled("p99.9 of all requests"),
    CoreFigure::new("buffer.hit_ratio", "buffer hits", Share, Highest).at(Buffer),
    CoreFigure::new("ftl.waf_bytes", "WAF in bytes", Factor, Lowest).at(Drive).titled("write amplification in bytes"),
    CoreFigure::new("ftl.waf", "WAF of pages", Factor, Lowest).at(Drive).titled("write amplification of pages"),
    CoreFigure::new("ftl.block_erases", "erases", Count, Lowest).at(Drive),
    CoreFigure::new("nand.erases.total", "erases", Count, Lowest).titled("blocks erased"),
    CoreFigure::new("nand.energy.joules_per_gb", "energy/GB", Energy, Lowest).at(Drive),
    CoreFigure::new("end_of_life.host_page_writes", "life in pages", Count, Highest).at(Drive),
    CoreFigure::new("bounds.buffer.misses_over_fewest", "misses/OPT", Factor, Lowest).at(Bounds),
    CoreFigure::new("bounds.ftl.erases_over_fewest", "erases/fewest", Factor, Lowest).at(Bounds),
    CoreFigure::new("bounds.ftl.clairvoyant_waf", "clairvoyant WAF", Factor, Neither).at(Bounds),
    CoreFigure::new("bounds.scheduler.duration_over_shortest", "duration/best", Factor, Lowest).at(Bounds),
    CoreFigure::new("bounds.scheduler.mean_latency_over_least", "latency/best", Factor, Lowest).at(Bounds),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::fields;

    #[test]
    fn every_core_figure_is_a_number_of_a_result() {
        let fields = fields();
        for CoreFigure { path, .. } in CORE_FIGURES {
            assert!(fields.iter().any(|field| field.path == path && field.is_number), "{path}");
        }
    }
}
