//! A stream of requests.

use flashloom_units::Problem;

use crate::Request;

/// A stream of requests in order of arrival, the first at time zero.
pub trait Source {
    /// Returns the next request, `None` at the end, or the problem in the input. After an error the stream is over.
    fn next_request(&mut self) -> Result<Option<Request>, Problem>;

    /// Builds a problem with the address of the last request. A source that reads a file points at the place in it.
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

/// A source cut off after a number of requests.
pub struct Limited<S> {
    source: S,
    left: u64,
}

impl<S: Source> Limited<S> {
    /// At most `requests` of `source`; all of them if it is `None`.
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
