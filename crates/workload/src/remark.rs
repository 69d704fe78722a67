//! What a workload remarks on its requests.

/// A remark on the requests of a workload, shown among the hints of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Its subject, as `flashloom explain hints` lists it.
    pub about: &'static str,
    /// The key to change.
    pub key: &'static str,
    /// One sentence or two.
    pub text: String,
}
