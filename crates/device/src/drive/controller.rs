//! The controller: its processors take time for each command and its pages.
//!
//! ```text
//! time of a command = controller_time + pages * controller_page_time
//! no number of processors: every command has one of its own, and none waits
//! n processors:            first come, first served; a command takes the processor that is free first
//! ```
//!
//! With n processors a drive serves at most n commands in the time of one: the ceiling of fast drives, whose array
//! could serve more.

use flashloom_units::Ns;

use super::interface::InterfaceParams;

/// The processors of the controller.
pub(super) struct Controller {
    command_ns: Ns,
    page_ns: Ns,
    /// When each processor is free; empty if commands do not wait for one.
    free_at: Vec<Ns>,
}

flashloom_units::state! { Controller { array free_at; fixed command_ns, page_ns; } }

impl Controller {
    pub(super) fn new(params: &InterfaceParams) -> Self {
        let processors = params.controller_processors.unwrap_or(0) as usize;
        Self { command_ns: params.controller_ns, page_ns: params.controller_page_ns, free_at: vec![0; processors] }
    }

    /// Time of a processor for a command of `pages` pages.
    #[inline]
    pub(super) fn service_ns(&self, pages: u32) -> Ns {
        self.command_ns + self.page_ns * Ns::from(pages)
    }

    /// The part of a command's time that one of its pages adds to that of others behind it: `share` of its `sectors`
    /// sectors, spread over the processors.
    pub(super) fn share_ns(&self, pages: u32, share: u32, sectors: u32) -> Ns {
        self.service_ns(pages) * Ns::from(share) / (Ns::from(sectors) * self.free_at.len().max(1) as Ns)
    }

    /// Gives a command that arrives now its processor; returns when that is done with it.
    #[inline]
    pub(super) fn enter(&mut self, now: Ns, pages: u32) -> Ns {
        let service_ns = self.service_ns(pages);
        match self.free_at.iter_mut().min() {
            None => now + service_ns,
            Some(free_at) => {
                *free_at = now.max(*free_at) + service_ns;
                *free_at
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_units::ParamSet;

    fn controller(controller_processors: Option<u32>) -> Controller {
        let defaults = InterfaceParams::defaults();
        Controller::new(&InterfaceParams {
            controller_ns: 10,
            controller_page_ns: 3,
            controller_processors,
            ..defaults
        })
    }

    #[test]
    fn commands_wait_for_a_processor_only_where_their_number_is_given() {
        let ends = |processors| {
            let mut controller = controller(processors);
            [(0, 1), (0, 1), (0, 4), (5, 0), (100, 1)].map(|(now, pages)| controller.enter(now, pages))
        };
        assert_eq!(ends(None), [13, 13, 22, 15, 113]);
        assert_eq!(ends(Some(1)), [13, 26, 48, 58, 113]);
        // The third waits for either until 13; the fourth takes the other.
        assert_eq!(ends(Some(2)), [13, 13, 35, 23, 113]);
        assert_eq!(ends(Some(9)), ends(None));
    }

    #[test]
    fn pages_share_the_time_of_their_command_and_its_processors() {
        assert_eq!([None, Some(1), Some(2)].map(|processors| controller(processors).share_ns(2, 8, 16)), [8, 8, 4]);
    }
}
