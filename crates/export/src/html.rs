//! A report as one HTML page: works offline, prints, needs nothing beside it.
//!
//! ```text
//! document   what is reported: the result of a run, a comparison, a validation, or the data set of a sweep
//! page       sections in order, and the frame around them
//! section    charts, tables and notes under a heading
//! markup     elements, attributes and texts as they are written, all of them escaped
//! chart      a picture's numbers for the library that draws it, and the same numbers as a table
//! long       a table that may have thousands of rows, to be sorted and searched
//! run        sections of a run        course      over time and by place
//! comparison sections of a comparison facts       configuration, origin, and what was checked
//! sweep      sections of a data set   values      a figure by the values of a key
//! validation sections of a validation
//! front      the Pareto front of a comparison or a sweep
//! figure     the figures of a run that tables list, axes show and fronts weigh
//! ```
//!
//! Pictures are drawn by Apache ECharts, which is vendored unmodified: of the small libraries it alone has heat maps,
//! stacks, logarithmic axes and drawings in SVG, which print sharply. What a picture shows stands below it as a table,
//! and what a result lacks is named where the picture would be. The page carries a policy that lets it load nothing and
//! run nothing but its own scripts: whoever made the file has no say in what the page does.

mod chart;
mod comparison;
mod course;
mod document;
mod facts;
mod figure;
mod front;
mod long;
mod markup;
mod page;
mod run;
mod section;
mod sweep;
mod validation;
mod values;

pub use document::Document;
pub use page::page;

/// The vendored library, as its package has it.
const ECHARTS: &str = include_str!("../vendor/echarts-6.1.0/echarts.min.js");
