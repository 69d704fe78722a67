//! A stream of requests.

use flashloom_units::Problem;

use crate::Request;

/// Gives requests in order of arrival, the first at time zero.
pub trait Source {
    /// The next request, nothing at the end, or what is wrong with the input there. After an error the stream is over.
    fn next_request(&mut self) -> Result<Option<Request>, Problem>;

    /// A problem with the address of the request that came last. A source that reads a file points at the place.
    fn address_problem(&self, found: String, expected: String) -> Problem {
        Problem::file("workload", found, expected)
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn next_request(&mut self) -> Result<Option<Request>, Problem> {
        (**self).next_request()
    }

    fn address_problem(&self, found: String, expected: String) -> Problem {
        (**self).address_problem(found, expected)
    }
}

impl<S: Source + ?Sized> Source for &mut S {
    fn next_request(&mut self) -> Result<Option<Request>, Problem> {
        (**self).next_request()
    }

    fn address_problem(&self, found: String, expected: String) -> Problem {
        (**self).address_problem(found, expected)
    }
}

/// A list of requests, from its start.
impl Source for &[Request] {
    fn next_request(&mut self) -> Result<Option<Request>, Problem> {
        Ok(self.split_off_first().copied())
    }
}

/// The first requests of another source.
pub struct Limited<S> {
    source: S,
    left: u64,
}

impl<S: Source> Limited<S> {
    /// At most `requests` of `source`; all of them if there is no limit.
    pub fn new(source: S, requests: Option<u64>) -> Self {
        Self { source, left: requests.unwrap_or(u64::MAX) }
    }
}

impl<S: Source> Source for Limited<S> {
    fn next_request(&mut self) -> Result<Option<Request>, Problem> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.source.next_request()
    }

    fn address_problem(&self, found: String, expected: String) -> Problem {
        self.source.address_problem(found, expected)
    }
}
